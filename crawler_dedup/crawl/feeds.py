"""Observe which items Scrapy's feeds have written, because Scrapy does not say which items a feed has lost.

An exporter's error ends in the log of the signal ``item_scraped``; the feeds behind it do not get the item either. A
storage's error ends in the log too. And an exported item is not yet on disk: it is in the buffer of a file, in that of a
compressor until the feed is closed, or in a temporary file until it is sent.

A slot is Scrapy's word for an open feed, or for the open batch of a feed. It is *unwritten* from its first item until its
items are known to be stored: after a successful flush if a flush stores them, otherwise when its storage has stored it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pickle import PickleError
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from pydispatch.robustapply import robustApply
from scrapy import Spider, exporters, signals
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, FileFeedStorage, ItemFilter, StdoutFeedStorage
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.http import Response

from crawler_dedup.crawl.compat import as_store, ensure_awaitable
from crawler_dedup.crawl.feedfiles import continue_file
from crawler_dedup.urls import without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawler_dedup.crawl.monitor import Monitor

_SLACK = 1.0
"""Seconds by which a page may have been settled before its item was exported: both happen at the same signal."""

_ITEM_ERRORS = ArithmeticError, AttributeError, LookupError, PickleError, RecursionError, TypeError, ValueError
"""Errors that an exporter raises if an item cannot be exported. Other errors may come from the file."""

EXPORT_FAILED = "An item %s was not exported to %s: %s: %s"
"""Log message: "of" and the address, the feeds that did not get the item, the class of the error, and the error."""

_STORAGES_THAT_WRITE = {(storage.open, storage.store) for storage in (FileFeedStorage, StdoutFeedStorage)}
_EXPORTERS_THAT_WRITE = {
    (exporter.start_exporting, exporter.export_item)
    for exporter in exporters.BaseItemExporter.__subclasses__()
    if exporter.__module__ == exporters.__name__  # those of other packages may collect items, and write them at the end
}


@dataclass(frozen=True, order=True)
class _Mark:
    """A moment of the crawl.

    Attributes:
        moment: a time of :func:`time.monotonic`.
        settled: how many pages were settled before.
    """

    moment: float
    settled: int


class FeedWatch:
    """Observes which items of one crawl are written. Belongs to its event loop. Without feeds it does nothing.

    Scrapy is observed in three places, in the objects of this crawl only. The exporter's handler of ``item_scraped`` is
    called through :meth:`item_scraped`, which sees every error of an exporter, a storage or an item filter, and logs it in
    the place of Scrapy. ``start_exporting`` of each slot is called through :meth:`_start_exporting`, which checks the file
    that items are appended to. And ``store`` of each storage is called through :meth:`_store`: the signal
    ``feed_slot_closed`` is also sent after an error, and statistics do not say which slot has failed.

    Args:
        note_stored: called with the time (of :func:`time.monotonic`) until which all settled pages are stored; ``None`` if
            all settled pages are stored.
        release: called with the response of an item that a feed did not get; returns whether its page was released.
    """

    def __init__(
        self,
        crawler: Crawler,
        monitor: Monitor,
        note_stored: Callable[[float | None], None],
        release: Callable[[Response | None], bool],
    ) -> None:
        self._monitor = monitor
        self._note_stored = note_stored
        self._release = release
        self._unwritten: dict[FeedSlot, _Mark] = {}
        self._outcomes: dict[int, BaseException | None] = {}
        self._failures: dict[str, str] = {}
        self._missed: Counter[str] = Counter()
        self._lost: _Mark | None = None
        self._released = 0  # after the loss
        self._is_over = False
        self._exporter = crawler.get_extension(FeedExporter)
        if self._exporter is None:
            return
        handlers = liveReceivers(getAllReceivers(crawler, signals.item_scraped))
        self._is_watching = self._exporter.item_scraped in handlers
        if self._is_watching:
            crawler.signals.disconnect(self._exporter.item_scraped, signal=signals.item_scraped)
            crawler.signals.connect(self.item_scraped, signal=signals.item_scraped)
            crawler.signals.connect(self.slot_closed, signal=signals.feed_slot_closed)
        # An exporter that receives items in another way is only known to have stored them when it is closed.
        crawler.signals.connect(self.end, signal=signals.feed_exporter_closed)
        note_stored(monotonic())

    def item_scraped(self, item: Any, spider: Spider, response: Response | None = None) -> Any:
        """Export an item to all feeds, as Scrapy does, and see which of them get it."""
        assert self._exporter is not None
        mark = _Mark(monotonic() - _SLACK, self._monitor.settled)
        before = {slot: slot.itemcount for slot in self._exporter.slots}
        for slot in before:
            self._observe(slot)
        if len(before) < len(self._exporter.feeds):
            self._feeds_missing(mark)
        try:
            # As Scrapy sends signals: a subclass may take fewer arguments, or more.
            return robustApply(self._exporter.item_scraped, item=item, response=response, spider=spider)
        except Exception as error:
            missed = [slot for slot, count in before.items() if slot.itemcount == count and _may_accept(slot, item)]
            self._export_failed(missed, error, mark, response)
            if self._release(response):
                if self._lost is None:
                    self._monitor.count("not_stored")
                else:
                    self._released += 1
            return None
        finally:
            for slot, count in before.items():
                if slot.itemcount != count and self._lost is None:
                    self._unwritten.setdefault(slot, mark)

    def slot_closed(self, slot: FeedSlot) -> None:
        """Note whether a slot that was closed is stored."""
        if not slot.itemcount:
            return
        file = slot.file.file if isinstance(slot.file, PostProcessingManager) else slot.file
        mark = self._unwritten.pop(slot, None) or _Mark(monotonic(), self._monitor.settled)
        try:
            error = self._outcomes.pop(id(file))
        except KeyError:
            self._fail(slot, "it is not known whether it was stored", mark)
        else:
            if error is not None:
                self._fail(slot, _describe(error), mark)
        self._note()

    def flush_feeds(self) -> None:
        """Flush the files of all feeds.

        Scrapy writes a buffer when it is full, which with small items takes longer than any grace. Where a flush fails, the
        buffer keeps its content, and the next flush may write it.
        """
        if self._exporter is None or self._is_over:
            return
        for slot in self._exporter.slots:
            if _flush(slot) and _is_stored_by_flush(slot):
                self._unwritten.pop(slot, None)
        self._note()

    def end(self) -> None:
        """Report what is not stored, now that all feeds are closed. Idempotent."""
        if self._exporter is None or self._is_over:
            return
        self._is_over = True
        for slot, mark in list(self._unwritten.items()):
            self._fail(slot, "it could not be closed", mark)
        self._note_stored(self._lost.moment if self._lost else None)
        if self._lost:
            pages = self._monitor.settled - self._lost.settled + self._released
            failures = [self._failure(template) for template in self._failures]
            self._monitor.report_unstored_pages(failures, pages)

    def _note(self) -> None:
        if not self._is_watching:
            return
        first = self._lost or min(self._unwritten.values(), default=None)
        self._note_stored(first.moment if first else monotonic())

    def _observe(self, slot: FeedSlot) -> None:
        """Make *slot* check its file, and its storage note whether a file was stored. Several slots may share a storage."""
        if slot.file is None:
            slot.start_exporting = partial(self._start_exporting, slot)  # type: ignore[method-assign]
        store = slot.storage.store
        if getattr(store, "func", None) != self._store:
            with suppress(AttributeError):  # a class with __slots__: its slots are never seen stored
                slot.storage.store = partial(self._store, store)  # type: ignore[method-assign, assignment]

    def _start_exporting(self, slot: FeedSlot) -> None:
        """Open the file of *slot* as Scrapy does, and check the end of its content."""
        del slot.start_exporting
        slot.start_exporting()
        if trouble := continue_file(slot):
            uri = without_credentials(slot.uri)
            self._monitor.log_throttled(f"end of {slot.uri_template}", logging.WARNING, "Feed %s: %s", uri, trouble)

    @as_store
    async def _store(self, store: Callable[[IO[bytes]], Any], file: IO[bytes]) -> None:
        try:
            await ensure_awaitable(store(file))
        except BaseException as error:
            self._outcomes[id(file)] = error
            raise
        self._outcomes[id(file)] = None

    def _export_failed(self, missed: list[FeedSlot], error: Exception, mark: _Mark, response: Response | None) -> None:
        """Note and log that the slots *missed* did not get an item.

        If an item cannot be exported, only this item is missing. If a file cannot be written, it may contain half of the
        item, so that the items before and after it are doubtful, even if there is room again later. And if the error comes
        after Scrapy began to close a batch, Scrapy goes on to fill that batch.
        """
        assert self._exporter is not None
        full = [slot for slot in self._exporter.slots if _is_full(slot)]
        failed = missed or full
        is_lost = bool(full) or not isinstance(error, _ITEM_ERRORS)
        if is_lost:
            for slot in failed:
                self._fail(slot, _describe(error), mark)
        self._missed.update(slot.uri_template for slot in missed)
        self._monitor.log_throttled(
            f"export {type(error).__name__}",
            logging.ERROR,
            EXPORT_FAILED,
            "without a response" if response is None else f"of {without_credentials(response.url)}",
            ", ".join(without_credentials(slot.uri) for slot in failed),
            type(error).__name__,
            error,
            exc_info=None if is_lost else (type(error), error, error.__traceback__ and error.__traceback__.tb_next),
        )

    def _feeds_missing(self, mark: _Mark) -> None:
        """Note the feeds that were not opened: Scrapy logs that, and goes on without them."""
        assert self._exporter is not None
        opened = {slot.uri_template for slot in self._exporter.slots}
        for uri in self._exporter.feeds:
            if uri not in opened:
                self._failures.setdefault(uri, f"{without_credentials(uri)}: it was not opened")
        self._lose(mark)

    def _failure(self, template: str) -> str:
        missed = self._missed[template]
        return self._failures[template] + (f" ({missed} items were not exported)" if missed else "")

    def _fail(self, slot: FeedSlot, reason: str, mark: _Mark) -> None:
        self._failures.setdefault(slot.uri_template, f"{without_credentials(slot.uri)}: {reason}")
        self._lose(mark)

    def _lose(self, mark: _Mark) -> None:
        """Count what is settled from *mark* on as not stored, until the run ends."""
        if self._lost is None:
            self._lost = min([mark, *self._unwritten.values()])
            self._unwritten.clear()
        self._note()


def _may_accept(slot: FeedSlot, item: Any) -> bool:
    """Return whether *slot* may accept *item*. A user's item filter is not called, since it may count its calls."""
    return type(slot.filter) is not ItemFilter or slot.filter.accepts(item)


def _flush(slot: FeedSlot) -> bool:
    file: Any = slot.file
    with suppress(Exception):  # there is none, a full disk, a closed file, or any error of a storage's own file object
        file.flush()
        return True
    return False


def _is_stored_by_flush(slot: FeedSlot) -> bool:
    """Return whether a flush stores items: no plugin or exporter holds them back, and the storage only closes the file."""
    return (
        _methods(slot.storage, "open", "store") in _STORAGES_THAT_WRITE
        and _methods(slot.exporter, "start_exporting", "export_item") in _EXPORTERS_THAT_WRITE
        and not isinstance(slot.file, PostProcessingManager)
    )


def _methods(owner: object, *names: str) -> tuple[object, ...]:
    return tuple(getattr(type(owner), name, None) for name in names)


def _is_full(slot: FeedSlot) -> bool:
    """Return whether *slot* is a batch that has all its items."""
    size: int = slot.feed_options["batch_item_count"]
    return 0 < size <= slot.itemcount


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
