"""Writing dropped pages to WARC files, in a thread beside the crawl."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from msgspec.structs import asdict

from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.journal.entry import entry_of
from crawler_dedup.journal.paths import safe_name
from crawler_dedup.system.files import make_inheriting_directories, private_opener
from crawler_dedup.system.logs import LogThrottle, logger_without_credentials
from crawler_dedup.warc.droppedpage import Drop, DroppedPage, find_files, make_warcinfo, to_warc

logger = logger_without_credentials(__name__)

MAX_WAITING_BYTES = 32 << 20
"""Maximum memory that waiting pages take while the disk is slow; further pages are lost, and counted."""
_FILES = 10
_STEPS = 100
_CLOSE_SECONDS = 10.0


class WarcWriter:
    """Appends dropped pages to WARC files in a thread: :meth:`write` never waits for a disk.

    A file takes a tenth of the limit; then the next begins. The oldest files in the directory are removed, whichever crawl
    has written them, so that their total size stays below the limit. A larger page than a tenth of the limit is lost.

    Args:
        directory: missing directories are created.
        limit: maximum size of all files in bytes.
        run: number of the run.
        spider: name of the spider.
        declared_encoding: returns the charset that a response declares.
    """

    def __init__(
        self, directory: Path, limit: int, run: int, spider: str, declared_encoding: Callable[[Any], str | None]
    ) -> None:
        self._directory, self._limit = directory, limit
        self._run, self._spider = run, spider
        self._declared_encoding = declared_encoding
        self._path = Path()
        self._unchecked = limit  # bytes that were written since the total size was looked at
        self._waiting = SimpleQueue[DroppedPage | None]()
        # Each of these is changed by one thread only.
        self._bytes_taken_in = self._bytes_handled = 0
        self._refused = self._failed = 0
        self._throttle = LogThrottle()
        with suppress(OSError):  # reported with the first page; not created later: the disk may be unmounted
            make_inheriting_directories(directory)
        self._thread = threading.Thread(target=self._write_all, name="crawler-dedup WARC", daemon=True)
        self._thread.start()

    def add_response(self, decision: Decision, request: Any, response: Any) -> None:
        """Write a response of Scrapy that was dropped as a duplicate. Handles ``near_duplicate_dropped``."""
        if decision.verdict is not Verdict.DUPLICATE:
            return  # the page is kept, and unchanged
        drop = Drop(
            **asdict(entry_of("drop", decision, None, run=self._run, spider=self._spider)),
            key=decision.key,
            method=request.method,
            charset=self._declared_encoding(response) or "",
        )
        headers = ((name, value) for name, values in response.headers.items() for value in values)
        decoded = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
        self.write(DroppedPage(drop, decoded, response.body))

    def write(self, page: DroppedPage) -> None:
        """Add a page, which is written as soon as possible."""
        if self._bytes_taken_in - self._bytes_handled + page.size > MAX_WAITING_BYTES:
            self._refused += 1
            return
        self._bytes_taken_in += page.size
        self._waiting.put(page)

    def close(self) -> None:
        """Write the waiting pages. Takes ten seconds at most; pages that are not written by then are lost."""
        self._waiting.put(None)
        self._thread.join(_CLOSE_SECONDS)
        if lost := self._refused + self._failed + self._waiting.qsize():
            logger.warning("%d dropped pages are missing in the WARC files in %s", lost, self._directory)

    def _write_all(self) -> None:
        while (page := self._waiting.get()) is not None:
            try:
                self._append(to_warc(page))
            except Exception as error:
                self._failed += 1
                message = "Dropped pages cannot be written to WARC files in %s: %s"
                self._throttle.log(logger.log, message, logging.WARNING, message, self._directory, error)
            self._bytes_handled += page.size

    def _append(self, content: bytes) -> None:
        if len(content) > self._limit // _FILES:
            raise ValueError(
                f"a page takes {len(content):,} bytes, more than a tenth of DEDUP_DROPPED_WARC ({self._limit:,} bytes)"
            )
        self._unchecked += len(content)
        if self._unchecked > self._limit // _STEPS:
            remove_oldest(self._directory, self._limit - self._limit // _FILES)
            self._unchecked = len(content)
        size = _size_of(self._path) if self._path.name else 0
        if not self._path.name or size + len(content) > self._limit // _FILES:
            began = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
            self._path = self._directory / f"dropped-{began}-{self._run:08x}-{safe_name(self._spider)}.warc.gz"
            size = 0
        append_whole(self._path, content if size else make_warcinfo() + content)


def remove_oldest(directory: Path, limit: int) -> None:
    """Remove the oldest WARC files of dropped pages in *directory* until the others have *limit* bytes or fewer."""
    files = find_files(directory)
    total = sum(map(_size_of, files))
    for path in files:
        if total <= limit:
            return
        total -= _size_of(path)
        path.unlink(missing_ok=True)  # another crawl may have removed it


def _size_of(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def append_whole(path: Path, content: bytes) -> None:
    """Append *content* to a file, or nothing: records behind half a record would be hidden.

    Raises :class:`OSError`.
    """
    with open(path, "ab", buffering=0, opener=private_opener) as file:
        size = file.seek(0, os.SEEK_END)
        if file.write(content) < len(content):  # the disk is full
            file.truncate(size)
            raise OSError("no space left on the disk")
