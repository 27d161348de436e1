"""Crawl sites and yield the main text of each page that is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.settings import BaseSettings

from crawler_dedup import Decision, main_text
from crawler_dedup.progress import ProgressLine
from crawler_dedup.urls import without_credentials


class SiteSpider(scrapy.Spider):
    """``scrapy crawl site -a url=URL[,URL…] [-a urls=FILE] [-a allow=host,…] [-a max_pages=N] -O pages.jsonl``

    ``urls`` is a file with further addresses, one a line, as ``crawler-dedup forget --export`` writes it. They are crawled
    like any others: a duplicate among them is dropped.
    Follows the links of kept pages inside the allowed hosts: by default those of the start URLs, and where a start URL
    redirects to. A page that redirects to another host is yielded too: it stands for its copies inside. ``max_pages``
    counts the pages that are yielded: dropped ones are fetched, but not counted.
    """

    name = "site"

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", ProgressLine, 0)
        # Scrapy's commands write the project's value over it once more, unless ours has a higher priority.
        settings.set("EXTENSIONS", settings.getdict("EXTENSIONS"), "spider")

    def __init__(self, url: str = "", urls: str = "", allow: str = "", max_pages: str = "0", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [one.strip() for one in url.split(",") if one.strip()]
        self.listed_urls = _lines(urls) if urls else []
        if not self.start_urls and not self.listed_urls:
            raise ValueError("Say where to start: scrapy crawl site -a url=https://example.com/ (or -a urls=FILE)")
        wrong = [one for one in (*self.start_urls, *self.listed_urls) if urlsplit(one).scheme not in ("http", "https")]
        if wrong:
            raise ValueError(f"Not an http(s) URL: {', '.join(map(without_credentials, wrong))}")
        if not max_pages.isdecimal():
            raise ValueError(f"max_pages = {max_pages!r} is not allowed; it takes a whole number, 0 for no limit.")
        self.max_pages = int(max_pages)
        self.hosts = {one.strip().lower() for one in allow.split(",") if one.strip()}
        self.follow_redirects_of_start = not self.hosts
        self.hosts = self.hosts or {urlsplit(one).netloc.lower() for one in (*self.start_urls, *self.listed_urls)}
        self.yielded = 0
        self.links = LinkExtractor(canonicalize=False)

    async def start(self) -> AsyncIterator[Any]:
        for one in self.start_urls:
            # Who names an address wants what stands behind it, even where the page itself is a duplicate.
            yield scrapy.Request(one, meta={"dedup_action": "mark"}, cb_kwargs={"is_start": True})
        for one in self.listed_urls:
            yield scrapy.Request(one)

    async def parse(self, response: Response, is_start: bool = False) -> AsyncIterator[Any]:
        """Yield the page and its links."""
        if not isinstance(response, HtmlResponse):
            return
        if is_start and self.follow_redirects_of_start:
            self.hosts.add(urlsplit(response.url).netloc.lower())
        item = await self._item(response)
        if self.max_pages and self.yielded >= self.max_pages:
            raise CloseSpider("max_pages")
        if not (is_start and self._would_be_dropped(response)):
            self.yielded += 1
            yield item
        for request in self._follow(response):
            yield request

    async def _item(self, response: HtmlResponse) -> dict[str, Any]:
        return {
            "url": response.url,
            "title": " ".join(response.xpath("string(//title)").get("").split()),
            "text": await main_text(response),
            "language": self._language(response),
            "depth": response.meta.get("depth", 0),
            "referer": _header(response.request, "Referer"),
        }

    def _would_be_dropped(self, response: HtmlResponse) -> bool:
        """Whether a start page is a duplicate that passed only because it is one. In a dry run everything passes."""
        decision: Decision | None = response.meta.get("dedup")
        is_dry_run = self.settings.get("DEDUP_ACTION") == "mark"
        return decision is not None and not decision.passes and not is_dry_run

    def _follow(self, response: HtmlResponse) -> Iterator[scrapy.Request]:
        for link in self.links.extract_links(response):
            if urlsplit(link.url).netloc.lower() in self.hosts:
                yield response.follow(link)

    @staticmethod
    def _language(response: HtmlResponse) -> str:
        """What the page declares, ``""`` if nothing: nothing is guessed."""
        declared = response.xpath("//html/@lang").get() or response.xpath("//html/@*[name()='xml:lang']").get()
        return (declared or _header(response, "Content-Language")).strip()


def _header(message: scrapy.Request | Response | None, name: str) -> str:
    value = message.headers.get(name) if message is not None else None
    return (value or b"").decode("latin-1")


def _lines(path: str) -> list[str]:
    """The lines of a file that are not empty; raises :class:`ValueError` where it cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"urls = {path!r} cannot be read: {error}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]
