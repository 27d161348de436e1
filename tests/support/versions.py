"""Differences between the installed versions of Scrapy and Rich, for tests that depend on them."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import version_info

if TYPE_CHECKING:
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

SCRAPY = version_info[:2]

HAS_EXIT_STATUS = SCRAPY >= (2, 15)
"""Whether each command of Scrapy ends with status 1 if its crawl cannot start."""

HAS_HTTPAUTH_SETTINGS = SCRAPY >= (2, 17)
"""Whether the user name and the password of a site can be given as settings."""

DETECTS_CHARSETS = hasattr(import_module("scrapy.http.response.text"), "from_bytes")
"""Whether Scrapy detects the charset of a page that declares none; otherwise it assumes Windows-1252."""

HAS_TODAYS_TABLES = tuple(map(int, version("rich").split(".")[:2])) >= (14, 3)
"""Whether Rich gives the columns of a table the widths that they have in the pictures of the documentation."""

_RUNS_WITHOUT_REACTOR = SCRAPY >= (2, 19) or (SCRAPY >= (2, 15) and find_spec("httpx") is not None)

without_reactor = pytest.mark.skipif(
    not _RUNS_WITHOUT_REACTOR, reason="Scrapy before 2.15 needs a reactor, before 2.19 httpx"
)
REACTORS = [True, pytest.param(False, marks=without_reactor)]
"""Values of ``TWISTED_REACTOR_ENABLED``."""


def crawler_process(settings: Settings | dict[str, Any]) -> AsyncCrawlerProcess:
    """Return the process that runs crawls. In Scrapy 2.13 it returns a ``Deferred`` for each crawl."""
    name = "AsyncCrawlerProcess" if SCRAPY >= (2, 14) else "CrawlerProcess"
    process: AsyncCrawlerProcess = getattr(import_module("scrapy.crawler"), name)(settings)
    return process
