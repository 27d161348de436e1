"""The index of one crawl, opened before the first request and closed when the last item is stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize

from rich.filesize import decimal
from scrapy import Request, signals

from crawler_dedup.config import Config
from crawler_dedup.crawl.claims import Claims, release_claimed
from crawler_dedup.crawl.compat import create_looping_call
from crawler_dedup.crawl.configuration import data_directory, find_journal_directory, find_warc_directory
from crawler_dedup.crawl.feeds import FeedWatch
from crawler_dedup.crawl.gate import declared_encoding
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.repetitions import Repetitions
from crawler_dedup.crawl.restorations import Restorations
from crawler_dedup.crawl.serveroutages import Outages
from crawler_dedup.crawl.signals import near_duplicate_dropped
from crawler_dedup.crawl.workerprocess import discard_ahead
from crawler_dedup.crawl.workers import Workers
from crawler_dedup.decision import Decision
from crawler_dedup.errors import DedupError, IndexGone, IndexUnusable
from crawler_dedup.worker.messages import Measure

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawler_dedup.warc.writer import WarcWriter

_END_TIMEOUT = 5.0
_MAX_FLUSH_INTERVAL = 15.0


class Session:
    """Opens the index for one crawl, keeps it usable and closes it. Belongs to the event loop of the crawl.

    Attributes:
        workers: sign pages, and decide about them.
        claims: asks the index about pages, and ends their claims.
        monitor: reports what happens.
        restorations: requests pages whose drop was wrong.
        repetitions: recognises pages that the crawl has handled before, at another address.
        is_unusable: whether the index had an error, and has not answered since.
        followed: requests whose responses are unwanted, but reach their callbacks; their items are discarded.

    Raises:
        ConfigError: a setting has a value that is not allowed.
        IndexMismatch: the index was made with another configuration.
        IndexUnusable: the index cannot be opened.
        DedupError: no worker can be started.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._config = config
        self.monitor = Monitor(crawler, config)
        location = config.index or str(data_directory(config))
        self._journal_directory = find_journal_directory(config)
        self._warc: WarcWriter | None = None
        self._warc_directory = find_warc_directory(config, self._journal_directory)
        outages = Outages(config.index_wait if config.index else 0, self.monitor, lambda: not crawler.crawling)
        self.workers = Workers(location, config, self.monitor, outages)
        # In case no signal is ever sent, because another component fails before the crawl begins.
        finalize(self, self.workers.kill).atexit = False
        discard_ahead()
        self.restorations = Restorations(
            crawler, self.workers, self.monitor, self._warc_directory, is_dry=config.is_dry
        )
        limit = max(1, crawler.settings.getint("CONCURRENT_REQUESTS") // 4)
        self.claims = Claims(self.workers, self.monitor, limit, outages=outages, on_end=self._record_end)
        self.repetitions = Repetitions()
        self.followed: WeakSet[Request] = WeakSet()
        self._feeds = FeedWatch(crawler, self.monitor, self._set_stored, release_claimed)
        self._summary = create_looping_call(lambda: self._start(self._log_summary()))
        self._flushing = create_looping_call(self._feeds.flush_feeds)
        self._tasks: set[asyncio.Future[None]] = set()
        self.is_unusable = False
        self._is_gone = False
        self._has_started = False
        self._has_finished = False
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.engine_started, signal=signals.engine_started)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signal=signals.engine_stopped)

    def _set_stored(self, until: float | None) -> None:
        self.workers.stored_until = until

    def _record_end(self, decision: Decision, settled: bool) -> None:
        self.restorations.record_end(decision, settled)
        self.repetitions.record_end(decision, settled=settled)

    async def _log_summary(self) -> None:
        try:
            async with asyncio.timeout(_END_TIMEOUT):
                figures = await self.workers.ask(Measure())
        except (DedupError, OSError, TimeoutError):
            self.monitor.log_summary("the index cannot be read")
        else:
            size = "" if figures.size is None else f", {decimal(figures.size)}"
            self.monitor.log_summary(f"index of {figures.pages} pages{size}")

    # From the first signal to the last

    def spider_opened(self) -> None:
        """Log which index and scheme are used."""
        self.monitor.open(self._journal_directory, self.workers.ready, self.workers.run)
        if interval := self._crawler.settings.getfloat("LOGSTATS_INTERVAL"):  # 0: no such lines, like Scrapy's own
            self._summary.start(interval, now=False)
        self._flushing.start(min(_MAX_FLUSH_INTERVAL, max(1, self._config.grace / 4)), now=False)
        if self._config.dropped_warc:
            try:
                self._open_warc()
            except Exception as error:  # FastWARC may be installed and yet not work on this machine
                self.monitor.log(logging.WARNING, "Dropped pages cannot be stored in WARC files: %s", error)

    def engine_started(self) -> None:
        """Note that :meth:`engine_stopped` will be called. It is not called if the crawl fails before this."""
        self._has_started = True

    async def spider_closed(self, reason: str) -> None:
        """Stop the periodic calls, and wait for the server if it is unavailable. All pages have been answered."""
        for call in (self._summary, self._flushing):
            if call.running:
                call.stop()
        # A job on disk will request the remaining pages when it is resumed.
        self._has_finished = reason == "finished" or bool(self._crawler.settings["JOBDIR"])
        if reason == "shutdown":  # after Ctrl-C nothing waits any more
            self.monitor.log_summary("the index was not measured")
        else:
            await self._log_summary()
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
        if all_stored:
            await self.restorations.write()
        await self.workers.close(finished=self._has_finished if all_stored else None)
        self.claims.report_unwritten()
        await self.monitor.close_journal()
        if self._warc is not None:
            await asyncio.to_thread(self._warc.close)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _open_warc(self) -> None:
        """Keep the responses that are dropped as duplicates from now on."""
        from crawler_dedup.warc.writer import WarcWriter  # noqa: PLC0415  (imports FastWARC, of the extra `warc`)

        assert self._crawler.spider is not None
        run, spider = self.workers.run, self._crawler.spider.name
        self._warc = WarcWriter(self._warc_directory, self._config.dropped_warc, run, spider, declared_encoding)
        self._crawler.signals.connect(self._warc.add_response, signal=near_duplicate_dropped)

    # Trouble with the index

    def report_recovery(self) -> None:
        """Log that the index has answered, after an error."""
        self.is_unusable = False
        # On a full disk this comes with every page for which nothing is written.
        message = "The index can be used again; pages are checked from here on"
        self.monitor.log_throttled("recovery", logging.INFO, message)

    def react_to(self, error: Exception) -> None:
        """Remember an *error* of the index. On a server, an index that is gone is opened again."""
        if isinstance(error, IndexUnusable):
            self.is_unusable = True
        if not isinstance(error, IndexGone):
            return
        if self._config.index:
            self.workers.join_again()
        elif not self._is_gone:
            self._is_gone = True  # so that this is logged once
            message = "%s Pages pass unchecked until the crawl ends, unless the same files are put back"
            self.monitor.log(logging.ERROR, message, error)
