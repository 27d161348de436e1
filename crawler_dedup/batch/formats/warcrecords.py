"""Split a WARC file (ISO 28500) into its records, also behind damaged records, and those that are written in another way."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from io import BytesIO
from typing import IO, cast
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812

from crawler_dedup.batch.formats.gzipmembers import MAGIC, GzipMembers
from crawler_dedup.batch.formats.http import END, Fields, parse_fields
from crawler_dedup.system.compression import decompress, zstd

DAMAGE = (OSError, ValueError, EOFError, BadZipFile, ZlibError, zstd.ZstdError)
"""Exceptions that reading a damaged file raises."""

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
_LONGEST_DICTIONARY = 16 << 20
_HELD = 32 << 20  # bytes of a record that are held until it is certain where the record ends
_LONGEST_HEAD = 32_000  # FastWARC reads hardly more
_PIECE = 1 << 16
_FIRST_LINE_PATTERN = rb"WARC/\d[\d.]*[ \t]*\r?\n"
_FIRST_LINE = re.compile(_FIRST_LINE_PATTERN, re.IGNORECASE)
_START_PATTERN = _FIRST_LINE_PATTERN + rb"[\w!#$%&'*+.^`|~-]+[ \t]*:"  # with the name of any field
_START = re.compile(_START_PATTERN, re.IGNORECASE)
_END_OR_START = re.compile(rb"(" + END.pattern + rb")|" + _START_PATTERN, re.IGNORECASE)
_LONGEST_START = 100
_EMPTY_LINES = re.compile(rb"[\r\n]*")
_BETWEEN_RECORDS = re.compile(rb"[\r\n]*(?:\Z|WARC/\d)", re.IGNORECASE)
_AFTER = 64  # bytes after a record that show whether it ends there


class Record:
    """A record of a WARC file.

    Attributes:
        head: its head, up to and with the empty line.
        fields: its named fields.
        length: length of its content.
    """

    def __init__(self, head: bytes, fields: Fields, length: int, content: BytesIO | _LongContent, cut: bool) -> None:
        self.head = head
        self.fields = fields
        self.length = length
        self._content = content
        self._is_cut_off = cut

    def read(self, size: int) -> bytes:
        """Return the next bytes of the content."""
        return self._content.read(size)

    @property
    def is_cut_off(self) -> bool:
        """Whether content is missing. For a very long record, valid only after its content has been read."""
        return self._is_cut_off or (isinstance(self._content, _LongContent) and self._content.is_cut_off)


class _LongContent:
    """The content of a record that is too long to be held."""

    def __init__(self, window: _Window, length: int) -> None:
        self._window = window
        self._missing = length
        self.is_cut_off = False

    def read(self, size: int) -> bytes:
        wanted = min(size, self._missing)
        content = self._window.take(wanted)
        self._missing -= len(content)
        self.is_cut_off |= len(content) < wanted
        return content


class WarcRecords:
    """The records of an open WARC file, in their order.

    A record ends where its length says, if a record or the end of the file follows there, or else before the next record.
    What is no record is skipped. Iteration raises one of :data:`DAMAGE` if the rest of the file cannot be read at all.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._source = _open_source(file, name)
        self._window = _Window(self._source)

    @property
    def damaged(self) -> list[int]:
        """The places in the file where something is damaged or missing, as far as the file was read."""
        return sorted(set(self._source.damaged))

    def __iter__(self) -> Iterator[Record]:
        while True:
            while self._window.skip_empty_lines():
                place = self._source.place_of(self._window.position)
                head = self._take_head()
                if head is None:
                    self._source.damaged.append(place)
                    self._window.find_next_start()
                else:
                    yield from self._read_record(place, head)
            if self._window.error is not None:
                raise self._window.error
            if not self._source.resume():
                return
            self._window.is_ended = False

    def _take_head(self) -> bytes | None:
        """Take the head of a record from the window; ``None`` if none begins there, or if it has no end."""
        window = self._window
        window.fill(_LONGEST_HEAD)
        end = _END_OR_START.search(window.held, 1, _LONGEST_HEAD) if _FIRST_LINE.match(window.held) else None
        return window.take(end.end()) if end is not None and end[1] else None

    def _read_record(self, place: int, head: bytes) -> Iterator[Record]:
        """Yield the record at *place* in the file whose *head* was taken from the window."""
        fields = parse_fields(head)
        stated = fields.first("content-length") or ""
        length = int(stated) if re.fullmatch(r"\+?\d{1,18}", stated) else None
        end = b"\r\n\r\n" if b"\r\n" in head else b"\n\n"
        if length is None or not self._ends_after(length, end):
            self._source.damaged.append(place)
            length, is_cut_off = self._find_end(length, end)
            yield Record(head, fields, length, BytesIO(self._window.take(length)), is_cut_off)
        elif length <= _HELD:
            yield Record(head, fields, length, BytesIO(self._window.take(length)), False)
        else:
            content = _LongContent(self._window, length)
            yield Record(head, fields, length, content, False)
            while content.read(_PIECE):
                pass
            if content.is_cut_off or not self._ends_after(0, end):
                self._source.damaged.append(place)

    def _ends_after(self, length: int, end: bytes) -> bool:
        """Return whether a record may end after *length* bytes of the window: by its *end*, or because another follows."""
        window = self._window
        if window.fill(min(length, _HELD)) and length > _HELD:
            try:
                following = self._source.look_ahead(length - len(window.held), _AFTER)
            except EOFError:
                return False
            if following is None:
                return True
        elif length > len(window.held):
            return False
        else:
            window.fill(length + _AFTER)
            following = bytes(window.held[length : length + _AFTER])
        return following.startswith(end) or _BETWEEN_RECORDS.match(following) is not None

    def _find_end(self, stated: int | None, end: bytes) -> tuple[int, bool]:
        """Return how long the content in the window is, whose *stated* length is wrong, and whether it is cut off."""
        window = self._window
        window.fill(_HELD)
        following = _START.search(window.held)
        if following is None and not window.is_ended:
            return min(stated or 0, len(window.held)), True
        length = following.start() if following else len(window.held)
        has_end = window.held.endswith(end, 0, length)
        is_cut_off = not has_end and (stated is None or length < stated)
        return length - (len(end) if has_end else 0), is_cut_off


