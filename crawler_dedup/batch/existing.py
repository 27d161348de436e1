"""Pages that are kept already, against which a collection is decided: an exported index, or another signed collection."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.shard import KeyEntries, decode_page, prepare_page, read_columns
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.index.records import Record, in_batches, name_page
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import PageKind
from crawler_dedup.system.callbacks import Advance

_BATCH = 1 << 14  # maximum number of pages that are held in memory


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


@dataclass(frozen=True)
class ExistingPages:
    """Pages that are kept already.

    Attributes:
        name: path of the index or collection that has them; ``""``: there are none.
        count: how many there are.
        known_sites: what is known about their sites.
        read: yields their records one after the other.
    """

    name: str = ""
    count: int = 0
    known_sites: Iterable[StoredSite] = ()
    read: Callable[[RuleMatcher, FrozenProfiles], Iterable[Record]] = lambda *_: ()


def open_existing(path: Path, collection: Collection, advance: Advance) -> ExistingPages:
    """Open the pages against which *collection* is decided: an exported index, or the directory of another collection.

    Args:
        advance: called with numbers of shards that were checked.

    Raises:
        IndexMismatch: the existing pages were signed in another way.
        DedupError: *path* has no pages, or cannot be read.
    """
    if path.is_dir():
        other = Collection.open(path)
        require_same_spec(f"The collection in {path}", other.header.identity, collection.header.identity)
        count = sum(receipt.pages for receipt in other.require_whole(advance))
        return ExistingPages(str(path), count, (), partial(_read_collection, other))
    export = Export(path)
    require_same_spec(f"The export {path}", export.header.spec, collection.header.spec)
    return ExistingPages(str(path), len(export), export.sites(), lambda *_: export.records())


def _read_collection(collection: Collection, matcher: RuleMatcher, profiles: FrozenProfiles) -> Iterator[Record]:
    """Yield the signed pages of a collection as if each of them had been kept."""
    for shard in collection.shards:
        for batch in read_columns(shard.data, ("page",)):
            for page in map(decode_page, batch.column("page").to_pylist()):
                if not page.unsigned:
                    kept = matcher.trim(prepare_page(page, matcher, profiles))
                    yield Record(kept, filed=1, seen=1, settled=1)


def read_batches(
    existing: ExistingPages, matcher: RuleMatcher, profiles: FrozenProfiles, *, texts_by_key: bool
) -> Iterator[ExistingBatch]:
    """Yield all *existing* pages, batch by batch.

    Args:
        texts_by_key: whether texts, too, are looked up by keys alone.
    """
    for records in in_batches(existing.read(matcher, profiles), _BATCH):
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
