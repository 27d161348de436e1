"""An index as one portable file: to archive it, to merge it into another, to read it in a batch job.

``docs/export.md`` describes the format. Signatures are stored as in §3.2 of Manku, Jain and Das Sarma (WWW 2007): sorted,
each as the difference from its predecessor. Instead of the bit code of that paper, bytes of equal significance are grouped
and compressed with zstd; the high bytes are mostly zero.
"""

from __future__ import annotations

import os
import reprlib
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Annotated, NamedTuple

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.errors import ExportUnreadable
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.profiles import StoredSite
from crawler_dedup.system.compression import FrameDamaged, FrameTooLarge, compress, decompress
from crawler_dedup.system.files import open_replacement

FORMAT = 6
"""Version of the files."""
MAX_BLOCK_ROWS = 1 << 16
"""Maximum number of rows of a block."""

_MAGIC = b"crawler-dedup export\n"
_FRAME = struct.Struct("<cIQ")
_HEADER, _BLOCK, _SITES, _END = b"H", b"B", b"S", b"E"
_ROWS_BYTES = 1 << 26
# A file is not trusted: each of its parts has a limit that is checked before memory is taken for it.
_LONGEST = {_HEADER: 1 << 20, _BLOCK: 1 << 28, _SITES: 1 << 23, _END: 8}
_MAX_UNPACKED = (
    _ROWS_BYTES + MAX_BLOCK_ROWS * (8 + 5) + 64
)  # the rows, a signature and a length for each of them, and the outer structure
_SITES_BYTES = 1 << 22
_MAX_SITES_UNPACKED = 1 << 23  # the last site of a frame may exceed _SITES_BYTES by 400 KB
_MAX_RATIO = 4  # of a longer block: its single row is long because of a text, which is compressed already
_LEVEL = 3


class ExportBlock(NamedTuple):
    """Up to 65,536 signatures, ascending, and for each the rest of its record (msgpack); no rows for bare signatures."""

    signatures: Numbers
    rows: Sequence[bytes]


class _Packed(msgspec.Struct, array_like=True):
    count: int
    signatures: bytes
    rows: Annotated[list[bytes], msgspec.Meta(max_length=MAX_BLOCK_ROWS)]


class _FileHeader(msgspec.Struct):
    export: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
    index: Header


def write_export(path: Path, header: Header, blocks: Iterable[ExportBlock], sites: Iterable[StoredSite] = ()) -> int:
    """Write an export and return the number of signatures. An existing file is replaced once the export is complete."""
    total = 0
    with open_replacement(path) as file:
        file.write(_MAGIC)
        _write_frame(file, _HEADER, msgspec.json.encode(_FileHeader(FORMAT, header)))
        for block in chain.from_iterable(map(_pieces, blocks)):
            packed = _Packed(len(block.signatures), _pack(block.signatures), list(block.rows))
            _write_frame(file, _BLOCK, compress(msgspec.msgpack.encode(packed), _LEVEL))
            total += packed.count
        for batch in _batches(sites):
            _write_frame(file, _SITES, compress(msgspec.msgpack.encode(batch), _LEVEL))
        _write_frame(file, _END, total.to_bytes(8, "little"))
    return total


