"""An index as one portable file: to archive it, to merge it into another, to read it in a batch job.

``docs/reference/export.md`` describes the format: a line, and a Zstandard stream of msgpack values. The checksum is at
the end of the stream, so a reader must read all of it before it relies on the content.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import msgspec
import numpy as np

from crawler_dedup.errors import ExportUnreadable
from crawler_dedup.hashes import Numbers
from crawler_dedup.index import records
from crawler_dedup.index.header import Header, require_same_spec
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import open_or_create_index
from crawler_dedup.index.overrides import Override, make_override
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import Record
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.system.compression import FrameDamaged, decompress_stream, zstd
from crawler_dedup.system.files import open_replacement

FORMAT = 10
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
    >>> from crawler_dedup.transfer import Header, write_export
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
            raise self.error(f"it has {count:,} signatures, and should have {self._total:,}")

    def sites(self, is_readable: SiteCheck = lambda _: True) -> Iterator[StoredSite]:
        """Yield what was known about the sites of the pages. By default its content is not checked."""
        for part, value in self._parts():
            if part == _SITES:
                site = self._decode(value, StoredSite, "what is known of a site")
                if not is_readable(site):
                    raise self.error("the profile of a site is damaged")
                yield site

    def overrides(self) -> Iterator[Override]:
        """Yield the overrides."""
        for part, value in self._parts():
            if part == _OVERRIDES:
                override = self._decode(value, Override, "an override")
                try:
                    checked = make_override(override.kind, override.urls, override.since)
                except ValueError as error:
                    raise self.error(f"an override is damaged ({error})") from error
                yield msgspec.structs.replace(checked, restorations=override.restorations)

    def _parts(self) -> Iterator[tuple[int, bytes]]:
        """Yield the values after the header, and for each the number of its part: each part begins with an empty value."""
        values, part = self._values(), _PAGES
        next(values)
        for value in values:
            if value:
                yield part, value
            elif part == _OVERRIDES:
                raise self.error("it is damaged")
            else:
                part += 1
        if part != _OVERRIDES:
            raise self.error("it is cut off")

    def _values(self) -> Generator[bytes, None, None]:
        """Yield all values, of which the first is the header."""
        with self.path.open("rb") as file:
            line = _FIRST_LINE_PATTERN.fullmatch(file.readline(64))
            if line is None:
                raise self.error("it is not an export of an index")
            if (number := int(line[1])) != FORMAT:
                raise self.error(f"its format is {number}, this version reads {FORMAT}")
            self._total = int(line[2])
            try:
                limit = max(_MAX_VALUE, _MAX_RATIO * os.fstat(file.fileno()).st_size)
                with decompress_stream(file) as stream:
                    yield self._read(stream, _MAX_HEADER)
                    while stream.peek(1):
                        yield self._read(stream, limit)
            except FrameDamaged as error:
                raise self.error(f"it is damaged ({error})") from error

    def _read(self, stream: zstd.ZstdFile, limit: int) -> bytes:
        head = stream.read(_LENGTH.size)
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
        if length > limit:
            raise self.error("a part is too long")
        content = stream.read(length)
        if len(head) < _LENGTH.size or len(content) < length:
            raise self.error("it is cut off")
        return content

    def _decode(self, value: bytes, kind: type[_Value], name: str) -> _Value:
        try:
            return msgspec.msgpack.decode(value, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.error(f"{name} is damaged ({error})") from error

    def _unpack_block(self, value: bytes) -> ExportBlock:
        packed = self._decode(value, _Packed, "a block")
        count, rest = divmod(len(packed.signatures), 8)
        if count > MAX_BLOCK_ROWS:
            raise self.error("a block is too large")
        if rest or len(packed.rows) != count:
            raise self.error("a block has columns of different lengths")
        signatures = _unpack(packed.signatures)
        if (signatures[1:] < signatures[:-1]).any():
            raise self.error("a block is not sorted")
        return ExportBlock(signatures, packed.rows)

    def error(self, reason: str) -> ExportUnreadable:
        """Make the error that the file cannot be read for this *reason*."""
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


FilingOf = Callable[[Mapping[str, str]], Filing]
"""Returns the :class:`Filing` of an index, given the spec in its header."""

SiteCheck = Callable[[StoredSite], bool]
"""Returns whether what is known about a site can be read; the index itself cannot check that."""


def export_index(
    pages: Index,
    file: Path,
    advance: Advance,
    *,
    count_unreadable: Advance = ignore_progress,
    is_readable: SiteCheck = lambda _: True,
) -> int:
    """Write the index *pages* to *file* and return the number of pages. What cannot be read is left out.

    Args:
        count_unreadable: called with 1 for each record that cannot be read.
        is_readable: returns whether what is known about a site can be read: if not, an import would refuse the export.
    """
    # They are closed before the index: LMDB before 3.0 raises an error if a transaction of a closed index ends.
    with closing(_read_pages(pages, count_unreadable)) as blocks, closing(pages.sites()) as sites:
        readable = filter(is_readable, sites)
        counted = _counted(blocks, advance)
        return write_export(file, pages.read_header(), counted, readable, pages.list_overrides())


def import_index(
    export: Export,
    location: Location,
    filing_of: FilingOf,
    checked: Advance,
    advance: Advance,
    *,
    is_readable: SiteCheck = lambda _: True,
) -> tuple[int, int]:
    """Merge *export* into the index at *location*, which is created if there is none.

    Pages that the index has already stay as they are, and no pages are compared. If both know a site, the counts of more
    pages are kept. The whole file is read before anything is written, so that a damaged file changes nothing.

    Args:
        filing_of: returns the filing of pages, given the spec in the header of the export.
        checked: called with the numbers of rows that were read the first time.
        advance: called with the numbers of rows that were filed.
        is_readable: returns whether what is known about a site can be read; by default this is assumed.

    Returns:
        The number of pages in the export, and how many of them are new.

    Raises:
        ExportUnreadable: the file is damaged.
        IndexMismatch: the index was made with another configuration.
        IndexUnusable: it cannot be opened.
    """
    total = 0
    for block in _counted(export.blocks(), checked):
        decode_records(export, block)
        total += len(block.signatures)
    for _ in export.sites(is_readable):
        pass
    header, overrides = export.header, list(export.overrides())
    filing, new = filing_of(header.spec), 0
    with closing(open_or_create_index(location, header.spec, header.libraries)) as pages:
        for block in _counted(export.blocks(), advance):
            new += pages.merge(decode_records(export, block), filing)
        pages.merge_sites(export.sites())
        pages.add_overrides(overrides)
    return total, new


def read_profiles(path: Path, spec: Mapping[str, str], is_readable: SiteCheck) -> FrozenProfiles:
    """Read what an export knows about sites, for decisions that use it but learn nothing.

    Args:
        spec: what our signatures depend on; must equal that of the export.

    Raises:
        IndexMismatch: the export has another *spec*.
        ExportUnreadable: it cannot be read.
    """
    export = Export(path)
    require_same_spec(f"The export {path}", export.header.spec, spec)
    return FrozenProfiles.of(export.sites(is_readable))


def _read_pages(pages: Index, count_unreadable: Advance) -> Generator[ExportBlock, None, None]:
    kept = pages.records(handled_only=True, count_unreadable=count_unreadable)
    while batch := list(islice(kept, MAX_BLOCK_ROWS)):
        batch.sort(key=lambda record: record.page.signature)
        signatures = np.array([record.page.signature for record in batch], dtype=np.uint64)
        yield ExportBlock(signatures, [records.encode(_with_signature(record, 0)) for record in batch])


def decode_records(export: Export, block: ExportBlock) -> list[Record]:
    """Return the records in a block of an export. Raises :class:`ExportUnreadable`."""
    try:
        decoded = [records.decode(row) for row in block.rows]
    except msgspec.DecodeError as error:
        raise export.error(f"a record is damaged ({error})") from error
    pairs = zip(decoded, block.signatures.tolist(), strict=True)
    return [_with_signature(record, signature) for record, signature in pairs]


def _with_signature(record: Record, signature: int) -> Record:
    return msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, signature=signature))


def _counted(blocks: Iterator[ExportBlock], advance: Advance) -> Iterator[ExportBlock]:
    for block in blocks:
        yield block
        advance(len(block.signatures))
