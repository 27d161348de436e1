"""An ordinary spider, which knows nothing of the filter: the add-on in the settings is all that it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class ArticlesSpider(CrawlSpider):
    """``scrapy crawl articles -a url=https://example.org/``: yield address, title and date of each page."""

    name = "articles"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def __init__(self, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.allowed_domains = [url.split("/")[2].partition(":")[0]]

    def parse_start_url(self, response: Response, **_: Any) -> Iterator[dict[str, str | None]]:
        """Yield the start page, too."""
        return self.parse_page(response)

    def parse_page(self, response: Response) -> Iterator[dict[str, str | None]]:
        """Yield the page. This is not called for a duplicate, and the links of a duplicate are not followed."""
        if isinstance(response, TextResponse):
            yield {
                "url": response.url,
                "title": response.css("title::text").get(),
                "date": response.css("time::attr(datetime)").get(),
            }
