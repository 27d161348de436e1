"""The filter as it would be without claims: a page is a representative as soon as it is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawler_dedup import Config
from crawler_dedup.crawl.offers import Offers
from crawler_dedup.middleware import DedupMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

SETTINGS = {
    "ADDONS": "{}",
    "DOWNLOADER_MIDDLEWARES": '{"tests.support.withoutclaims.SeenMiddleware": 40}',
    "SPIDER_MIDDLEWARES": '{"crawler_dedup.settling.SettlingMiddleware": 10}',
    "DEDUP_GRACE": "0",
}
"""Scrapy settings, as on its command line, that replace the filter by this one."""


class SeenMiddleware(DedupMiddleware):
    """The same middleware without claims."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        super().__init__(crawler, config)
        session = self.session
        # A page that passes is settled at once, because the spider middleware ends claims only.
        session.claims.offers = Offers(
            session.decider, timeout=config.timeout, count_coming=session.count_requested, claim=False
        )
