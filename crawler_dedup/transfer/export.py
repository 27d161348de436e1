"""An index as one portable file: to archive it, to merge it into another, to read it in a batch job.

``docs/reference/export.md`` describes the format: a line, and a Zstandard stream of msgpack values. The checksum is at
the end of the stream, so a reader must read all of it before it relies on the content.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import msgspec
import numpy as np

from crawler_dedup.errors import ExportUnreadable
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.overrides import Override, make_override
from crawler_dedup.index.profiles import StoredSite
from crawler_dedup.system.compression import FrameDamaged, decompress_stream, zstd
from crawler_dedup.system.files import open_replacement

FORMAT = 9
"""Version of the files."""
MAX_BLOCK_ROWS = 1 << 16
"""Maximum number of rows of a block."""

_FIRST_LINE = b"crawler-dedup export %d %20d\n"  # format, and number of signatures
_FIRST_LINE_PATTERN = re.compile(rb"crawler-dedup export (\d{1,9}) +(\d{1,20})\n")
_LENGTH = struct.Struct("<I")
_ROWS_BYTES = 1 << 25
# A file is not trusted: each of its values has a limit that is checked before memory is taken for it.
_MAX_HEADER = 1 << 20
_MAX_VALUE = 1 << 26
_MAX_RATIO = (
    4  # to the size of the file, of a longer value: a row is long because of a text, which is compressed already
)

_PAGES, _SITES, _OVERRIDES = range(3)  # the parts of an export

_Value = TypeVar("_Value")


class ExportBlock(NamedTuple):
    """Up to 65,536 signatures, ascending, and for each the rest of its record (msgpack)."""

    signatures: Numbers
    rows: Sequence[bytes]


class _Packed(msgspec.Struct, array_like=True):
    signatures: bytes
    rows: Annotated[list[bytes], msgspec.Meta(max_length=MAX_BLOCK_ROWS)]


def write_export(
    path: Path,
    header: Header,
    blocks: Iterable[ExportBlock],
    sites: Iterable[StoredSite] = (),
    overrides: Iterable[Override] = (),
) -> int:
    """Write an export and return the number of signatures. An existing file is replaced once the export is complete."""
    total = 0
    with open_replacement(path) as file:
        file.write(_FIRST_LINE % (FORMAT, 0))
        with zstd.ZstdFile(file, "w", options={zstd.CompressionParameter.checksum_flag: 1}) as stream:
            _write(stream, msgspec.msgpack.encode(header))
            for block in chain.from_iterable(map(_pieces, blocks)):
                _write(stream, msgspec.msgpack.encode(_Packed(_pack(block.signatures), list(block.rows))))
                total += len(block.signatures)
            for part in (sites, overrides):
                _write(stream, b"")
                for value in part:
                    _write(stream, msgspec.msgpack.encode(value))
        file.seek(0)
        file.write(_FIRST_LINE % (FORMAT, total))
    return total


class Export:
    """An export to read.

    Attributes:
        header: header of the index that was exported.

    Raises:
        ExportUnreadable: the file is damaged or not an export; also raised while it is read.

    >>> from pathlib import Path
    >>> from crawler_dedup.transfer.export import Header, write_export
    >>> write_export(Path("pages.dedup"), Header(10, {}, {}), [])  # as `crawler-dedup index export` does
    0
    >>> [block.signatures for block in Export(Path("pages.dedup")).blocks()]
    []
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        values = self._values()
        self.header = self._decode(next(values), Header, "its header")
        values.close()

    def __len__(self) -> int:
        """Return the number of signatures as the export states it."""
        return min(self._total, sys.maxsize)

    def blocks(self) -> Iterator[ExportBlock]:
        """Yield the blocks in order."""
        count = 0
        for part, value in self._parts():
            if part == _PAGES:
                block = self._unpack_block(value)
                count += len(block.signatures)
                yield block
        if count != self._total:
            raise self._error(f"it has {count:,} signatures, and should have {self._total:,}")

    def sites(self) -> Iterator[StoredSite]:
        """Yield what was known about the sites of the pages. Its content is not checked."""
        for part, value in self._parts():
            if part == _SITES:
                yield self._decode(value, StoredSite, "what is known of a site")

    def overrides(self) -> Iterator[Override]:
        """Yield the overrides."""
        for part, value in self._parts():
            if part == _OVERRIDES:
                override = self._decode(value, Override, "an override")
                try:
                    checked = make_override(override.kind, override.urls, override.since)
                except ValueError as error:
                    raise self._error(f"an override is damaged ({error})") from error
                yield msgspec.structs.replace(checked, restorations=override.restorations)

    def _parts(self) -> Iterator[tuple[int, bytes]]:
        """Yield the values after the header, and for each the number of its part: each part begins with an empty value."""
        values, part = self._values(), _PAGES
        next(values)
        for value in values:
            if value:
                yield part, value
            elif part == _OVERRIDES:
                raise self._error("it is damaged")
            else:
                part += 1
        if part != _OVERRIDES:
            raise self._error("it is cut off")

    def _values(self) -> Generator[bytes, None, None]:
        """Yield all values, of which the first is the header."""
        with self.path.open("rb") as file:
            line = _FIRST_LINE_PATTERN.fullmatch(file.readline(64))
            if line is None:
                raise self._error("it is not an export of an index")
            if (number := int(line[1])) != FORMAT:
                raise self._error(f"its format is {number}, this version reads {FORMAT}")
            self._total = int(line[2])
            try:
                limit = max(_MAX_VALUE, _MAX_RATIO * os.fstat(file.fileno()).st_size)
                with decompress_stream(file) as stream:
                    yield self._read(stream, _MAX_HEADER)
                    while stream.peek(1):
                        yield self._read(stream, limit)
            except FrameDamaged as error:
                raise self._error(f"it is damaged ({error})") from error

    def _read(self, stream: zstd.ZstdFile, limit: int) -> bytes:
        head = stream.read(_LENGTH.size)
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
        if length > limit:
            raise self._error("a part is too long")
        content = stream.read(length)
        if len(head) < _LENGTH.size or len(content) < length:
            raise self._error("it is cut off")
        return content

    def _decode(self, value: bytes, kind: type[_Value], name: str) -> _Value:
        try:
            return msgspec.msgpack.decode(value, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._error(f"{name} is damaged ({error})") from error

    def _unpack_block(self, value: bytes) -> ExportBlock:
        packed = self._decode(value, _Packed, "a block")
        count, rest = divmod(len(packed.signatures), 8)
        if count > MAX_BLOCK_ROWS:
            raise self._error("a block is too large")
        if rest or len(packed.rows) != count:
            raise self._error("a block has columns of different lengths")
        signatures = _unpack(packed.signatures)
        if (signatures[1:] < signatures[:-1]).any():
            raise self._error("a block is not sorted")
        return ExportBlock(signatures, packed.rows)

    def _error(self, reason: str) -> ExportUnreadable:
        return ExportUnreadable(f"{self.path} cannot be read as an export: {reason}.")


def _pieces(block: ExportBlock) -> Iterator[ExportBlock]:
    """Cut *block* into blocks whose rows are neither too many nor too long for one value."""
    start = size = 0
    for end, row in enumerate(block.rows):
        size += len(row)
        if (size > _ROWS_BYTES or end - start == MAX_BLOCK_ROWS) and end > start:
            yield ExportBlock(block.signatures[start:end], block.rows[start:end])
            start, size = end, len(row)
    yield ExportBlock(block.signatures[start:], block.rows[start:])


def _write(stream: zstd.ZstdFile, value: bytes) -> None:
    stream.write(_LENGTH.pack(len(value)))
    stream.write(value)


def _pack(signatures: Numbers) -> bytes:
    """Pack ascending signatures as differences, bytes of equal significance together: the high bytes are mostly zero."""
    differences = np.diff(signatures, prepend=np.uint64(0)).astype("<u8")
    return differences.view(np.uint8).reshape(-1, 8).T.tobytes()


def _unpack(packed: bytes) -> Numbers:
    differences = np.frombuffer(packed, dtype=np.uint8).reshape(8, -1).T.copy().view("<u8").ravel()
    return np.cumsum(differences, dtype=np.uint64)
