"""Crawl sites and yield the text of each page that is not dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, cast, get_args
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from crawler_dedup import NearDuplicate, main_text, own_text
from crawler_dedup.cli.terminal import printable
from crawler_dedup.pagetext import Format
from crawler_dedup.urls import text_without_credentials, without_credentials

_REQUESTS_OF_A_SLOT = 2
"""One is under way, one waits for it."""


class SiteSpider(scrapy.Spider):
    """``scrapy crawl site -a url=URL[,URL…] [-a urls=FILE] [-a allow=host,…] [-a max_pages=N] -O pages.jsonl``

    ``urls`` is a file with further addresses, one a line, as ``crawler-dedup forget --export`` writes it. They are crawled
    like any others: a duplicate among them is dropped.
    Follows the links of pages that are not dropped, inside the allowed hosts: by default those of the start URLs, and where
    a start URL redirects to. A page that redirects to another host is yielded too: it represents its copies on these.
    ``max_pages`` counts the pages that are yielded: dropped ones are fetched, but not counted. ``own_text=text`` or
    ``own_text=markdown`` adds the text of each page without what its site repeats.
    """

    name = "site"

    def __init__(
        self,
        url: str | Sequence[str] = "",
        urls: str = "",
        allow: str = "",
        max_pages: str = "0",
        own_text: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        addresses = url.split(",") if isinstance(url, str) else url
        self.start_urls = [address.strip() for address in addresses if address.strip()]
        self.listed_urls = _lines(urls) if urls else []
        if not self.start_urls and not self.listed_urls:
            raise ValueError("Say where to start: scrapy crawl site -a url=https://example.com/ (or -a urls=FILE)")
        check_urls([*self.start_urls, *self.listed_urls])
        if not max_pages.isdecimal():
            raise ValueError(f"max_pages = {max_pages!r} is not allowed; it takes a whole number, 0 for no limit.")
        if own_text not in ("", *get_args(Format)):
            raise ValueError(f"own_text = {own_text!r} is not allowed; it takes {' or '.join(get_args(Format))}.")
        self.own_text = cast("Format", own_text)
        self.max_pages = int(max_pages)
        self.hosts = {host.strip().lower() for host in allow.split(",") if host.strip()}
        self.follow_redirects_of_start = not self.hosts
        self.hosts = self.hosts or {urlsplit(start).netloc.lower() for start in (*self.start_urls, *self.listed_urls)}
        self.yielded = 0
        self.failed_starts = 0
        self.failed_pages = 0
        self.links = LinkExtractor(canonicalize=False)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Request few pages at a time: what was requested is fetched before the crawl ends, with a delay for each page."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        settings = crawler.settings
        if settings.getpriority("CONCURRENT_REQUESTS") == SETTINGS_PRIORITIES["default"]:
            few = _REQUESTS_OF_A_SLOT * settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN") * len(spider.hosts)
            settings.set("CONCURRENT_REQUESTS", min(settings.getint("CONCURRENT_REQUESTS"), few), priority="spider")
        return spider

    async def start(self) -> AsyncIterator[Any]:
        # Who names an address wants the pages that it links to, even if the page itself is a duplicate.
        meta = {} if self.settings.get("DEDUP_ACTION") == "mark" else {"dedup_action": "follow"}
        for start in self.start_urls:
            yield scrapy.Request(start, errback=self.failed, meta=dict(meta), cb_kwargs={"is_start": True})
        for listed in self.listed_urls:
            yield scrapy.Request(listed, errback=self.failed)

    async def parse(self, response: Response, is_start: bool = False) -> AsyncIterator[Any]:
        """Yield the page and its links."""
        if not isinstance(response, HtmlResponse):
            if is_start:
                self._report_failed_start(response.url, f"it is not an HTML page ({_header(response, 'Content-Type')})")
            return
        if is_start and self.follow_redirects_of_start:
            self.hosts.add(urlsplit(response.url).netloc.lower())
        self._close_at_limit()
        item = await self._item(response)
        self._close_at_limit()  # other pages were yielded meanwhile
        self.yielded += 1
        yield item
        for request in self._follow(response):
            yield request

    def _close_at_limit(self) -> None:
        if self.max_pages and self.yielded >= self.max_pages:
            raise CloseSpider("max_pages")

    def failed(self, failure: Failure) -> Failure | None:
        """Log why a page could not be fetched; leave to Scrapy what a middleware holds back or refuses."""
        request, error = cast("Any", failure).request, failure.value
        is_held_back = isinstance(error, IgnoreRequest) and not isinstance(error, HttpError)
        self.failed_pages += not is_held_back
        if request.cb_kwargs.get("is_start") and not isinstance(error, NearDuplicate):
            self._report_failed_start(request.url, _reason(error))
        elif not isinstance(error, IgnoreRequest):
            self.logger.warning("%s could not be fetched: %s", without_credentials(request.url), _reason(error))
        return failure if isinstance(error, IgnoreRequest) else None

    def _report_failed_start(self, url: str, reason: str) -> None:
        self.failed_starts += 1
        self.logger.error("%s could not be crawled: %s", without_credentials(url), printable(reason))

    async def _item(self, response: HtmlResponse) -> dict[str, Any]:
        return {
            "url": response.url,
            "title": " ".join(response.xpath("string(//title)").get("").split()),
            "text": await main_text(response),
            **({"own_text": (await own_text(response, self.own_text)).text} if self.own_text else {}),
            "language": self._language(response),
            "depth": response.meta.get("depth", 0),
            "referer": _header(response.request, "Referer"),
        }

    def _follow(self, response: HtmlResponse) -> Iterator[scrapy.Request]:
        for link in self.links.extract_links(response):
            if urlsplit(link.url).netloc.lower() in self.hosts:
                yield response.follow(link, errback=self.failed)

    @staticmethod
    def _language(response: HtmlResponse) -> str:
        """Return the language that the page declares; ``""`` if it declares none: it is not guessed."""
        declared = response.xpath("//html/@lang").get() or response.xpath("//html/@*[name()='xml:lang']").get()
        return (declared or _header(response, "Content-Language")).strip()


def check_urls(urls: Sequence[str]) -> None:
    """Raise :class:`ValueError` if one of *urls* is no address of a web page, or has a user name or password."""
    for url in urls:
        shown = without_credentials(url)
        parts, shown_parts = urlsplit(url), urlsplit(shown)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"Not an http(s) URL: {shown} (https:// or http:// must be before it)")
        if parts.netloc != shown_parts.netloc:  # Scrapy would take them for a part of the host
            raise ValueError(
                f"The URL of {shown} has a user name or password. Leave it out of the URL, and set HTTPAUTH_USER,"
                f" HTTPAUTH_PASS and HTTPAUTH_DOMAIN={shown_parts.netloc}, in a project or with -s (Scrapy 2.17 or newer)."
            )


def _reason(error: BaseException | None) -> str:
    """Return in a few words why a page could not be fetched."""
    if isinstance(error, HttpError):
        status = error.response.status
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
        return f"its server answers {status} {phrase}".rstrip()
    return text_without_credentials(str(error) or type(error).__name__)


def _header(message: scrapy.Request | Response | None, name: str) -> str:
    value = message.headers.get(name) if message is not None else None
    return (value or b"").decode("latin-1")


def _lines(path: str) -> list[str]:
    """Return the lines of a file that are not empty; raise :class:`ValueError` if it cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"urls = {path!r} cannot be read: {error}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]
