"""Open or create an index; between crawls: count, verify, export and import it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from crawler_dedup.config import MAP_SIZE
from crawler_dedup.errors import ExportUnreadable, IndexDamaged, IndexGone, IndexMissing
from crawler_dedup.index import export, records
from crawler_dedup.index.export import Export, ExportBlock
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb.engine import DATA_FILE, damaged_error
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.lmdb.runlocks import is_run_alive
from crawler_dedup.index.location import Location, ServerAddress
from crawler_dedup.index.profiles import FrozenProfiles, SiteFigures, StoredSite
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import Record
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.system.extras import require_extra
from crawler_dedup.urls import identifier_without_credentials, without_credentials

CACHE_BYTES = 256 << 20
"""About how many bytes of an index on a server a process keeps in memory. What does not fit is read again when needed."""

if TYPE_CHECKING:
    from crawler_dedup.index.redis.index import ServerIndex

FilingOf = Callable[[Mapping[str, str]], Filing]
"""Returns the :class:`Filing` of an index, given the spec in its header."""

SiteCheck = Callable[[StoredSite], bool]
"""Returns whether what is known about a site can be read; the index itself cannot check that."""

_COUNTED = 10_000
_MERGED = 1 << 13


class PagesOfRun(NamedTuple):
    """The pages that one run filed: their number, and the time of the last one, in seconds since 1970."""

    pages: int = 0
    last_filed: int = 0


@dataclass(frozen=True)
class Contents:
    """The contents of an index of pages, counted.

    Attributes:
        scopes: scope → number of pages, most first.
        runs: number of a run → its pages.
        open_claims: pages that are not settled.
        sites: what is stored about their sites.
    """

    scopes: Mapping[str, int]
    runs: Mapping[int, PagesOfRun]
    open_claims: int
    sites: SiteFigures


def open_or_create_index(
    location: Location,
    spec: Mapping[str, str],
    libraries: Mapping[str, str],
    *,
    map_size: int = MAP_SIZE,
    cache_bytes: int = CACHE_BYTES,
    fresh: bool = False,
    frozen: FrozenProfiles | None = None,
) -> Index:
    """Open the index of pages at *location*, or create it.

    Args:
        spec: what signatures depend on; must equal the header's.
        libraries: versions that a new header gets; other versions in an existing one are only warned about.
        map_size: largest size of the file, in a directory.
        cache_bytes: how much of an index on a server this process keeps in memory.
        fresh: empty it first, unless this process has it open already.
        frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.

    Raises:
        IndexMismatch: the header has another *spec*.
        IndexUnusable: it cannot be opened.
    """
    if isinstance(location, ServerAddress):
        return _server().open(location, spec, libraries, fresh=fresh, cache_bytes=cache_bytes, frozen=frozen)
    return DirectoryIndex.open(location, spec, libraries, map_size=map_size, fresh=fresh, frozen=frozen)


def open_index(location: Location, spec: Mapping[str, str] | None = None) -> Index:
    """Open the index of pages at *location* to read it; nothing in it is changed.

    Args:
        spec: what signatures depend on; must equal the header's. ``None`` accepts any.

    Raises:
        IndexMissing: there is no index.
        IndexMismatch: the header has another *spec* or format.
        IndexUnusable: it cannot be opened.
    """
    if isinstance(location, ServerAddress):
        return _server().attach(location, spec, readonly=True)
    return DirectoryIndex.attach(location, spec, readonly=True)


def open_to_write(location: Location, spec: Mapping[str, str] | None = None, *, map_size: int = 0) -> Index:
    """Open the existing index of pages at *location*. Other arguments, and exceptions, as for :func:`open_index`.

    Args:
        map_size: largest size of the file, in a directory; 0: the size with which it was used last.
    """
    if isinstance(location, ServerAddress):
        return _server().attach(location, spec)
    return DirectoryIndex.attach(location, spec, map_size=map_size)


def _server() -> type[ServerIndex]:
    require_extra("redis", "An index on a server")
    from crawler_dedup.index.redis.index import ServerIndex  # noqa: PLC0415  (needs an extra)

    return ServerIndex


def has_index(location: Location) -> bool:
    """Return whether there is an index at *location*."""
    if isinstance(location, ServerAddress):
        return _server().is_at(location)
    file = location / DATA_FILE
    return file.is_file() and file.stat().st_size > 0


def require_index(location: Location, journals: Sequence[Path] = ()) -> None:
    """Raise an error if there is no index at *location*; none is created.

    Args:
        journals: journals in the directory of the index, which show that there was one.

    Raises:
        IndexDamaged: the file of the index is missing or empty, but there are *journals*.
        IndexMissing: there is no index.
    """
    if has_index(location):
        return
    if isinstance(location, Path) and journals:
        state = "empty" if (location / DATA_FILE).exists() else "missing"
        raise damaged_error(location, f"{DATA_FILE} is {state}, but the journal {journals[-1].name} is beside it")
    raise IndexMissing(f"There is no index in {location}.")


def require_run(location: Location, run: int) -> None:
    """Raise :class:`IndexGone` unless the directory *location* has the index in which *run* has begun.

    On a server nothing is checked: an index that was emptied there is joined again.
    """
    if isinstance(location, ServerAddress):
        return
    with suppress(OSError):  # opening it says why
        if not has_index(location) or is_run_alive(location.resolve(), run, readonly=True) is False:
            raise IndexGone(f"The index in {location} was deleted or replaced.")


def count_entries(pages: Index) -> int | None:
    """Return how many pages an index has; ``None`` if their number is damaged."""
    try:
        return len(pages)
    except IndexDamaged:
        return None


def read_records(pages: Index, advance: Advance) -> Iterator[Record]:
    """Yield all records that can be read; *advance* is called with the number of records of each batch."""
    for batch in pages.records(_COUNTED):
        yield from batch
        advance(len(batch))


def count_contents(pages: Index, advance: Advance) -> Contents:
    """Count the contents of an index of pages, record by record."""
    scopes: Counter[str] = Counter()
    runs: dict[int, PagesOfRun] = {}
    open_claims = 0
    for record in read_records(pages, advance):
        scopes[record.page.scope] += 1
        run = runs.get(record.run, PagesOfRun())
        runs[record.run] = PagesOfRun(run.pages + 1, max(run.last_filed, record.filed))
        open_claims += not record.settled
    return Contents(dict(scopes.most_common()), runs, open_claims, pages.measure_sites())


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
        return export.write_export(file, pages.read_header(), counted, readable, pages.list_overrides())


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
    if not all(map(is_readable, export.sites())):
        raise ExportUnreadable(f"{export.path} cannot be read as an export: what is known of a site is damaged.")
    header, overrides = export.header, list(export.overrides())
    filing, new = filing_of(header.spec), 0
    with closing(open_or_create_index(location, header.spec, header.libraries)) as pages:
        for block in _counted(export.blocks(), advance):
            rows = decode_records(export, block)
            new += sum(pages.merge(rows[at : at + _MERGED], filing) for at in range(0, len(rows), _MERGED))
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
    sites = list(export.sites())
    if not all(map(is_readable, sites)):
        raise ExportUnreadable(f"{path} cannot be read as an export: what is known of a site is damaged.")
    return FrozenProfiles.of(sites)


def _read_pages(pages: Index, count_unreadable: Advance) -> Generator[ExportBlock, None, None]:
    for batch in pages.records(export.MAX_BLOCK_ROWS, handled_only=True, count_unreadable=count_unreadable):
        batch.sort(key=lambda record: record.page.signature)
        signatures = np.array([record.page.signature for record in batch], dtype=np.uint64)
        yield ExportBlock(signatures, [records.encode(_with_signature(_clean(record), 0)) for record in batch])


def decode_records(export: Export, block: ExportBlock) -> list[Record]:
    """Return the records in a block of an export. Raises :class:`ExportUnreadable`."""
    try:
        decoded = [records.decode(row) for row in block.rows]
    except msgspec.DecodeError as error:
        raise ExportUnreadable(f"{export.path} cannot be read as an export: a record is damaged ({error}).") from error
    pairs = zip(decoded, block.signatures.tolist(), strict=True)
    return [_with_signature(_clean(record), signature) for record, signature in pairs]


def _clean(record: Record) -> Record:
    """Return *record* without user names and passwords in key and scope: an older version may have left some."""
    page = record.page
    # A page without a key of its own has its address as key.
    is_address = without_credentials(page.key) == page.url
    key = page.url if is_address else identifier_without_credentials(page.key)
    scope = identifier_without_credentials(page.scope)
    if (key, scope) == (page.key, page.scope):
        return record
    return msgspec.structs.replace(record, page=msgspec.structs.replace(page, key=key, scope=scope))


def _with_signature(record: Record, signature: int) -> Record:
    return msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, signature=signature))


def _counted(blocks: Iterator[ExportBlock], advance: Advance) -> Iterator[ExportBlock]:
    for block in blocks:
        yield block
        advance(len(block.signatures))
