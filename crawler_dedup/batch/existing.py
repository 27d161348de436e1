"""Pages that are kept already, against which a collection is decided: an exported index, or another signed collection."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crawler_dedup.batch.collection import Collection, Receipt, Shard
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.shard import KeyEntries, Rows, prepare_page, read_rows
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.index.records import Record, name_page
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import PageKind
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.transfer import Export

_BATCH = 1 << 16


class ExistingBatch(NamedTuple):
    """A batch of pages that are kept already, in their order.

    Attributes:
        texts: whether each page is compared by its main text.
        signatures: the signature of each page, as a number.
        titles: 64-bit hashes of the titles under which texts are filed; 0: under none.
        names: 64-bit hashes of keys and aliases in their scopes.
        name_places: the place in the batch of the page that has each of *names*.
        entries: the keys of pages that are looked up by keys alone.
    """

    texts: Flags
    signatures: Numbers
    titles: Numbers
    names: Numbers
    name_places: Places
    entries: KeyEntries


def open_existing(path: Path, collection: Collection, advance: Advance) -> ExistingPages:
    """Open the pages against which *collection* is decided: an exported index, or the directory of another collection.

    Args:
        advance: called with numbers of shards that were checked.

    Raises:
        IndexMismatch: the existing pages were signed in another way.
        DedupError: *path* has no pages, or cannot be read.
    """
    if path.is_dir():
        other_collection = Collection.open(path)
        require_same_spec(f"The collection in {path}", other_collection.header.identity, collection.header.identity)
        return CollectionPages(path, other_collection.shards, other_collection.require_whole(advance))
    return ExportPages(path, collection.header.spec)


class ExportPages:
    """The pages of an exported index. They are read batch by batch, and not held in memory."""

    def __init__(self, path: Path, spec: Mapping[str, str]) -> None:
        self._export = Export(path)
        require_same_spec(f"The export {path}", self._export.header.spec, spec)
        self.path = path

    def __len__(self) -> int:
        return len(self._export)

    def known_sites(self) -> Iterator[StoredSite]:
        """Yield what is known about sites."""
        return self._export.sites()

    def batches(
        self,
        matcher: RuleMatcher,
        profiles: FrozenProfiles,  # noqa: ARG002  (the keys of records are filled in)
        *,
        texts_by_key: bool,
    ) -> Iterator[ExistingBatch]:
        """Yield all pages, batch by batch.

        Args:
            texts_by_key: whether texts, too, are looked up by keys alone.
        """
        stored = self._export.records()
        while records := list(islice(stored, _BATCH)):
            pages, entries = [record.page for record in records], KeyEntries()
            texts = np.array([page.kind is PageKind.TEXT for page in pages], dtype=bool)
            signatures = np.array([page.signature for page in pages], dtype=np.uint64)
            titles = np.array([matcher.title_key(page) for page in pages], dtype=np.uint64)
            names, places = array("Q"), array("q")
            for place, (record, page) in enumerate(zip(records, pages, strict=True)):
                for name in (name_page(page.scope, page.key), *record.aliases):
                    names.append(int.from_bytes(name[:8], "big"))
                    places.append(place)
                if texts_by_key or not texts[place]:
                    entries.add(place, page.scope, matcher.keys(page))
            yield ExistingBatch(texts, signatures, titles, np.array(names), np.array(places), entries)

    def read_records(
        self,
        wanted: Flags,
        matcher: RuleMatcher,  # noqa: ARG002  (records are as they were kept)
        profiles: FrozenProfiles,  # noqa: ARG002
    ) -> Iterator[Record]:
        """Yield the records of the *wanted* pages, in their order."""
        return compress(self._export.records(), wanted)


class CollectionPages:
    """The pages of a signed collection, as if each of them had been kept; they are read as those of an export."""

    def __init__(self, path: Path, shards: Sequence[Shard], receipts: Sequence[Receipt]) -> None:
        self.path = path
        self._shards = shards
        self._receipts = receipts

    def __len__(self) -> int:
        return sum(receipt.pages for receipt in self._receipts)

    def known_sites(self) -> Iterator[StoredSite]:
        return iter(())

    def batches(self, matcher: RuleMatcher, profiles: FrozenProfiles, *, texts_by_key: bool) -> Iterator[ExistingBatch]:
        for rows in self._rows_by_shard():
            entries = KeyEntries()
            by_key = rows.thins | rows.texts if texts_by_key else rows.thins
            for place, signed in rows.read_pages(by_key) if by_key.any() else ():
                page = prepare_page(signed, matcher, profiles)
                entries.add(place, page.scope, matcher.keys(page))
            places = np.flatnonzero(rows.texts | rows.thins)
            yield ExistingBatch(rows.texts, rows.signatures, rows.titles, rows.names[places], places, entries)

    def read_records(self, wanted: Flags, matcher: RuleMatcher, profiles: FrozenProfiles) -> Iterator[Record]:
        first = 0
        for rows in self._rows_by_shard():
            own = wanted[first : first + len(rows)]
            first += len(rows)
            for _, page in rows.read_pages(own):
                kept = matcher.trim(prepare_page(page, matcher, profiles))
                yield Record(kept, filed=1, seen=1, settled=1)

    def _rows_by_shard(self) -> Iterator[Rows]:
        for shard, receipt in zip(self._shards, self._receipts, strict=True):
            yield read_rows([shard], [receipt])


ExistingPages = ExportPages | CollectionPages
