"""What both middlewares need before the crawl begins: its configuration, and each other."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError, DedupError
from crawler_dedup.system.logs import logger_without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_LOGGER = logger_without_credentials("crawler_dedup.middleware")


@contextmanager
def refusal_logged() -> Iterator[None]:
    """Log what keeps a crawl from starting as one line; the error itself goes on to Scrapy.

    Scrapy has no way to refuse a crawl but an exception, which ends it with exit status 1. asyncio or Twisted then log the
    exception with the traceback: of this one error they do not, because it says nothing that the line does not.
    """
    try:
        yield
    except DedupError as error:
        _LOGGER.critical("The crawl does not start: %s", error)
        for name in ("asyncio", "twisted"):
            logging.getLogger(name).addFilter(partial(_is_of_another_error, error))
        raise


def _is_of_another_error(error: DedupError, record: logging.LogRecord) -> bool:
    # Twisted announces an exception with a line of its own.
    announces = record.name == "twisted" and record.getMessage() == "Unhandled error in Deferred:"
    return not announces and not (record.exc_info and record.exc_info[1] is error)


def config_of(crawler: Crawler) -> Config:
    """Read the configuration of a crawl, for both middlewares.

    Raises:
        NotConfigured: the filter is off, or this is no crawl (``scrapy shell``, ``fetch``, ``view``, ``parse``,
            ``check``).
        ConfigError: a setting has a value that is not allowed.
    """
    config = Config.from_settings({name: crawler.settings[name] for name in crawler.settings})
    if not config.enabled or _is_inspection():
        raise NotConfigured
    return config


def require_companion(settings: BaseSettings, component_list: str, companion: str) -> None:
    """Raise :class:`ConfigError` unless *companion* (an import path) stands in *component_list*."""
    wanted = load_object(companion)
    listed = build_component_list(settings.get_component_priority_dict_with_base(component_list))
    if not any(isinstance(one, type) and issubclass(one, wanted) for one in map(load_object, listed)):
        raise ConfigError(
            f"crawler-dedup needs both its middlewares, but {component_list} lacks {companion}. Add it, or let"
            ' ADDONS = {"crawler_dedup.Addon": 500} install both.'
        )


def _is_inspection() -> bool:
    """Whether a Scrapy command runs that looks at single pages: it must neither file them nor drop any."""
    if os.environ.get("SCRAPY_CHECK") == "true":
        return True
    program = Path(sys.argv[0])
    if program.stem != "scrapy" and program.parts[-2:] != ("scrapy", "__main__.py"):
        return False
    # Scrapy takes the command out of sys.argv.
    words = iter(sys.orig_argv)
    _ = next((word for word in words if Path(word).stem == "scrapy"), "")
    command = next((word for word in words if not word.startswith("-")), "")
    return command in {"bench", "check", "fetch", "parse", "shell", "view"}