class Export:
    """An export to read.

    Attributes:
        header: header of the index that was exported.

    Raises:
        ExportUnreadable: the file is damaged or no export; also raised while it is read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self.header = self._read_header(file).index

    def __len__(self) -> int:
        """Return the number of signatures as the export states it; 0 if its end is damaged."""
        return min(self._total() or 0, sys.maxsize)

    def _total(self) -> int | None:
        with self.path.open("rb") as file:
            end = _FRAME.size + 8
            if file.seek(0, os.SEEK_END) < end:
                return None
            file.seek(-end, os.SEEK_END)
            head, total = file.read(_FRAME.size), file.read(8)
        kind, _, digest = _FRAME.unpack(head)
        return int.from_bytes(total, "little") if digest == xxh3_64_intdigest(kind + total) else None

    def blocks(self) -> Iterator[ExportBlock]:
        """Yield the blocks in order."""
        total, expected = 0, self._total()
        for kind, content in self._parts():
            if kind == _BLOCK:
                block = self._unpack_block(content)
                total += len(block.signatures)
                if expected is not None and total > expected:
                    raise self._error("its end does not fit")
                yield block
            if kind == _END and content != total.to_bytes(8, "little"):
                raise self._error("its end does not fit")

    def sites(self) -> Iterator[StoredSite]:
        """Yield what was known about the sites of the pages. Its content is not checked."""
        for kind, content in self._parts():
            if kind == _SITES:
                yield from self._unpack_sites(content)

    def _parts(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (kind, content) of each part after the header; the last part marks the end of the file."""
        with self.path.open("rb") as file:
            self._read_header(file)
            kind = _HEADER
            while kind != _END:
                kind, content = self._read_frame(file)
                if kind == _HEADER:
                    raise self._error("an unknown part")
                yield kind, content
            if file.read(1):
                raise self._error("its end does not fit")

    def _read_header(self, file: IO[bytes]) -> _FileHeader:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise self._error("it is not an export of an index")
        kind, content = self._read_frame(file)
        try:
            header = msgspec.json.decode(content, type=_FileHeader) if kind == _HEADER else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            header = None
        if header is None:
            raise self._error("its header is damaged")
        if header.export != FORMAT:
            raise self._error(f"its format is {header.export}, this version reads {FORMAT}")
        if header.index.kind not in ("pages", "signatures"):
            raise self._error(f"it holds {reprlib.repr(header.index.kind)}, which this version does not know")
        return header

    def _read_frame(self, file: IO[bytes]) -> tuple[bytes, bytes]:
        head = file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            raise self._error("it is cut off")
        kind, length, digest = _FRAME.unpack(head)
        if kind not in _LONGEST:
            raise self._error("an unknown part")
        if length > _LONGEST[kind]:
            raise self._error("a part is too long")
        if length > os.fstat(file.fileno()).st_size - file.tell():
            raise self._error("it is cut off")
        content = file.read(length)
        if xxh3_64_intdigest(kind + content) != digest:
            raise self._error("a part is damaged")
        return kind, content

    def _unpack_block(self, content: bytes) -> ExportBlock:
        try:
            raw = decompress(content, max(_MAX_UNPACKED, _MAX_RATIO * len(content)))
            packed = msgspec.msgpack.decode(raw, type=_Packed)
        except FrameTooLarge as error:
            raise self._error("a block is too large") from error
        except (FrameDamaged, msgspec.DecodeError, RecursionError) as error:
            raise self._error(f"a block is damaged ({error})") from error
        if packed.count > MAX_BLOCK_ROWS:
            raise self._error("a block is too large")
        if len(packed.signatures) != 8 * packed.count or len(packed.rows) not in (0, packed.count):
            raise self._error("a block has columns of different lengths")
        signatures = _unpack(packed.signatures)
        if (signatures[1:] < signatures[:-1]).any():
            raise self._error("a block is not sorted")
        return ExportBlock(signatures, packed.rows)

    def _unpack_sites(self, content: bytes) -> list[StoredSite]:
        try:
            return msgspec.msgpack.decode(decompress(content, _MAX_SITES_UNPACKED), type=list[StoredSite])
        except (FrameDamaged, msgspec.DecodeError, RecursionError) as error:
            raise self._error(f"what is known of sites is damaged ({error})") from error

    def _error(self, reason: str) -> ExportUnreadable:
        return ExportUnreadable(f"{self.path} cannot be imported: {reason}.")


def _pieces(block: ExportBlock) -> Iterator[ExportBlock]:
    """Cut *block* into blocks whose rows are neither too many nor too long for one frame."""
    start = size = 0
    for end, row in enumerate(block.rows or repeat(b"", len(block.signatures))):
        size += len(row)
        if (size > _ROWS_BYTES or end - start == MAX_BLOCK_ROWS) and end > start:
            yield ExportBlock(block.signatures[start:end], block.rows[start:end])
            start, size = end, len(row)
    yield ExportBlock(block.signatures[start:], block.rows[start:])


def _batches(sites: Iterable[StoredSite]) -> Iterator[list[StoredSite]]:
    """Cut *sites* into lists that are not too long for one frame."""
    batch: list[StoredSite] = []
    size = 0
    for site in sites:
        batch.append(site)
        size += site.size
        if size >= _SITES_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write_frame(file: IO[bytes], kind: bytes, content: bytes) -> None:
    file.write(_FRAME.pack(kind, len(content), xxh3_64_intdigest(kind + content)))
    file.write(content)


def _pack(signatures: Numbers) -> bytes:
    differences = np.diff(signatures, prepend=np.uint64(0)).astype("<u8")
    return differences.view(np.uint8).reshape(-1, 8).T.tobytes()


def _unpack(packed: bytes) -> Numbers:
    differences = np.frombuffer(packed, dtype=np.uint8).reshape(8, -1).T.copy().view("<u8").ravel()
    return np.cumsum(differences, dtype=np.uint64)
