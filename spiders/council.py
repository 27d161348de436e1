"""A spider that exempts a part of a site from the filter, and stores the main text of the other pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.http import Response, TextResponse

import crawler_dedup


class CouncilSpider(scrapy.Spider):
    """``scrapy crawl council -a url=https://example.org/ -a section=/minutes/``: yield pages with their main texts.

    Minutes often differ by one word, and each of them counts: pages below *section* are neither compared nor dropped.
    """

    name = "council"

    def __init__(self, url: str, section: str = "/minutes/", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.allowed_domains = [urlsplit(url).hostname]
        self.section = section

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the page and its links."""
        if not isinstance(response, TextResponse):
            return
        decision = response.meta.get("dedup")  # pages of the section have none
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "text": await crawler_dedup.main_text(response),
            "verdict": decision.verdict if decision else None,
            "also_at": decision.also_at if decision else (),
        }
        for href in response.css("a::attr(href)").getall():
            url = response.urljoin(href)
            if url.startswith(("http://", "https://")):
                is_exempt = urlsplit(url).path.startswith(self.section)
                yield scrapy.Request(url, meta={"dedup_skip": True} if is_exempt else {})