class _Window:
    """The bytes of a source that were read and not taken yet.

    Attributes:
        held: these bytes.
        position: place of the first of them in the content of the source.
        is_ended: whether all of the present part was read.
        error: the error for which nothing more can be read.
    """

    def __init__(self, source: GzipMembers | _Plain) -> None:
        self._source = source
        self.held = bytearray()
        self.position = 0
        self.is_ended = False
        self.error: Exception | None = None

    def fill(self, count: int) -> bool:
        """Read until *count* bytes are held; return ``False`` if the present part ends before."""
        while len(self.held) < count and not self.is_ended:
            try:
                piece = self._source.read(_PIECE)
            except DAMAGE as error:
                self.error, piece = error, b""
            self.held += piece
            self.is_ended = not piece
        return len(self.held) >= count

    def take(self, count: int) -> bytes:
        """Remove up to *count* bytes, and return them."""
        self.fill(count)
        taken = bytes(self.held[:count])
        del self.held[:count]
        self.position += len(taken)
        return taken

    def skip_empty_lines(self) -> bool:
        """Skip ends of lines; return whether something else follows in the present part."""
        while self.fill(1):
            match = _EMPTY_LINES.match(self.held)
            if match is None or match.end() == 0:
                return True
            self.take(match.end())
        return False

    def find_next_start(self) -> None:
        """Skip bytes, at least one, up to the next record of the present part."""
        while True:
            self.fill(_PIECE)
            start = _START.search(self.held, 1)
            if start or self.is_ended:
                self.take(start.start() if start else len(self.held))
                return
            self.take(len(self.held) - _LONGEST_START)


class _Plain:
    """The content of a file as a single part, with the methods of :class:`GzipMembers`."""

    def __init__(self, file: IO[bytes], can_seek: bool) -> None:
        self.damaged: list[int] = []
        self.read = file.read
        self._file = file
        self._can_seek = can_seek

    def resume(self) -> bool:
        return False

    def place_of(self, position: int) -> int:
        return position

    def look_ahead(self, offset: int, size: int) -> bytes | None:
        if not self._can_seek:
            return None
        place = self._file.tell()
        try:
            if place + offset > self._file.seek(0, os.SEEK_END):
                raise EOFError
            self._file.seek(place + offset)
            return self._file.read(size)
        finally:
            self._file.seek(place)


def _open_source(file: IO[bytes], name: str) -> GzipMembers | _Plain:
    """Return the content of *file*, which is at its start."""
    start = file.read(len(_ZSTD_MAGIC))
    file.seek(0)
    is_damaged_gzip = name.lower().endswith(".gz") and start != b"WARC"
    if start.startswith(MAGIC) or is_damaged_gzip:
        return GzipMembers(file)
    if start in (_ZSTD_MAGIC, _ZSTD_DICTIONARY) or name.lower().endswith(".zst"):
        return _Plain(cast("IO[bytes]", zstd.ZstdFile(file, zstd_dict=_read_dictionary(file))), can_seek=False)
    return _Plain(file, can_seek=file.seekable())


def _read_dictionary(file: IO[bytes]) -> zstd.ZstdDict | None:
    """Return the dictionary at the start of *file*, which the frames behind it need; ``None`` if there is none.

    As in "Zstandard compression of WARC files 1.0": a skippable frame, whose content may be compressed.
    """
    magic, length = struct.unpack("<4sI", file.read(8).ljust(8, b"\0"))
    if magic != _ZSTD_DICTIONARY or length > _LONGEST_DICTIONARY:
        file.seek(0)
        return None
    content = file.read(length)
    return zstd.ZstdDict(decompress(content, _LONGEST_DICTIONARY) if content.startswith(_ZSTD_MAGIC) else content)
