"""A spider for news that brings the filter along in its own settings, and visits its pages again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy.http import Response
from scrapy.spiders import SitemapSpider

import crawler_dedup


class NewsSpider(SitemapSpider):
    """``scrapy crawl news -a sitemap=https://example.org/sitemap.xml``: yield articles that are new or have changed."""

    name = "news"
    custom_settings = {  # noqa: RUF012  (as Scrapy's documentation writes it)
        # The two middlewares do what the add-on does without DEDUP_WORKS. A spider that is published needs nothing else from
        # a project.
        "DOWNLOADER_MIDDLEWARES": {"crawler_dedup.middleware.DedupMiddleware": 40},
        "SPIDER_MIDDLEWARES": {"crawler_dedup.settling.SettlingMiddleware": 10},
        # A report that two newspapers print alike counts once, whichever spider has seen it.
        "DEDUP_SCOPE": "global",
        # An article that is as it was at the last visit does not reach the callback.
        "DEDUP_REVISIT": "drop",
        # A report that is printed again after a month is news again.
        "DEDUP_EXPIRE_DAYS": 30,
    }

    def __init__(self, sitemap: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sitemap_urls = [sitemap]

    async def parse(self, response: Response) -> AsyncIterator[dict[str, Any]]:
        """Yield the article, and whether an earlier crawl has had another version of it."""
        decision = response.meta.get("dedup")
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "text": await crawler_dedup.main_text(response),
            "is_update": decision is not None and decision.verdict is crawler_dedup.Verdict.CHANGED,
        }
