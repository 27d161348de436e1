"""The record of drops: one JSON object a line, written beside the crawl."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from io import SEEK_END, FileIO
from pathlib import Path
from typing import Literal

import msgspec

from crawler_dedup.decision import Decision
from crawler_dedup.errors import DedupError
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.access import make_folders, opener
from crawler_dedup.system.logs import logger_of
from crawler_dedup.urls import name_without_credentials, text_without_credentials, without_credentials

logger = logger_of(__name__)

VERSION = 1
"""Of the lines. It rises when a field changes its meaning."""

FLUSH_SECONDS = 0.5
"""A kill loses no more than what came in so long a time."""
MAX_WAITING = 100_000
"""Lines that wait for a disk that cannot be written; further ones are lost, and counted."""
MAX_WAITING_BYTES = 32 << 20
"""Of these lines together: a line may hold the text of a page."""

_COMPLAINT_SECONDS = 60.0
_CLOSE_SECONDS = 5.0

Compressed = bytes  # a field of :class:`Entry` has the name of the type
Event = Literal["drop", "mark", "unchanged", "unchanged_dropped", "unchecked", "released", "watchdog"]


_CLEAN: dict[str, Callable[[str], str]] = {
    "url": without_credentials,
    "kept_url": without_credentials,
    "scope": name_without_credentials,
    "reason": text_without_credentials,
}


class Entry(msgspec.Struct, frozen=True):
    """One line. Its addresses lose user names and passwords, also where an older version has written it with them.

    Attributes:
        version: :data:`VERSION`.
        time: when, in UTC (ISO 8601, milliseconds).
        run: number of the run, 8 hexadecimal digits.
        event: ``drop``; ``mark``: a duplicate that passed, because the action is "mark"; ``unchanged``: a page that is what
            it was, and passed; ``unchanged_dropped``: one that did not; ``unchecked``: one that could not be judged, and
            passed; ``released``: one that passed and is forgotten, because its handling failed; ``watchdog``: a kept page
            that stands for suspiciously many.
        spider: its name.
        scope: what the page was compared with.
        url: address of the page.
        kept_url: address of the page that stands for it; of an ``unchanged`` page itself; ``""``: there is none.
        rule: the row that decided.
        distance: of the signatures, in bits; ``None`` where the scheme has no such thing.
        resemblance: estimated, 0 to 1.
        coverage: estimated, 0 to 1.
        title: of the page.
        bytes: of its body.
        links: its outlinks, which are not followed from there if it was dropped.
        reason: why the page is unchecked.
        text: its main text in UTF-8, compressed with Zstandard, where ``Config.store_text`` asks for it.
    """

    version: int
    time: str
    run: str
    event: Event
    spider: str
    scope: str
    url: str
    kept_url: str = ""
    rule: str = ""
    distance: int | None = None
    resemblance: float | None = None
    coverage: float | None = None
    title: str = ""
    bytes: int = 0
    links: int = 0
    reason: str = ""
    text: Compressed = b""

    def __post_init__(self) -> None:
        for name, clean in _CLEAN.items():
            if (shown := clean(getattr(self, name))) != getattr(self, name):
                msgspec.structs.force_setattr(self, name, shown)

    @property
    def seconds(self) -> float:
        """When, in seconds since 1970; 0 where the time cannot be read."""
        try:
            return datetime.fromisoformat(self.time.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0


def entry_of(event: Event, decision: Decision, page: SignedPage | None, *, run: int, spider: str) -> Entry:
    """The line for *decision* about *page* (``None``: only its address is known)."""
    match = decision.match
    return Entry(
        version=VERSION,
        time=datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        run=f"{run:08x}",
        event=event,
        spider=spider,
        scope=decision.scope,
        url=decision.url,
        kept_url=decision.duplicate_of or (decision.url if decision.match else ""),
        rule=match.rule if match else "",
        distance=match.distance if match else None,
        resemblance=match.resemblance if match else None,
        coverage=match.coverage if match else None,
        title=page.title if page else "",
        bytes=page.size if page else 0,
        links=page.link_count if page else 0,
        reason=decision.reason,
        text=page.text if page else b"",
    )


class Line(msgspec.Struct):
    """A line of a file: its number from 1, and its entry, or ``None`` if it cannot be read."""

    number: int
    entry: Entry | None


def read(path: Path) -> Iterator[Line]:
    """The lines of a journal. One that was cut in half, or is none, comes with ``None`` for its entry.

    Raises:
        DedupError: the file cannot be read, or was written by a version with another schema.
    """
    decode = msgspec.json.Decoder(Entry).decode
    try:
        with path.open("rb") as file:
            for number, content in enumerate(file, 1):
                try:
                    entry = decode(content)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    entry = None
                version = _version_of(content) if entry is None else entry.version
                if version != VERSION:
                    age = "a later" if version > VERSION else "an older"
                    raise DedupError(
                        f"{path}, line {number}, was written by {age} version of crawler-dedup: schema {version}; this one"
                        f" reads {VERSION}."
                    )
                yield Line(number, entry)
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error}") from None


class _Versioned(msgspec.Struct):
    version: int = VERSION


def _version_of(content: bytes) -> int:
    """The schema of a line that is none of ours; of what is no line at all ours."""
    try:
        return msgspec.json.decode(content, type=_Versioned).version
    except (msgspec.DecodeError, UnicodeDecodeError):
        return VERSION


def numbered(name: str, number: int | str) -> str:
    """Name of the file *number*, from 1, of a journal whose first one is *name*: ``….2.jsonl``."""
    if number == 1:
        return name
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}.{number}.{suffix}" if dot and "/" not in suffix else f"{name}.{number}"


class JournalWriter:
    """Writes entries to a file in a thread of its own: :meth:`write` never waits for a disk.

    Several processes may write to one file: each write is whole lines, appended.

    Args:
        path: of the first file; directories are made. Its name gets a number where it becomes longer than *max_bytes*.
        max_bytes: of a file.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._number = 1
        self._waiting: deque[bytes] = deque()
        self._taken: list[bytes] = []
        self._lost = 0
        # Of all lines so far. Each is written by one thread only.
        self._bytes_taken_in = self._bytes_written = 0
        self._ending = b""
        self._looked_at: Path | None = None
        self._complained = float("-inf")
        self._encode = msgspec.json.Encoder().encode
        self._wake = threading.Event()
        with suppress(OSError):  # told with the first line. Not made anew: where a disk was unmounted, nothing belongs
            make_folders(path.parent)
            os.close(opener(str(path), os.O_WRONLY | os.O_CREAT))  # a crawl without drops has a journal too
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="crawler-dedup journal", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Add a line; it is on its way to the disk within :data:`FLUSH_SECONDS`."""
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
        """Write what waits. Takes a few seconds at most; what a full disk does not take is lost."""
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
        """Append what waits; what cannot be written goes on waiting."""
        while self._waiting:
            self._taken.append(self._waiting.popleft())
        if not self._taken:
            return
        try:
            self._append(b"".join(self._taken))
        except OSError as error:
            if time.monotonic() - self._complained > _COMPLAINT_SECONDS:
                self._complained = time.monotonic()
                logger.warning("The journal %s cannot be written: %s", self._path, error)
            return
        self._bytes_written += sum(map(len, self._taken))
        self._taken.clear()

    def _append(self, content: bytes) -> None:
        path = self._file()
        with open(path, "ab+", buffering=0, opener=opener) as file:
            if path != self._looked_at:
                self._ending, self._looked_at = _ending_of(file), path
            content = self._ending + content
            written = file.write(content)
            self._ending = b""
            if written < len(content):  # a full disk has taken half a line: the next one begins anew
                self._ending = b"\n"
                raise OSError(f"{written} of {len(content)} bytes were written")

    def _file(self) -> Path:
        """The file to append to: the first one with room."""
        while True:
            path = Path(numbered(str(self._path), self._number))
            try:
                if path.stat().st_size < self._max_bytes:
                    return path
            except FileNotFoundError:
                return path
            self._number += 1


def _ending_of(file: FileIO) -> bytes:
    """What ends the last line: a power cut or a full disk may have left half a line."""
    if not file.seek(0, SEEK_END):
        return b""
    file.seek(-1, SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"
