"""Checks by both middlewares before a crawl begins: the configuration, and whether the other middleware is installed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError, DedupError
from crawler_dedup.system.logs import logger_without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_LOGGER = logger_without_credentials("crawler_dedup.middleware")


class _RefusalFilter(logging.Filter):
    """Suppresses the log lines of asyncio and Twisted about crawls that could not start.

    Attributes:
        last: the last error. It is kept until the process ends, because Twisted prints an error that is no longer referred
            to when Python exits, without asking any filter.
    """

    last: DedupError | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether *record* is about another error."""
        # Twisted logs a separate line before the exception.
        announces = record.name == "twisted" and record.getMessage() == "Unhandled error in Deferred:"
        error = record.exc_info[1] if record.exc_info else None
        return not announces and not (isinstance(error, DedupError) and error.is_logged)


_REFUSALS = _RefusalFilter()


@contextmanager
def refusal_logged() -> Iterator[None]:
    """Log an error that keeps a crawl from starting as one line, and let it go on to Scrapy.

    Only an exception makes Scrapy refuse a crawl, which ends it with exit status 1. asyncio or Twisted would then log the
    exception with its traceback. This is suppressed for this error, because the traceback adds nothing to the line.
    """
    try:
        yield
    except DedupError as error:
        _LOGGER.critical("The crawl does not start: %s", error)
        error.is_logged = True
        _REFUSALS.last = error
        for name in ("asyncio", "twisted"):
            logging.getLogger(name).addFilter(_REFUSALS)  # has no effect the second time
        raise


_SHOWING_COMMANDS = ("scrapy.commands.fetch", "scrapy.commands.parse")  # view is a fetch, too


def config_of(crawler: Crawler) -> Config:
    """Read the configuration of a crawl, for both middlewares.

    Raises:
        NotConfigured: the filter is off, or ``scrapy check`` or ``scrapy bench`` runs.
        ConfigError: a setting has a value that is not allowed.
    """
    config = Config.from_settings({name: crawler.settings[name] for name in crawler.settings})
    if not config.enabled or _is_check_or_bench(crawler):
        raise NotConfigured
    return config


def require_companion(settings: BaseSettings, component_list: str, companion: str) -> None:
    """Raise :class:`ConfigError` unless the setting *component_list* contains *companion* (an import path)."""
    companion_class = load_object(companion)
    listed = [load_object(name) for name, order in settings.getwithbase(component_list).items() if order is not None]
    if not any(isinstance(listed_class, type) and issubclass(listed_class, companion_class) for listed_class in listed):
        raise ConfigError(
            f"crawler-dedup needs both its middlewares, but {component_list} lacks {companion}. Add it, or let"
            ' ADDONS = {"crawler_dedup.Addon": 500} install both.'
        )


def only_looks(crawler: Crawler) -> bool:
    """Return whether a Scrapy command shows single pages instead of crawling: ``shell``, ``fetch``, ``view`` or ``parse``.

    The shell uses an engine without a crawl; the other commands replace the spider's ``start`` by their own function. The
    arguments of the process do not show the command: Scrapy changes them, and programs can call commands directly.
    """
    start = getattr(crawler.spidercls, "start", None)
    return not crawler.crawling or getattr(start, "__module__", "") in _SHOWING_COMMANDS


def _is_check_or_bench(crawler: Crawler) -> bool:
    """Return whether ``scrapy check`` or ``scrapy bench`` runs, whose pages are not stored."""
    return os.environ.get("SCRAPY_CHECK") == "true" or crawler.spidercls.__module__ == "scrapy.commands.bench"
