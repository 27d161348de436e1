"""Run one spider in this process, as a command does, perhaps only for the pages that `restore` has taken back."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings
from twisted.python.failure import Failure

from crawler_dedup.addon import Addon
from crawler_dedup.crawl.feeds import EXPORT_FAILED
from crawler_dedup.errors import DedupError
from crawler_dedup.spiders import polite

_LOG = {"LOG_LEVEL": "WARNING", "LOG_FORMAT": "%(levelname)s: %(message)s"}
_REPEATING = ("scrapy.downloadermiddlewares.retry", "scrapy.downloadermiddlewares.robotstxt")
"""Loggers that say with a traceback what the spider says in a sentence."""


def polite_settings() -> Settings:
    """Return polite settings, with a log of nothing but warnings and errors."""
    settings = Settings()
    _add_defaults(settings)
    return settings


def project_settings() -> Settings:
    """Return the settings of the Scrapy project around the working directory; what it does not set is polite.

    The filter is on, also where the project does not install it.

    Raises:
        DedupError: the settings of the project cannot be read.
    """
    with _errors_as_sentences("The settings of this Scrapy project cannot be read"):
        settings = get_project_settings()
        _add_defaults(settings)
        addons = settings.getdict("ADDONS")
        if not any(load_object(addon) is Addon for addon in addons):
            settings.set("ADDONS", {**addons, Addon: 500}, priority="project")
    return settings


def _add_defaults(settings: Settings) -> None:
    settings.setmodule(polite, priority="command")
    settings.setdict(_LOG, priority="command")


@dataclass(frozen=True)
class Run:
    """A crawl that has ended.

    Attributes:
        crawler: what has crawled, with its spider and its statistics.
        interrupts: how many times the user has asked for the end (Ctrl-C).
        feed_error: why a feed could not be written, which has ended the crawl.
    """

    crawler: Crawler
    interrupts: int
    feed_error: OSError | None


def run_spider(
    spider: type[Spider], settings: Settings, watch: Callable[[Crawler], object] | None = None, /, **arguments: Any
) -> Run:
    """Crawl to the end.

    Args:
        watch: is called with the crawler before it begins.
        arguments: those of the spider.

    Raises:
        DedupError: the crawl could not start: a setting is wrong, or the index cannot be opened.
    """
    failures: list[Failure] = []
    with _errors_as_sentences("The crawl cannot start"):
        process = CrawlerProcess(settings)
        interrupts, feed_errors = _Interrupts(), _FeedErrors(process)
        logging.getLogger("scrapy.crawler").addHandler(interrupts)
        logging.getLogger("scrapy.crawler").addFilter(_hide_password)
        logging.getLogger("scrapy.utils.signal").addFilter(feed_errors)
        logging.getLogger("crawler_dedup.middleware").addFilter(feed_errors)
        logging.getLogger("crawler_dedup.middleware").addFilter(_is_not_critical)  # it would be said twice
        if settings.getpriority("LOG_LEVEL") == SETTINGS_PRIORITIES["command"]:
            for name in _REPEATING:
                logging.getLogger(name).setLevel(logging.CRITICAL)
        crawler = process.create_crawler(spider)
        if watch is not None:
            watch(crawler)
        process.crawl(crawler, **arguments).addErrback(failures.append)
        process.start()
        for failure in failures:
            failure.raiseException()
    return Run(crawler, interrupts.count, feed_errors.first)


class _Interrupts(logging.Handler):
    """Counts the signals that end a crawl, which Scrapy logs below WARNING, and says what each does."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a record of the process that crawls."""
        if isinstance(record.args, Mapping) and "signame" in record.args:
            self.count += 1
            # Not by print(): a second signal may come while it writes, and buffered streams cannot be entered twice.
            os.write(sys.stderr.fileno(), f"{_ENDING if self.count == 1 else 'Stopped.'}\n".encode())


_ENDING = "Ending: the pages that were requested are still handled. Press Ctrl-C again to stop at once."


