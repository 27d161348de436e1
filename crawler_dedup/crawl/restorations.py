"""The restorations of a crawl: pages whose drop was wrong are requested first, and followed until they are handled."""

from __future__ import annotations

import asyncio
import logging
from inspect import ismethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, HtmlResponse, Request, Response

from crawler_dedup.crawl.gate import META_SCHEDULED, fingerprint_of
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.requests import describe_request
from crawler_dedup.crawl.workers import Workers
from crawler_dedup.decision import Decision, DroppedRequest
from crawler_dedup.errors import DedupError
from crawler_dedup.system.extras import has_extra
from crawler_dedup.system.threads import run_in_own_thread
from crawler_dedup.urls import without_credentials
from crawler_dedup.worker.messages import EndRestorations, KeepAddress, ListRestorations

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

META_RESTORED = "_dedup_restored"
"""Key in the ``meta`` of a request for a restored page: the address, and the run that has requested it."""
_META_OF_START = {"is_start_request", META_SCHEDULED}
_PRIORITY = 1_000
_MAX_FAILURES = 3
_GONE = (404, 410)


class Restorations:
    """Requests restored pages, and ends their restorations. Belongs to the event loop of the crawl.

    The outcomes are written when the crawl has ended and its feeds are stored. So a kill loses nothing: the next crawl
    requests all pages again.
    """

    def __init__(
        self, crawler: Crawler, workers: Workers, monitor: Monitor, warc_directory: Path, *, is_dry: bool
    ) -> None:
        self._warc_directory = warc_directory
        self._positions: dict[str, tuple[Path, int]] = {}  # of the pages that are in WARC files
        self._crawler = crawler
        self._workers = workers
        self._monitor = monitor
        self._run = workers.run
        self._spider = crawler.spider.name if crawler.spider else ""
        self._waiting: dict[str, DroppedRequest] = {}
        # By the fingerprints of the requests for restored pages what is recorded of them; None: it is in a WARC file.
        self._requested: dict[str, DroppedRequest | None] = {}
        self._failures: dict[str, int] = {}  # by address of the pages that were requested; 0: restored
        self._by_claim: dict[int, str] = {}
        if not is_dry:  # what passes a dry run is not kept for crawls that drop
            crawler.signals.connect(self.request_pages, signal=signals.spider_opened)

    async def request_pages(self) -> None:
        """Schedule requests for the restored pages, before those with which the spider starts."""
        try:
            self._waiting = await self._workers.ask(ListRestorations(self._spider))
            await run_in_own_thread(self._find_stored)
        except Exception as error:
            self._monitor.log(logging.WARNING, "Restored pages cannot be requested in this crawl: %s", error)
            return
        if not self._waiting:
            return
        self._crawler.signals.connect(self.refuse_repetition, signal=signals.request_scheduled)
        for url, recorded in self._waiting.items():
            engine = self._crawler.engine
            if engine is None or engine.spider is None:  # the crawl was ended meanwhile
                return
            try:
                request = self._make_request(url, recorded)
                engine.crawl(request)
            except Exception as error:  # of the address, the spider or the scheduler; the other pages are requested
                self._failures[url] = 1
                self._monitor.warn("%s cannot be requested again in this crawl: %s", url, error)
            else:
                is_stored = url in self._positions
                if request.method == "GET" or is_stored:  # else it cannot be repeated
                    self._requested[fingerprint_of(request, self._crawler)] = None if is_stored else recorded
            await asyncio.sleep(0)  # there may be many

    def _make_request(self, url: str, request: DroppedRequest) -> Request:
        callback = self._find_method(request.callback)
        if callback is None and request.callback is not None:
            reason = f"has no method {request.callback!r}" if request.callback else "used a function as its callback"
            self._monitor.warn("%s is requested again with the callback `parse`: the spider %s", url, reason)
        return Request(
            url,
            method=request.method,
            callback=callback,
            errback=self._find_method(request.errback),
            cb_kwargs=request.cb_kwargs,
            meta={**request.meta, META_RESTORED: (url, 0)},
            priority=_PRIORITY,
            dont_filter=True,
        )

    def _find_stored(self) -> None:
        """Find the pages that are in WARC files."""
        if not self._waiting or not has_extra("warc"):
            return
        from crawler_dedup.warc.droppedpage import find_files, read_pages  # noqa: PLC0415  (imports FastWARC)

        for path in find_files(self._warc_directory):
            for page, offset in read_pages(path, []):
                url = page.drop.url.partition("#")[0]
                awaited = self._waiting.get(url) if page.drop.spider == self._spider else None
                if awaited and awaited.method == page.drop.method:
                    self._positions[url] = path, offset

    async def read_stored(self, request: Request) -> Response | None:
        """Return the response for a restored page if a WARC file has it, the first time; ``None``: it is requested.

        Raises:
            IgnoreRequest: no file has it, and it is no response to a GET.
        """
        url, _ = request.meta[META_RESTORED]
        if position := self._positions.pop(url, None):
            from crawler_dedup.warc.droppedpage import read_at  # noqa: PLC0415

            try:
                page = await run_in_own_thread(read_at, *position)
            except DedupError as error:
                self._monitor.warn("A restored page cannot be read from its WARC file: %s", error)
            else:
                headers, encoding = Headers(page.headers, encoding="latin-1"), page.drop.charset or None
                return HtmlResponse(
                    url, headers=headers, body=page.body, encoding=encoding, request=request, flags=["dedup-restored"]
                )
        if request.method != "GET":
            message = "%s is not requested again: it is the response to a %s, and no WARC file has it"
            self._monitor.warn(message, url, request.method)
            raise IgnoreRequest("No WARC file has the restored page, and its request is not a GET.")
        return None

    def _find_method(self, name: str | None) -> Any:
        method = getattr(self._crawler.spider, name, None) if name else None
        return method if ismethod(method) else None

    def refuse_repetition(self, request: Request) -> None:
        """Refuse a link to a restored page.

        Scrapy's duplicate filter, which has not seen the request for that page, lets the link pass.
        Nor does that filter see a request with which the spider starts. Such a request is refused if it has nothing, such as
        a header, that the request for the restored page lacks, and if the page does not come from a WARC file.
        """
        fingerprint = fingerprint_of(request, self._crawler)
        if fingerprint in self._requested:
            recorded = self._requested[fingerprint]
            if not request.dont_filter or (recorded and self._is_recorded_start(request, recorded)):
                raise IgnoreRequest("This crawl already requests the page, because it was restored.")

    def _is_recorded_start(self, request: Request, recorded: DroppedRequest) -> bool:
        """Return whether the spider starts with *request*, and all of it is *recorded*."""
        more = request.meta.keys() - recorded.meta.keys() - _META_OF_START
        is_whole = not (request.headers or request.cookies or more or recorded.left_out)
        is_start = "is_start_request" in request.meta
        return is_start and is_whole and describe_request(request, self._crawler.spider) == recorded

    def is_repeated(self, request: Request) -> bool:
        """Note that *request* is sent; return whether this crawl has requested the restored page already.

        That is so if a ``JOBDIR`` has stored the request of an earlier run. A redirection or a retry is not another request.
        """
        url, run = request.meta[META_RESTORED]
        if run == self._run:
            return False
        if url in self._failures:
            return True
        self._failures[url] = 1
        request.meta[META_RESTORED] = url, self._run
        return False

    async def keep_redirected(self, request: Request, response: Response) -> None:
        """If a restored page has redirected, add an override for its new address: no page represents it there."""
        if without_credentials(response.url) != request.meta[META_RESTORED][0]:
            await self._workers.ask(KeepAddress(response.url))

    def record_response(self, request: Request, response: Response, decision: Decision | None) -> None:
        """Record the outcome of a restored page: with a claim, it is restored when that is settled; without, when it passes.

        Args:
            decision: the decision about the page; ``None``: it was not checked.
        """
        url, _ = request.meta[META_RESTORED]
        if response.status in _GONE:
            self._failures[url] = _MAX_FAILURES
        elif response.status == 200 and decision is not None and decision.claim:
            self._by_claim[decision.claim] = url
        elif response.status == 200 and (decision is None or decision.passes):
            self._record(url, succeeded=True)

    def record_end(self, decision: Decision, settled: bool) -> None:
        """Record that the claim of *decision* was settled or released."""
        if decision.claim in self._by_claim:
            self._record(self._by_claim[decision.claim], succeeded=settled)

    def _record(self, url: str, *, succeeded: bool) -> None:
        before, self._failures[url] = self._failures.get(url, 1), 0 if succeeded else 1
        self._monitor.count("restored", bool(before) - self._failures[url])

    async def write(self) -> None:
        """Remove the restorations of pages that were handled, are gone, or have failed too often; count other failures."""
        if not self._failures:
            return
        requests = {url: self._waiting[url] for url in self._waiting.keys() & self._failures.keys()}
        job = EndRestorations(self._spider, requests, self._failures, _MAX_FAILURES)
        try:
            given_up = await self._workers.ask(job)
        except (DedupError, TimeoutError) as error:
            message = "The outcome of restored pages could not be recorded; the next crawl requests them again: %s"
            self._monitor.log(logging.WARNING, message, error)
            return
        for url in given_up:
            message = "%s is not requested again: it is gone (404 or 410), or could not be handled in %d crawls"
            self._monitor.warn(message, url, _MAX_FAILURES)
