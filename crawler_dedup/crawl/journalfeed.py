"""Store the journal with Scrapy's feed storages when the crawl ends."""

from __future__ import annotations

import asyncio
import shutil
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedStorageProtocol, GCSFeedStorage
from scrapy.utils.conf import feed_complete_default_values_from_settings
from scrapy.utils.misc import build_from_crawler, load_object

from crawler_dedup.crawl.compat import ensure_awaitable
from crawler_dedup.crawl.filenames import safe_name
from crawler_dedup.errors import ConfigError
from crawler_dedup.journal.writer import numbered
from crawler_dedup.system.logs import logger_without_credentials
from crawler_dedup.urls import without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logger_without_credentials(__name__)

TIMEOUT = 300.0
"""Seconds that storing all files of a journal may take."""


class JournalFeed:
    """Hands the files of a journal to the feed storage of a URI.

    Args:
        uri: the URI, in which only ``%(time)s`` and ``%(name)s`` are replaced, as in the URIs of feeds.

    Raises:
        ConfigError: there is no storage for it, or the storage refuses it or lacks a library.
    """

    def __init__(self, crawler: Crawler, uri: str) -> None:
        self._crawler = crawler
        self._uri = uri
        try:
            storage = self._storage(self._fill_in(""))
            if isinstance(storage, GCSFeedStorage) and not _has_module("google.cloud.storage"):
                raise NotConfigured("missing google-cloud-storage library")
        except Exception as error:  # a storage may raise anything
            raise ConfigError(
                f"DEDUP_JOURNAL: {without_credentials(uri)} cannot be stored: {error or type(error).__name__}."
            ) from None  # the message of the error may contain the address with its password

    async def store(self, path: Path, time: str) -> None:
        """Store the journal that begins with the file *path*. Errors are logged; takes :data:`TIMEOUT` seconds at most.

        Args:
            time: the value of ``%(time)s``.
        """
        uri, end = self._fill_in(time), monotonic() + TIMEOUT
        for number, file in enumerate(_files(path), 1):
            target = numbered(uri, number)
            try:
                await asyncio.wait_for(self._store(file, target), end - monotonic())
            except Exception as error:
                logger.warning(
                    "The journal could not be stored in %s: %s: %s. It is in %s",
                    without_credentials(target),
                    type(error).__name__,
                    error,
                    file,
                    extra={"spider": self._crawler.spider},
                )
            else:
                logger.info(
                    "Stored the journal in %s", without_credentials(target), extra={"spider": self._crawler.spider}
                )

    async def _store(self, file: Path, uri: str) -> None:
        assert self._crawler.spider is not None
        storage = self._storage(uri)
        copy = storage.open(self._crawler.spider)
        await asyncio.to_thread(_copy, file, copy)
        await ensure_awaitable(storage.store(copy))

    def _storage(self, uri: str) -> FeedStorageProtocol:
        settings = self._crawler.settings
        storages = {scheme: path for scheme, path in settings.getwithbase("FEED_STORAGES").items() if path is not None}
        scheme = urlsplit(uri).scheme
        if scheme not in storages:
            supported = ", ".join(sorted(f"{name}:" for name in storages if name))
            raise ConfigError(f"FEED_STORAGES has {supported} and no {scheme}:")
        options = {"format": "jsonlines", "overwrite": True}
        storage: FeedStorageProtocol = build_from_crawler(
            load_object(storages[scheme]),
            self._crawler,
            uri,
            feed_options=feed_complete_default_values_from_settings(options, settings),
        )
        return storage

    def _fill_in(self, time: str) -> str:
        spider = self._crawler.spider
        return self._uri.replace("%(time)s", time).replace("%(name)s", safe_name(spider.name) if spider else "")


def _copy(file: Path, target: IO[bytes]) -> None:
    with file.open("rb") as source:
        shutil.copyfileobj(source, target)


def _files(path: Path) -> list[Path]:
    """Return *path* and the numbered files that follow it, as far as they exist."""
    files: list[Path] = []
    while (file := Path(numbered(str(path), len(files) + 1))).exists():
        files.append(file)
    return files


def _has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
