"""Downloader middleware: compares each page that passes with a library of works (``DEDUP_WORKS``)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Self

from scrapy import Spider, signals
from scrapy.http import HtmlResponse, Request, Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from crawler_dedup.config import Config
from crawler_dedup.crawl.configuration import FilterOff, config_of, directory_of, is_preview, refusal_logged
from crawler_dedup.crawl.gate import declared_encoding
from crawler_dedup.crawl.signals import work_matched
from crawler_dedup.crawl.text import shown_text
from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing.limits import MAX_CHARS
from crawler_dedup.signing.parsing import decode_text
from crawler_dedup.system.logs import LogThrottle, logger_without_credentials
from crawler_dedup.system.threads import run_in_own_thread
from crawler_dedup.works.library import Library
from crawler_dedup.works.matches import Match, Matches

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_LOGGER = logger_without_credentials(__name__)


class WorksMiddleware:
    """Compares pages with the library; whatever goes wrong, the page passes.

    Its order is 39, so that it sees the responses that the filter has passed. A page reaches its callback once its matches
    are stored. If the crawl is killed before, the next crawl visits the page again, and finds its matches then.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler, self._max_bytes = crawler, config.max_bytes
        self._directory = directory_of("DEDUP_WORKS", config.works)
        self._library, self._matches = Library(self._directory), Matches(self._directory)
        self._throttle = LogThrottle()
        self._in_turn = asyncio.Lock()
        crawler.signals.connect(self._close, signal=signals.engine_stopped)

    @classmethod
    @refusal_logged()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the library. An error stops the crawl here, before the first page."""
        config = config_of(crawler)
        if is_preview(crawler) or not config.works:
            raise FilterOff
        return cls(crawler, config)

    async def _close(self) -> None:
        async with self._in_turn:  # a thread may still use both
            self._close_files()

    def _close_files(self) -> None:
        self._library.close()
        self._matches.close()

    async def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:  # noqa: ARG002
        """Compare *response*, and pass it."""
        is_text = isinstance(response, HtmlResponse) or _is_plain_text(response)
        if is_text and response.status == 200 and request.callback is not NO_CALLBACK:
            try:
                await self._compare(response)
            except Exception as error:
                self._report(response, error)
        return response

    async def _compare(self, response: Response) -> None:
        if len(response.body) > self._max_bytes:
            raise BeyondLimits("more bytes than DEDUP_MAX_BYTES")
        if _is_plain_text(response):
            text = await run_in_own_thread(decode_text, response.body, declared_encoding(response))
        else:
            text = await shown_text(response)
        async with self._in_turn:  # comparing more would hold up the event loop
            matches = await run_in_own_thread(self._find, response.url, text[:MAX_CHARS])
        self._count("checked")
        for match, is_new in matches:
            self._count("matches")
            self._count("new_matches", int(is_new))
            self._crawler.signals.send_catch_log(
                work_matched, match=match, is_new=is_new, response=response, spider=self._crawler.spider
            )

    def _find(self, url: str, text: str) -> list[tuple[Match, bool]]:
        if self._library.is_replaced() or self._matches.is_replaced():
            library, matches = Library(self._directory), Matches(self._directory)
            self._close_files()
            self._library, self._matches = library, matches
        return self._matches.store(url, text, self._library.compare(text))

    def _report(self, response: Response, error: Exception) -> None:
        self._count("errors")
        name = type(error).__name__
        message = "<%d %s> was not compared with the works: %s: %s"
        args = response.status, response.url, name, error
        self._throttle.log(_LOGGER.log, name, logging.WARNING, message, *args, extra={"spider": self._crawler.spider})

    def _count(self, name: str, by: int = 1) -> None:
        self._crawler.stats.inc_value(f"dedup/works/{name}", by)


def _is_plain_text(response: Response) -> bool:
    content_type = response.headers.get("Content-Type") or b""
    return isinstance(response, TextResponse) and content_type.lower().startswith(b"text/plain")
