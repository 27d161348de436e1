"""The downloader middleware: gate, ask, drop or pass.

Whatever goes wrong here lets the page pass: the filter may miss a duplicate, it never loses a page.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from scrapy import signals
from scrapy.http import Request, Response
from scrapy.utils.asyncio import create_looping_call, is_asyncio_available
from scrapy.utils.project import data_path

from crawler_dedup.config import Config
from crawler_dedup.crawl import background
from crawler_dedup.crawl.claims import Claims
from crawler_dedup.crawl.feeds import FeedWatch
from crawler_dedup.crawl.gate import Gate, action_of, keys_of
from crawler_dedup.crawl.monitor import Reports
from crawler_dedup.crawl.scopes import scope_of
from crawler_dedup.crawl.signals import NearDuplicate, near_duplicate_dropped
from crawler_dedup.crawl.startup import config_of, require_companion
from crawler_dedup.crawl.text import remember, tree_of
from crawler_dedup.crawl.watchdog import Watchdog
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import DedupError, IndexGone, IndexUnusable, ThreadsBusy
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.logs import logger_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logger_of(__name__)

META_DECISION = "dedup"
_REOPEN_INTERVAL = 2.0
_END_TIMEOUT = 5.0
_MAX_FLUSH_INTERVAL = 15.0
_INSISTED = "asked for again and again"


class DedupMiddleware:
    """Drops near-duplicate pages and with them their outlinks.

    Stands at order 40, so that it is the last to see a response before the spider: what users' own middlewares turn
    into a retry (bans, captchas) is never judged.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self.crawler = crawler
        self.config = config
        self._reports = Reports(crawler, config)
        self._scope = scope_of(config, crawler)
        self._directory = Path(data_path(config.dir)).resolve()
        self.deduplicator = Deduplicator.open(self._directory, config)
        self._watchdog = Watchdog(config.max_duplicates, passes=config.pass_beyond_max_duplicates)
        self._summary = create_looping_call(self._reports.sum_up)
        self._feeds = FeedWatch(crawler, self._reports, self.deduplicator.note_stored, self._release)
        self._flushing = create_looping_call(self._feeds.flush)
        self._is_loaded = False
        self._is_index_lost = False
        self._is_reopening = False
        self._is_closing = False
        self._has_started = False
        self._has_finished = False
        # Where no signal ever comes, because another component fails before the crawl begins.
        finalize(self, self.deduplicator.close, goodbye=False).atexit = False
        self._tidied = 0
        self._gate = Gate(self._key)
        waiting = max(1, crawler.settings.getint("CONCURRENT_REQUESTS") // 4)
        self.claims = Claims(self.deduplicator, waiting, patience=config.claim_timeout, timeout=config.timeout)
        self._beside: set[asyncio.Future[None]] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the index. What is wrong with it or with a setting stops the crawl here, before the first page."""
        config = config_of(crawler)
        require_companion(crawler.settings, "SPIDER_MIDDLEWARES", "crawler_dedup.settling.SettlingMiddleware")
        if not is_asyncio_available():
            raise DedupError(
                "crawler-dedup needs the asyncio reactor, Scrapy's default, or TWISTED_REACTOR_ENABLED = False;"
                f" TWISTED_REACTOR is {crawler.settings['TWISTED_REACTOR']!r}."
            )
        middleware = cls(crawler, config)
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(middleware.engine_started, signal=signals.engine_started)
        crawler.signals.connect(middleware.engine_stopped, signal=signals.engine_stopped)
        crawler.signals.connect(middleware.request_scheduled, signal=signals.request_scheduled)
        return middleware

    @property
    def waiting(self) -> int:
        """Pages that wait for the index's answer, or for what becomes of an alike page."""
        return self._reports.waiting

    def spider_opened(self) -> None:
        """Say what is at work; load the dictionaries before the first page, beside the event loop."""
        self._reports.open(self._directory, self.deduplicator)
        self._loading = asyncio.ensure_future(self._load())
        self._beside_the_loop(self._tidy())
        self._summary.start(self.config.summary_interval, now=False)
        self._flushing.start(min(_MAX_FLUSH_INTERVAL, max(1, self.config.grace / 4)), now=False)

    def _beside_the_loop(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _load(self) -> None:
        try:
            # In the one thread, so that pages wait for the dictionaries instead of loading them a second time.
            try:
                await background.run(self.deduplicator.load)
            except ThreadsBusy:  # with pages of an earlier crawl in this process
                await background.run_apart(self.deduplicator.load)
        except Exception as error:
            self._reports.log(logging.ERROR, "A dictionary cannot be loaded; Chinese pages pass unchecked: %s", error)
        else:
            self._is_loaded = True

    async def _tidy(self) -> None:
        try:
            forgotten = await background.run_apart(self.deduplicator.tidy, self._advance)
        except DedupError as error:
            level = logging.DEBUG if self._is_closing else logging.WARNING
            self._reports.log(level, "The index could not be tidied up: %s", error)
        else:
            if forgotten:
                self._reports.log(
                    logging.INFO,
                    "Forgot %d pages that expired, or that a crawl which did not end well may not have stored",
                    forgotten,
                )

    def _advance(self, pages: int) -> None:
        """Called in the thread that tidies up, for each page: let the crawl go first, and end with it."""
        self._tidied += pages
        if self._tidied % 1000 == 0:
            time.sleep(0.005)
        if self._is_closing:
            raise DedupError("the crawl is over.")

    def engine_started(self) -> None:
        """From here on :meth:`engine_stopped` will come; after an error before, it does not."""
        self._has_started = True

    async def spider_closed(self, reason: str) -> None:
        """The last page has its answer by now."""
        for call in (self._summary, self._flushing):
            if call.running:
                call.stop()
        self._reports.sum_up()
        self._is_closing = True
        # What a job on disk has not come to, it will when it is resumed.
        self._has_finished = reason == "finished" or bool(self.crawler.settings["JOBDIR"])
        if not self._has_started:
            await self._close(goodbye=False)

    async def engine_stopped(self) -> None:
        """Say goodbye, now that feeds are stored, and close the index.

        An impatient Ctrl-C can make that come while pipelines and feeds are still being closed; the engine lets go of its
        spider when they are.
        """
        engine = self.crawler.engine
        goodbye = engine is None or engine.spider is None
        if goodbye:
            self._feeds.end()
        await self._close(goodbye=goodbye)

    async def _close(self, *, goodbye: bool) -> None:
        if self._beside:
            await asyncio.wait(self._beside, timeout=_END_TIMEOUT)
        # Not in the one thread: a page may still hold that up.
        await asyncio.to_thread(self.deduplicator.close, goodbye=goodbye, finished=self._has_finished)
        await self._reports.close_journal()

    def end_claim(self, decision: Decision, *, settled: bool) -> None:
        """The page of *decision* was handled, or was not. Raises :class:`IndexUnusable`: the index is closed."""
        self.claims.end(decision, settled=settled)
        if settled:
            self._feeds.settled += 1
        else:
            self._reports.released(decision)

    def _release(self, response: Response | None) -> bool:
        """An item of the page did not get into a feed: forget the page, unless it is one of an earlier run."""
        if response is None or response.request is None:
            return False
        decision = response.meta.get(META_DECISION)
        if not isinstance(decision, Decision) or not decision.claim:
            return False
        from crawler_dedup.settling import release  # noqa: PLC0415  (it imports this module)

        return release(response)

    def request_scheduled(self, request: Request) -> None:
        """Remove what ``meta=response.meta`` has copied: queues on disk may take less than pickle does."""
        request.meta.pop(META_DECISION, None)
        self._gate.mark(request)

    def process_request(self, request: Request) -> None:
        """Remove the decision that ``meta=response.meta`` has copied from the parent page."""
        request.meta.pop(META_DECISION, None)
        self._gate.take_mark(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Pass *response*, or raise :class:`NearDuplicate`."""
        action, page = self.config.action, None
        try:
            reason = self._gate.refuses(request, response)
            if reason:
                self._reports.count(f"skipped/{reason}")
                request.meta.pop(META_DECISION, None)
                return response
            action = action_of(request, action)
            page = await self._signed(request, response)
            decision = await self._ask(page)
        except Exception as error:
            decision = self._failed(response, error)
            if isinstance(error, asyncio.TimeoutError) and page is None:
                # The thread may still read the tree: the spider, which may change it, gets one of its own.
                response = response.copy()
        decision = self._watch(decision)
        drops = action == "drop" and self._is_unwanted(decision, response)
        if drops and self._watchdog.insists(decision):
            drops, decision = False, replace(decision, verdict=Verdict.UNCHECKED, reason=_INSISTED)
        request.meta[META_DECISION] = decision
        self._reports.decision(decision, page, drops=drops)
        if page is None or not drops:
            return response
        self._drop(request, response, page, decision)
        raise NearDuplicate(decision)

    def _is_unwanted(self, decision: Decision, response: Response) -> bool:
        if decision.verdict is Verdict.UNCHANGED and self.config.revisit == "drop":
            # What a callback asks for a second time in one run, or a cache replays, is no visit.
            return decision.from_earlier_run and "cached" not in response.flags
        return not decision.passes

    async def _signed(self, request: Request, response: Response) -> SignedPage:
        given = request.meta.get("dedup_scope")
        scope = str(given) if given is not None else self._scope(request, response)
        key, alias = keys_of(request, self._key)
        if self._is_quick(response):
            return self._sign(response, key, scope, alias)
        signing = background.run(self._sign, response, key, scope, alias)
        return await asyncio.wait_for(signing, self.config.timeout)

    async def _ask(self, page: SignedPage) -> Decision:
        with self._reports.asking():
            decision = await self.claims.decide(page)
        if self._is_index_lost:
            self._is_index_lost = False
            self._reports.log(logging.INFO, "The index can be used again; pages are checked from here on")
        return decision

    def _is_quick(self, response: Response) -> bool:
        """Whether signing takes a few milliseconds at most, so that the event loop can do it itself."""
        return self._is_loaded and len(response.body) <= self.deduplicator.quick_bytes

    def _sign(self, response: Any, key: str, scope: str, alias: str) -> SignedPage:
        tree = tree_of(response, self.config)
        page, text = self.deduplicator.sign_with_text(
            response.url, response.body, tree, key=key, scope=scope, alias=alias
        )
        if text is not None and self.config.extractor == "trafilatura":
            remember(response, text)
        return page

    def _watch(self, decision: Decision) -> Decision:
        watched, swallowed = self._watchdog.look(decision)
        if swallowed is not None:
            self._reports.swallowed(decision, swallowed)
        return watched

    def _failed(self, response: Response, error: Exception) -> Decision:
        decision = Decision(Verdict.UNCHECKED, response.url, "", "", reason="error")
        name = type(error).__name__
        self._reports.count(f"error/{name}")
        self._reports.log_seldom(
            name,
            logging.WARNING,
            "<%d %s> passes unchecked: %s: %s",
            response.status,
            decision.url,
            name,
            (str(error) or "no answer within DEDUP_TIMEOUT") if isinstance(error, asyncio.TimeoutError) else error,
            exc_info=None if isinstance(error, (DedupError, asyncio.TimeoutError)) else error,
        )
        if isinstance(error, IndexUnusable):
            self._is_index_lost = True
        if isinstance(error, IndexGone) and not self._is_reopening:
            self._is_reopening = True
            self._beside_the_loop(self._reopen())
        return decision

    async def _reopen(self) -> None:
        try:
            await background.run_apart(self.deduplicator.reopen)
        except DedupError as error:
            logger.debug("The index cannot be opened anew: %s", error)
            await asyncio.sleep(_REOPEN_INTERVAL)
        finally:
            self._is_reopening = False

    def _drop(self, request: Request, response: Response, page: SignedPage, decision: Decision) -> None:
        self._reports.dropped(decision, page)
        self.crawler.signals.send_catch_log(
            near_duplicate_dropped,
            decision=decision,
            request=request,
            response=response,
            spider=self.crawler.spider,
        )

    def _key(self, request: Request) -> str:
        return self.crawler.request_fingerprinter.fingerprint(request).hex()
