"""Pages that are kept already: an exported index against which a collection is decided."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crawler_dedup.batch.keyentries import KeyEntries
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.deduplicator import RuleMatcher
from crawler_dedup.errors import DedupError
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.backend import KIND
from crawler_dedup.index.export import Export
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.maintenance import decode_records
from crawler_dedup.index.records import Record, name_page
from crawler_dedup.signedpage import PageKind


@dataclass(frozen=True)
class ExistingPages:
    """What is held in memory of the pages of an export, in its order.

    Attributes:
        export: the export.
        texts: whether a page is compared by its main text.
        signatures: as they were signed.
        titles: 64 bits that stand for the title under which each text is filed; 0: under none.
        names: 64 bits that stand for each key and alias in its scope.
        name_places: of which page each of *names* is.
        entries: the keys of pages that are looked up by keys alone.
    """

    export: Export
    texts: Flags
    signatures: Numbers
    titles: Numbers
    names: Numbers
    name_places: Places
    entries: KeyEntries

    def __len__(self) -> int:
        """Return how many pages there are."""
        return len(self.texts)

    def read_records(self, wanted: Flags) -> Iterator[Record]:
        """Yield the records of the *wanted* pages, in their order. Raises :class:`ExportUnreadable`."""
        first = 0
        for block in self.export.blocks():
            places = np.flatnonzero(wanted[first : first + len(block.signatures)])
            first += len(block.signatures)
            if len(places):
                decoded = decode_records(self.export, block)
                yield from (decoded[place] for place in places.tolist())


def read_existing(path: Path, spec: Mapping[str, str], matcher: RuleMatcher, *, texts_by_key: bool) -> ExistingPages:
    """Read the pages of an export.

    Args:
        spec: what the signatures of the collection depend on; must equal that of the export.
        texts_by_key: whether texts, too, are looked up by keys alone.

    Raises:
        IndexMismatch: the export has another *spec*.
        DedupError: it has no pages, or cannot be read.
    """
    export = Export(path)
    if export.header.kind != KIND:
        raise DedupError(f"{path} has bare signatures without pages.")
    require_same_spec(str(path), export.header.spec, spec)
    texts, name_places = array("b"), array("q")
    signatures, titles, names = array("Q"), array("Q"), array("Q")
    entries = KeyEntries()
    for block in export.blocks():
        for record in decode_records(export, block):
            page, place = record.page, len(texts)
            is_text = page.kind is PageKind.TEXT
            texts.append(is_text)
            signatures.append(page.signature)
            titles.append(matcher.title_key(page))
            for name in (name_page(page.scope, page.key), *record.aliases):
                names.append(int.from_bytes(name[:8], "big"))
                name_places.append(place)
            if texts_by_key or not is_text:
                entries.add(place, page.scope, matcher.keys(page))
    return ExistingPages(
        export,
        np.array(texts, dtype=bool),
        np.array(signatures, dtype=np.uint64),
        np.array(titles, dtype=np.uint64),
        np.array(names, dtype=np.uint64),
        np.array(name_places, dtype=np.int64),
        entries,
    )
