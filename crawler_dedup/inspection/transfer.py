"""An index as one portable file: to archive it, to merge it into another, to read it in a batch job.

``docs/reference/export.md`` describes the format: a line, and a Zstandard stream of msgpack values. The checksum is at
the end of the stream, so a reader must read all of it before it relies on the content.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from crawler_dedup.errors import ExportUnreadable
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
from crawler_dedup.system.compression import FrameDamaged, translate_error, zstd
from crawler_dedup.system.files import open_replacement

FORMAT = 11
"""Version of the files."""

_FIRST_LINE = b"crawler-dedup export %d %20d\n"  # format, and number of records
_FIRST_LINE_PATTERN = re.compile(rb"crawler-dedup export (\d{1,9}) +(\d{1,20})\n")
_LENGTH = struct.Struct("<I")
# A file is not trusted: each of its values has a limit that is checked before memory is taken for it.
_MAX_HEADER = 1 << 20
_MAX_VALUE = 1 << 26
_MAX_RATIO = (
    4  # to the size of the file, of a longer value: a record is long because of a text, which is compressed already
)

_MAX_WINDOW_BITS = 23

_PAGES, _SITES, _OVERRIDES = range(3)  # the parts of an export

_Value = TypeVar("_Value")


def write_export(
    path: Path,
    header: Header,
    kept: Iterable[Record],
    sites: Iterable[StoredSite] = (),
    overrides: Iterable[Override] = (),
) -> int:
    """Write an export and return the number of records. An existing file is replaced once the export is complete."""
    total = 0
    with open_replacement(path) as file:
        file.write(_FIRST_LINE % (FORMAT, 0))
        with zstd.ZstdFile(file, "w", options={zstd.CompressionParameter.checksum_flag: 1}) as stream:
            _write(stream, msgspec.msgpack.encode(header))
            for record in kept:
                _write(stream, records.encode(record))
                total += 1
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
    >>> from crawler_dedup.inspection.transfer import Header, write_export
    >>> write_export(Path("pages.dedup"), Header(11, {}, {}), [])  # as `crawler-dedup index export` does
    0
    >>> [record.page.url for record in Export(Path("pages.dedup")).records()]
    []
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        values = self._values()
        self.header = self._decode(next(values), Header, "its header")
        values.close()

    def __len__(self) -> int:
        """Return the number of records as the export states it."""
        return min(self._total, sys.maxsize)

    def records(self) -> Iterator[Record]:
        """Yield the records of the pages, in ascending order of their numbers in the index."""
        count = 0
        for value in self._values_in(_PAGES):
            count += 1
            try:
                yield records.decode(value)
            except msgspec.DecodeError as error:
                raise self.error(f"a record is damaged ({error})") from error
        if count != self._total:
            raise self.error(f"it has {count:,} records, and should have {self._total:,}")

    def sites(self, is_readable: SiteCheck = lambda _: True) -> Iterator[StoredSite]:
        """Yield what was known about the sites of the pages. By default its content is not checked."""
        for value in self._values_in(_SITES):
            site = self._decode(value, StoredSite, "what is known of a site")
            if not is_readable(site):
                raise self.error("the profile of a site is damaged")
            yield site

    def overrides(self) -> Iterator[Override]:
        """Yield the overrides."""
        for value in self._values_in(_OVERRIDES):
            override = self._decode(value, Override, "an override")
            try:
                checked = make_override(override.kind, override.urls, override.since)
            except ValueError as error:
                raise self.error(f"an override is damaged ({error})") from error
            yield msgspec.structs.replace(checked, restorations=override.restorations)

    def _values_in(self, wanted: int) -> Iterator[bytes]:
        """Yield the values of a part of the export, and check that there are all parts: each begins with an empty value."""
        values, part = self._values(), _PAGES
        next(values)
        for value in values:
            if value:
                if part == wanted:
                    yield value
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
                with _decompress(file) as stream:
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

    def error(self, reason: str) -> ExportUnreadable:
        """Make the error that the file cannot be read for this *reason*."""
        return ExportUnreadable(f"{self.path} cannot be read as an export: {reason}.")


def _write(stream: zstd.ZstdFile, value: bytes) -> None:
    stream.write(_LENGTH.pack(len(value)))
    stream.write(value)


@contextmanager
def _decompress(file: IO[bytes]) -> Iterator[zstd.ZstdFile]:
    """Open a stream that reads the content of the frames in *file*. Takes little memory beside what is read.

    Raises:
        FrameDamaged: a frame is damaged or cut off; raised where it is read.
        MemoryError: there is not enough memory.
    """
    try:
        with zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_BITS}) as stream:
            yield stream
    except zstd.ZstdError as error:
        raise translate_error(error) from error
    except EOFError as error:
        raise FrameDamaged("it is cut off") from error


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
    kept = pages.records(advance, handled_only=True, count_unreadable=count_unreadable)
    with closing(kept), closing(pages.sites()) as sites:
        return write_export(file, pages.header, kept, filter(is_readable, sites), pages.list_overrides())


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
        checked: called with 1 for each record that was read the first time.
        advance: called with 1 for each record that was read to be filed.
        is_readable: returns whether what is known about a site can be read; by default this is assumed.

    Returns:
        The number of pages in the export, and how many of them are new.

    Raises:
        ExportUnreadable: the file is damaged.
        IndexMismatch: the index was made with another configuration.
        IndexUnusable: it cannot be opened.
    """
    total = sum(1 for _ in _counted(export.records(), checked))
    for _ in export.sites(is_readable):
        pass
    header, overrides = export.header, list(export.overrides())
    filing = filing_of(header.spec)
    with closing(open_or_create_index(location, header.spec, header.libraries)) as pages:
        new = pages.merge(_counted(export.records(), advance), filing)
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


def _counted(read: Iterator[Record], advance: Advance) -> Iterator[Record]:
    for record in read:
        yield record
        advance(1)
