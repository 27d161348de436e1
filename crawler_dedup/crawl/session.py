"""The index of one crawl, opened before the first request and closed when the last item is stored."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize

from scrapy import Request, signals

from crawler_dedup.config import Config
from crawler_dedup.crawl.background import run_in_own_thread
from crawler_dedup.crawl.childprocess import discard_ahead
from crawler_dedup.crawl.claims import Claims, release_claimed
from crawler_dedup.crawl.compat import create_looping_call
from crawler_dedup.crawl.deciding import DecidingProcess
from crawler_dedup.crawl.feeds import FeedWatch
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.offers import DecidingIndex
from crawler_dedup.crawl.outages import Outages
from crawler_dedup.crawl.repetitions import Repetitions
from crawler_dedup.crawl.restorations import Restorations
from crawler_dedup.crawl.signals import near_duplicate_dropped
from crawler_dedup.crawl.signers import LoopSigner, Signers, share_signers
from crawler_dedup.crawl.startup import data_directory, find_warc_directory, journal_path
from crawler_dedup.crawl.text import declared_encoding
from crawler_dedup.decision import Decision
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import DedupError, IndexGone, IndexUnusable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawler_dedup.warc.writer import WarcWriter

_REOPEN_INTERVAL = 2.0
_END_TIMEOUT = 5.0
_MAX_FLUSH_INTERVAL = 15.0


class Session:
    """Opens the index for one crawl, keeps it usable and closes it. Belongs to the event loop of the crawl.

    Attributes:
        deduplicator: the open index.
        decider: decides about pages: the open index, or a process that has joined its run.
        claims: asks the index about pages, and ends their claims.
        signers: sign pages.
        monitor: reports what happens.
        restorations: requests pages whose drop was wrong.
        repetitions: recognises pages that the crawl has handled before, at another address.
        followed: requests whose responses are unwanted, but reach their callbacks; their items are discarded.

    Raises:
        ConfigError: a setting has a value that is not allowed.
        IndexMismatch: the index was made with another configuration.
        IndexUnusable: the index cannot be opened.
        DedupError: no signing process can be started.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._config = config
        self.monitor = Monitor(crawler, config)
        location = config.index or data_directory(config)
        self._journal = journal_path(config)
        self._warc: WarcWriter | None = None
        self._warc_directory = find_warc_directory(config, self._journal)
        outages = Outages(config.index_wait if config.index else 0, self.monitor, lambda: not crawler.crawling)
        self.deduplicator = outages.open(lambda: Deduplicator.open(location, config))
        # In case no signal is ever sent, because another component fails before the crawl begins.
        finalize(self, self.deduplicator.close, all_stored=False).atexit = False
        self._process = self._start_deciding()
        self.decider: DecidingIndex = self._process or self.deduplicator
        self.signers = self._open_signers()
        discard_ahead()
        self.restorations = Restorations(crawler, self.deduplicator, self.monitor, self._warc_directory)
        limit = max(1, crawler.settings.getint("CONCURRENT_REQUESTS") // 4)
        self.claims = Claims(
            self.decider,
            self.monitor,
            limit,
            outages=outages,
            timeout=config.timeout,
            count_coming=self.count_requested,
            note_end=self._note_end,
        )
        self.repetitions = Repetitions()
        self.followed: WeakSet[Request] = WeakSet()
        self._feeds = FeedWatch(crawler, self.monitor, self.deduplicator.note_stored, release_claimed)
        self._summary = create_looping_call(self.monitor.log_summary)
        self._flushing = create_looping_call(self._feeds.flush_feeds)
        self._tasks: set[asyncio.Future[None]] = set()
        self._tidied = 0
        self._is_unusable = False
        self._is_reopening = False
        self._is_closing = False
        self._has_started = False
        self._has_finished = False
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.engine_started, signal=signals.engine_started)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signal=signals.engine_stopped)

    def _start_deciding(self) -> DecidingProcess | None:
        """Start the process that decides about the pages, if the index is in a directory; ``None``: this process decides."""
        if self._config.index or not self._config.processes or os.name == "nt":
            return None
        try:
            process = DecidingProcess(self.deduplicator, self.monitor)
        except (DedupError, OSError) as error:
            self.monitor.log(logging.WARNING, "No deciding process can be started; the crawl itself decides: %s", error)
            return None
        finalize(self, process.kill).atexit = False
        return process

    def _open_signers(self) -> Signers | LoopSigner:
        if not self._config.processes:
            return LoopSigner(self.deduplicator.signer)
        try:
            return share_signers(self.deduplicator.config, self.monitor)
        except DedupError:
            if self._process is not None:
                self._process.kill()
            self.deduplicator.close(all_stored=False)
            raise

    def _note_end(self, decision: Decision, settled: bool) -> None:
        self.restorations.note_end(decision, settled)
        self.repetitions.note_end(decision, settled=settled)

    def count_requested(self) -> int:
        """Count the requests that the downloader has and whose responses are not decided about yet."""
        engine = self._crawler.engine
        return 0 if engine is None else len(engine.downloader.active)

    # From the first signal to the last

    def spider_opened(self) -> None:
        """Log which index and scheme are used, and tidy the index up in a thread."""
        self.monitor.open(self._journal, self.deduplicator)
        self._start(self._tidy())
        if interval := self._crawler.settings.getfloat("LOGSTATS_INTERVAL"):  # 0: no such lines, like Scrapy's own
            self._summary.start(interval, now=False)
        self._flushing.start(min(_MAX_FLUSH_INTERVAL, max(1, self._config.grace / 4)), now=False)
        if self._config.dropped_warc:
            try:
                self._open_warc()
            except Exception as error:  # FastWARC may be installed and yet not work on this machine
                self.monitor.log(logging.WARNING, "No dropped page is stored in WARC files: %s", error)

    def engine_started(self) -> None:
        """Note that :meth:`engine_stopped` will be called. It is not called if the crawl fails before this."""
        self._has_started = True

    async def spider_closed(self, reason: str) -> None:
        """Stop the periodic calls, and wait for the server if it is unavailable. All pages have been answered."""
        for call in (self._summary, self._flushing):
            if call.running:
                call.stop()
        self.monitor.log_summary()
        self._is_closing = True
        # A job on disk will request the remaining pages when it is resumed.
        self._has_finished = reason == "finished" or bool(self._crawler.settings["JOBDIR"])
        if reason != "shutdown":  # after Ctrl-C nothing waits any more
            await self.claims.write_rest()
        if not self._has_started:
            await self._close(all_stored=False)

    async def engine_stopped(self) -> None:
        """End the run and close the index, now that the feeds are stored.

        After a second Ctrl-C the signal may be sent while pipelines and feeds are still being closed; the engine drops its
        reference to the spider when they are closed.
        """
        engine = self._crawler.engine
        all_stored = engine is None or engine.spider is None
        if all_stored:
            self._feeds.end()
        await self._close(all_stored=all_stored)

    async def _close(self, *, all_stored: bool) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_END_TIMEOUT)
        self.claims.write_again()
        self.signers.release(self.monitor)
        if all_stored:
            await asyncio.to_thread(self.restorations.write)
        has_ended = self._process is not None and await self._process.close(
            finished=self._has_finished if all_stored else None
        )
        await asyncio.to_thread(
            self.deduplicator.close, all_stored=all_stored and not has_ended, finished=self._has_finished
        )
        self.claims.report_unwritten()
        await self.monitor.close_journal()
        if self._warc is not None:
            await asyncio.to_thread(self._warc.close)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tidy(self) -> None:
        try:
            forgotten = await run_in_own_thread(self.deduplicator.tidy, self._pause_tidying)
        except DedupError as error:
            level = logging.DEBUG if self._is_closing else logging.WARNING
            self.monitor.log(level, "The index could not be tidied up: %s", error)
        else:
            if forgotten:
                self.monitor.log(
                    logging.INFO,
                    "Forgot %d pages that have expired, or may be missing from the output of a crawl that failed",
                    forgotten,
                )

    def _pause_tidying(self, pages: int) -> None:
        """Give the crawl priority, and stop when it ends. Called for each page, in the thread that tidies up."""
        self._tidied += pages
        if self._tidied % 1000 == 0:
            time.sleep(0.005)
        if self._is_closing:
            raise DedupError("the crawl is over.")

    def _open_warc(self) -> None:
        """Keep the responses that are dropped as duplicates from now on."""
        from crawler_dedup.warc.writer import WarcWriter  # noqa: PLC0415  (imports FastWARC, of the extra `warc`)

        assert self._crawler.spider is not None
        run, spider = self.deduplicator.run, self._crawler.spider.name
        self._warc = WarcWriter(self._warc_directory, self._config.dropped_warc, run, spider, declared_encoding)
        self._crawler.signals.connect(self._warc.add_response, signal=near_duplicate_dropped)

    # Trouble with the index

    def note_answer(self) -> None:
        """Note that the index has answered; log it after an error."""
        if self._is_unusable:
            self._is_unusable = False
            # On a full disk this comes with every page for which nothing is written.
            message = "The index can be used again; pages are checked from here on"
            self.monitor.log_throttled("recovery", logging.INFO, message)

    def note_error(self, error: Exception) -> None:
        """Note an error of the index. On a server, an index that is gone is opened again as soon as that is possible."""
        if isinstance(error, IndexUnusable):
            self._is_unusable = True
        if not isinstance(error, IndexGone) or self._is_reopening:
            return
        self._is_reopening = True  # for good where it is not opened again, so that this is logged once
        if self._config.index:
            self._start(self._reopen())
        else:
            self.monitor.log(
                logging.ERROR,
                "%s Pages pass unchecked until the crawl ends, unless the same files are put back",
                error,
            )

    async def _reopen(self) -> None:
        try:
            await run_in_own_thread(self.deduplicator.reopen)
        except DedupError as error:
            self.monitor.log(logging.DEBUG, "The index cannot be opened again: %s", error)
            await asyncio.sleep(_REOPEN_INTERVAL)
        finally:
            self._is_reopening = False
