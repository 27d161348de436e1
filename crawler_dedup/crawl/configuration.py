"""What both middlewares do before a crawl begins: read the configuration, find directories, refuse what cannot work."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Iterator
from configparser import Error as ConfigParserError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object
from scrapy.utils.project import project_data_dir

from crawler_dedup.config import Config
from crawler_dedup.crawl.workerprocess import discard_ahead
from crawler_dedup.errors import ConfigError, DedupError
from crawler_dedup.journal.paths import journal_path
from crawler_dedup.system.extras import require_extra
from crawler_dedup.system.logs import logger_without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_LOGGER = logger_without_credentials("crawler_dedup.middleware")


class FilterOff(NotConfigured):
    """Raised where the filter is off because a setting says so, or because a Scrapy command stores no pages."""


_last_refusal: deque[DedupError] = deque(maxlen=1)
"""The last error that kept a crawl from starting: when Python exits, Twisted prints an error that is no longer referred to,
without asking any filter."""


def _is_about_no_refusal(record: logging.LogRecord) -> bool:
    """Return whether *record* of asyncio or Twisted is about something else than a crawl that could not start."""
    # Twisted logs a separate line before the exception.
    announces = record.name == "twisted" and record.getMessage() == "Unhandled error in Deferred:"
    error = record.exc_info[1] if record.exc_info else None
    return not announces and not (isinstance(error, DedupError) and error.is_logged)


@contextmanager
def refusal_logged() -> Iterator[None]:
    """Log an error that keeps a crawl from starting as one line, and let it go on to Scrapy.

    Only an exception makes Scrapy refuse a crawl, which ends it with exit status 1. asyncio or Twisted would then log the
    exception with its traceback. This is suppressed for this error, because the traceback adds nothing to the line.

    :class:`NotConfigured` would let Scrapy crawl without the filter, whoever raises it. So it is refused like this error,
    too, unless it is :class:`FilterOff`.
    """
    try:
        try:
            yield
        except FilterOff:
            raise
        except NotConfigured as error:
            raise ConfigError(
                "crawler-dedup is switched on, but something that it uses is not configured:"
                f" {error or 'no reason is given'}. Correct this, or set DEDUP_ENABLED = False."
            ) from error
    except DedupError as error:
        _LOGGER.critical("The crawl does not start: %s", error)
        error.is_logged = True
        _last_refusal.append(error)
        for name in ("asyncio", "twisted"):
            logging.getLogger(name).addFilter(_is_about_no_refusal)  # has no effect the second time
        raise


_SHOWING_COMMANDS = ("scrapy.commands.fetch", "scrapy.commands.parse")  # view is a fetch, too


def config_of(crawler: Crawler) -> Config:
    """Read the configuration of a crawl, for both middlewares.

    Raises:
        FilterOff: the filter is off, or ``scrapy check`` or ``scrapy bench`` runs.
        ConfigError: a setting has a value that is not allowed.
    """
    config = Config.from_settings({name: crawler.settings[name] for name in crawler.settings})
    is_check = os.environ.get("SCRAPY_CHECK") == "true"
    if not config.enabled or is_check or crawler.spidercls.__module__ == "scrapy.commands.bench":
        discard_ahead()
        raise FilterOff
    return config


def data_directory(config: Config) -> Path:
    """Return the directory of ``DEDUP_DIR``. Raises as :func:`directory_of`."""
    return directory_of("DEDUP_DIR", config.dir)


def directory_of(setting: str, path: str) -> Path:
    """Return the directory that a setting names. A relative *path* is in the data directory of the Scrapy project.

    Raises:
        ConfigError: it is relative, and there is no project, or the data directory of the project cannot be used.
    """
    if os.path.isabs(path):
        return Path(path).resolve()
    try:
        return Path(project_data_dir(), path).resolve()
    except (NotConfigured, OSError, ConfigParserError) as error:
        raise ConfigError(
            f"{setting} = {path!r} is relative to the data directory of the Scrapy project (.scrapy beside"
            f" scrapy.cfg), which cannot be found or used: {str(error).rstrip('.')}. Set {setting} to an absolute path."
        ) from error


def find_journal_directory(config: Config) -> Path | None:
    """Return the directory that contains a relative path of the journal; ``None``: none does.

    An index on a server needs no directory. Where there is none, a journal is written only if its path is absolute.

    Raises:
        ConfigError: as :func:`data_directory`, unless the index is on a server.
    """
    if not config.journal or os.path.isabs(config.journal):
        return None
    try:
        return data_directory(config)
    except ConfigError as error:
        if not config.index:
            raise
        _LOGGER.warning(
            "The journal cannot be written: %s You can also set DEDUP_JOURNAL to an absolute path, or to '' for none",
            error,
        )
        return None


def find_warc_directory(config: Config, journal_directory: Path | None) -> Path:
    """Return the directory of the WARC files of dropped pages: that of the index, or, if it is on a server, of the journal.

    Raises:
        ConfigError: ``DEDUP_DROPPED_WARC`` is set, and the extra ``warc`` is not installed; or as :func:`data_directory`.
    """
    if config.dropped_warc:
        require_extra("warc", "DEDUP_DROPPED_WARC")
    if config.index:  # it needs no directory
        if journal := journal_path(config.journal, journal_directory):
            return journal.parent
        if not config.dropped_warc:
            return Path()
    return data_directory(config)


def require_companion(settings: BaseSettings, component_list: str, companion: str) -> None:
    """Raise :class:`ConfigError` unless the setting *component_list* contains *companion* (an import path)."""
    companion_class = load_object(companion)
    listed = [load_object(name) for name, order in settings.getwithbase(component_list).items() if order is not None]
    if not any(isinstance(listed_class, type) and issubclass(listed_class, companion_class) for listed_class in listed):
        raise ConfigError(
            f"crawler-dedup needs both its middlewares, but {component_list} lacks {companion}. Add it, or let"
            ' ADDONS = {"crawler_dedup.Addon": 500} install both.'
        )


def is_preview(crawler: Crawler) -> bool:
    """Return whether a Scrapy command shows single pages instead of crawling: ``shell``, ``fetch``, ``view`` or ``parse``.

    The shell uses an engine without a crawl; the other commands replace the spider's ``start`` by their own function. The
    arguments of the process do not show the command: Scrapy changes them, and programs can call commands directly.
    """
    start = getattr(crawler.spidercls, "start", None)
    return not crawler.crawling or getattr(start, "__module__", "") in _SHOWING_COMMANDS
