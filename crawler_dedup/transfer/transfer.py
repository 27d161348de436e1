"""Export an index, import an export, and read what an export knows about sites."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np

from crawler_dedup.errors import ExportUnreadable
from crawler_dedup.index import records
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import open_or_create_index
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import Record
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.transfer import export
from crawler_dedup.transfer.export import Export, ExportBlock
from crawler_dedup.urls import identifier_without_credentials, without_credentials

FilingOf = Callable[[Mapping[str, str]], Filing]
"""Returns the :class:`Filing` of an index, given the spec in its header."""

SiteCheck = Callable[[StoredSite], bool]
"""Returns whether what is known about a site can be read; the index itself cannot check that."""

_MERGED = 1 << 13


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
