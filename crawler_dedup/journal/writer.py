"""Writing the journal: one JSON object a line for each entry, in a thread beside the crawl."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from contextlib import suppress
from io import SEEK_END, FileIO
from pathlib import Path

import msgspec

from crawler_dedup.journal.entry import Entry
from crawler_dedup.system.files import make_inheriting_directories, private_opener
from crawler_dedup.system.logs import LogThrottle, logger_without_credentials

logger = logger_without_credentials(__name__)

FLUSH_SECONDS = 0.5
"""Seconds between two writes: a kill loses at most the entries of such a time."""
MAX_WAITING = 100_000
"""Maximum number of lines that wait while the disk cannot be written; further lines are lost, and counted."""
MAX_WAITING_BYTES = 32 << 20
"""Maximum size of the waiting lines in bytes: a line may hold the text of a page."""

_CLOSE_SECONDS = 5.0


class JournalWriter:
    """Writes entries to a file in a thread of its own: :meth:`write` never waits for a disk.

    Several processes may write to one file: each write appends whole lines.

    Args:
        path: path of the file; missing directories are created. If it is renamed, a new file begins.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: deque[bytes] = deque()
        self._taken: list[bytes] = []
        self._lost = 0
        # Bytes of all lines so far. Each of the two is changed by one thread only.
        self._bytes_taken_in = self._bytes_written = 0
        self._ending: bytes | None = None  # what the last line of the file lacks; None: it was not looked at
        self._throttle = LogThrottle()
        self._encode = msgspec.json.Encoder().encode
        self._wake = threading.Event()
        with suppress(OSError):  # reported with the first line; not created later: the disk may be unmounted
            make_inheriting_directories(path.parent)
            os.close(private_opener(str(path), os.O_WRONLY | os.O_CREAT))  # a crawl without drops has a journal too
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="crawler-dedup journal", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Add a line, which is written to the file within :data:`FLUSH_SECONDS`."""
        try:
            line = self._encode(entry) + b"\n"
        except UnicodeEncodeError:  # a lone surrogate in a name: no page may be lost for that
            self._lost += 1
            return
        bytes_waiting = self._bytes_taken_in - self._bytes_written
        if len(self._waiting) + len(self._taken) >= MAX_WAITING or bytes_waiting + len(line) > MAX_WAITING_BYTES:
            self._lost += 1
            return
        self._bytes_taken_in += len(line)
        self._waiting.append(line)

    def close(self) -> None:
        """Write the waiting lines. Takes a few seconds at most; lines that a full disk does not take are lost."""
        self._is_closing = True
        self._wake.set()
        self._thread.join(_CLOSE_SECONDS)
        if lost := self._lost + len(self._waiting) + len(self._taken):
            logger.warning("%d lines of the journal %s are lost", lost, self._path)

    def _run(self) -> None:
        while not self._is_closing:
            self._wake.wait(FLUSH_SECONDS)
            self._flush()
        self._flush()

    def _flush(self) -> None:
        """Append the waiting lines; lines that cannot be written keep waiting."""
        while self._waiting:
            self._taken.append(self._waiting.popleft())
        if not self._taken:
            return
        try:
            self._append(b"".join(self._taken))
        except OSError as error:
            message = "The journal %s cannot be written: %s"
            self._throttle.log(logger.log, message, logging.WARNING, message, self._path, error)
            return
        self._bytes_written += sum(map(len, self._taken))
        self._taken.clear()

    def _append(self, content: bytes) -> None:
        with open(self._path, "ab+", buffering=0, opener=private_opener) as file:
            if self._ending is None:
                self._ending = _ending_of(file)
            content = self._ending + content
            written = file.write(content)
            self._ending = b""
            if written < len(content):  # a full disk took part of a line: the next write ends it
                self._ending = b"\n"
                raise OSError(f"{written} of {len(content)} bytes were written")


def _ending_of(file: FileIO) -> bytes:
    """Return the line end that the last line lacks, or nothing: a power cut or a full disk may have cut the line off."""
    if not file.seek(0, SEEK_END):
        return b""
    file.seek(-1, SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"