class _FeedErrors(logging.Filter):
    """Ends the crawl when a feed cannot be written; Scrapy would log a traceback for each further page."""

    def __init__(self, process: CrawlerProcess) -> None:
        super().__init__()
        self.first: OSError | None = None
        self._process = process

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether *record*, an error of a signal handler or a line of the filter, is logged."""
        error = _feed_error(record)
        if error is None:
            return True
        if self.first is None:
            self.first = error
            self._process.stop()
        return False


def _feed_error(record: logging.LogRecord) -> OSError | None:
    """Return the error of which *record* says that a feed could not be written."""
    error: object = None
    if isinstance(record.args, Mapping):  # logged by Scrapy, about an exporter that the filter does not watch
        receiver = record.args.get("receiver")
        if record.exc_info and isinstance(getattr(receiver, "__self__", None), FeedExporter):
            error = record.exc_info[1]
    elif record.args and record.msg == EXPORT_FAILED:
        error = record.args[-1]
    return error if isinstance(error, OSError) else None


def _hide_password(record: logging.LogRecord) -> bool:
    """Take the password out of the settings that Scrapy logs at its start; log every record."""
    if isinstance(record.args, Mapping) and isinstance(listed := record.args.get("settings"), str):
        record.args = {**record.args, "settings": _PASSWORD_SETTING.sub(r"\1'…'", listed)}
    return True


_PASSWORD_SETTING = re.compile(r"('HTTPAUTH_PASS': ).*?(?=,\n '|\}\Z)", re.DOTALL)


def _is_not_critical(record: logging.LogRecord) -> bool:
    return record.levelno < logging.CRITICAL


@contextmanager
def _errors_as_sentences(beginning: str) -> Iterator[None]:
    """Raise a :class:`DedupError` that begins with *beginning* for errors that the settings of a user can cause."""
    try:
        yield
    except DedupError:
        raise
    except Exception as error:
        raise DedupError(f"{beginning}: {str(error) or type(error).__name__}") from error


def make_restoring(spider: type[Any], *, follows: bool) -> type[Spider]:
    """Make a spider like *spider* that starts at restored pages only.

    Args:
        follows: whether the links of these pages are followed.
    """

    class Restoring(spider):  # type: ignore[misc]
        @classmethod
        def update_settings(cls, settings: BaseSettings) -> None:
            super().update_settings(settings)
            if not follows:
                middlewares = {**settings.getdict("SPIDER_MIDDLEWARES"), LinksLeftOut: 0}
                settings.set("SPIDER_MIDDLEWARES", middlewares, priority="cmdline")

        async def start(self) -> AsyncIterator[Any]:
            return
            yield

        def start_requests(self) -> Iterator[Any]:  # Scrapy 2.13 to 2.15, with deprecated middlewares
            return iter(())

    return Restoring


class LinksLeftOut:
    """A spider middleware that leaves out all requests of callbacks.

    The crawl then ends as one that has not followed all links, so that later crawls follow them.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._has_left_out = False
        crawler.signals.connect(self.spider_idle, signal=signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LinksLeftOut:
        """Make the middleware, as Scrapy does."""
        return cls(crawler)

    async def process_spider_output_async(
        self,
        response: Response,  # noqa: ARG002
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002
    ) -> AsyncIterator[Any]:
        """Yield the items of a callback."""
        async for output in result:
            if self._is_item(output):
                yield output

    def process_spider_output(
        self,
        response: Response,  # noqa: ARG002
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002
    ) -> Iterable[Any]:
        """Do the same for a callback that is not asynchronous, for which Scrapy before 2.16 calls this method."""
        return filter(self._is_item, result)

    def _is_item(self, output: object) -> bool:
        is_item = not isinstance(output, Request)
        self._has_left_out |= not is_item
        return is_item

    def spider_idle(self) -> None:
        """End the crawl; with another reason than "finished" if links were left out."""
        if self._has_left_out:
            raise CloseSpider("links left out")


def stores_items(spider: type[Spider], settings: Settings) -> bool:
    """Return whether a feed or an item pipeline gets the items of *spider*; an add-on may install one."""
    applied = settings.copy()
    spider.update_settings(applied)
    has_feed = applied.getdict("FEEDS") or applied["FEED_URI"]
    has_pipeline = build_component_list(applied.getwithbase("ITEM_PIPELINES"))
    others = [addon for addon in build_component_list(applied.getdict("ADDONS")) if load_object(addon) is not Addon]
    return bool(has_feed or has_pipeline or others)
