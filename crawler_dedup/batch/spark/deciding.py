"""Decisions about groups of rows in an executor of Spark, with the code of the index."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawler_dedup.batch.candidates import Candidates
from crawler_dedup.batch.certain import find_certain, measure_pages
from crawler_dedup.batch.decide import PickedPages, PlacedDecision, RememberingMatcher, decide_pages
from crawler_dedup.batch.membership import is_repeated
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.rows import Rows, StoredPages
from crawler_dedup.batch.shard import TEXT, THIN
from crawler_dedup.batch.spark.exchange import Batches, unsigned_numbers
from crawler_dedup.batch.spark.schemas import arrow_schema, make_batches
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.records import Record, name_page
from crawler_dedup.index.records import decode as decode_record
from crawler_dedup.rules.bounds import Measures
from crawler_dedup.signedpage import PageKind

GROUPED = ("row", "record", "kind", "signature", "name", "title", "page")
"""The columns of rows that are decided, beside the one by which they are ordered."""
DECIDED_COLUMNS = (
    "row long, record long, id string, verdict string, kept_row long, kept_record long, representative string,"
    " rule string, distance short, resemblance float, coverage float"
)
"""The columns of a decision: where the page and its representative are, and how they agree."""
DECIDED = arrow_schema(DECIDED_COLUMNS)
"""The same columns for Arrow."""

_DECISIONS = 5_000  # decisions that are returned at a time


@dataclass(frozen=True)
class Deciding:
    """The parameters with which groups of rows are decided.

    Attributes:
        matcher: the matcher, which has the scheme and the rules.
        profiles: what is known about the sites.
        order: in which order pages are decided (:data:`~crawler_dedup.batch.rows.ORDERS`); ``""``: by their rows.
        memory: bytes that kept pages of a partition may take.
    """

    matcher: RememberingMatcher
    profiles: FrozenProfiles
    order: str
    memory: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield decisions about the rows of a partition, which has whole groups, in ascending order of the rows.

        Rows below 0 are pages that are kept already; their column ``page`` holds records.
        """
        collected = _CollectedRows(self.order)
        with TemporaryFile() as picked, TemporaryFile() as kept:
            measures: list[Measures] = []
            pages = PickedPages(picked, measure_pages(collected.read(batches), measures))
            rows = collected.make_rows()
            chosen = np.arange(len(rows))
            places = rows.sort(chosen)
            existing = [decode_record(content) for content in collected.existing]
            candidates = _all_candidates(rows, existing, self.matcher)
            scheme, limits = self.matcher.scheme, self.matcher.limits
            certain = find_certain(rows, chosen, places, candidates, scheme, Measures.join(measures), limits)
            del measures
            decided = decide_pages(pages, places, certain, existing, self.matcher, self.profiles, kept, self.memory)
            yield from make_batches((_values_of(decision, pages) for decision in decided), DECIDED, _DECISIONS)


def _all_candidates(rows: Rows, existing: Iterable[Record], matcher: RememberingMatcher) -> Candidates:
    """Return candidates that include all *rows* and all *existing* pages."""
    texts, titles, names = array("Q"), array("Q"), array("Q")
    for record in existing:
        page = record.page
        if page.kind is PageKind.TEXT:
            texts.append(page.signature)
        titles.append(matcher.title_key(page))
        names.extend(int.from_bytes(name[:8], "big") for name in (name_page(page.scope, page.key), *record.aliases))
    repeated: Flags = is_repeated(rows.names) | np.isin(rows.names, np.array(names, dtype=np.uint64))
    repeated |= np.isin(rows.titles, np.array(titles, dtype=np.uint64)) & (rows.titles != 0)
    all_rows = np.ones(len(rows), dtype=bool)
    return Candidates(all_rows, repeated, np.ones(len(titles), dtype=bool), np.array(texts, dtype=np.uint64))


class _CollectedRows:
    """Collects the numbers of the rows of a partition, which are held in memory.

    Attributes:
        existing: the records of the pages that are kept already.
    """

    def __init__(self, order: str) -> None:
        self._order = order
        self._parts: list[_Numbers] = []
        self.existing: list[bytes] = []

    def read(self, batches: Batches) -> Iterator[StoredPages]:
        """Yield the rows to decide; collect their numbers, and the records of existing pages."""
        for batch in batches:
            is_new = pc.greater_equal(batch.column("row"), 0)
            self.existing.extend(batch.filter(pc.invert(is_new)).column("page").to_pylist())
            new = batch.filter(is_new)
            numbers = self._read_numbers(new)
            self._parts.append(numbers)
            rows, records = (new.column(name).to_numpy() for name in ("row", "record"))
            contents = new.column("page").to_pylist()
            yield StoredPages(rows, records, numbers.signatures, numbers.titles, contents)

    def _read_numbers(self, new: pa.RecordBatch) -> _Numbers:
        keys = np.empty(0, dtype=np.int64)
        if self._order:
            keys = new.column(self._order.removeprefix("-")).to_numpy()
            keys = -keys if self._order.startswith("-") else keys
        signatures, names, titles = (unsigned_numbers(new.column(name)) for name in ("signature", "name", "title"))
        texts, thins = (pc.equal(new.column("kind"), kind).to_numpy(zero_copy_only=False) for kind in (TEXT, THIN))
        return _Numbers(signatures, names, titles, texts, thins, keys)

    def make_rows(self) -> Rows:
        """Return the rows that were read."""
        joined = _join(self._parts)
        sites = np.zeros(len(joined.names), dtype=np.uint64)
        return Rows(
            (),
            np.array([0, len(joined.names)]),
            joined.signatures,
            joined.names,
            joined.titles,
            sites,
            joined.texts,
            joined.thins,
            joined.order_keys if self._order else None,
        )


class _Numbers(NamedTuple):
    """Columns of :class:`~crawler_dedup.batch.rows.Rows`."""

    signatures: Numbers
    names: Numbers
    titles: Numbers
    texts: Flags
    thins: Flags
    order_keys: Places


def _join(parts: Sequence[_Numbers]) -> _Numbers:
    """Concatenate the columns of all *parts*."""
    numbers, flags = np.empty(0, dtype=np.uint64), np.empty(0, dtype=bool)
    nothing = _Numbers(numbers, numbers, numbers, flags, flags, np.empty(0, dtype=np.int64))
    columns: Any = [np.concatenate(column) for column in zip(nothing, *parts, strict=True)]
    return _Numbers(*columns)


def _values_of(decided: PlacedDecision, pages: PickedPages) -> tuple[Any, ...]:
    """Return the values of a decision, in the order of :data:`DECIDED_COLUMNS`."""
    place, match, kept = decided.place, decided.match, decided.representative
    common = int(pages.rows[place]), int(pages.records[place]), pages.read_id(place), str(decided.verdict)
    if match is None:
        return (*common, *[None] * (len(DECIDED) - len(common)))
    measured = match.rule, match.distance, match.resemblance, match.coverage
    if kept is None:  # a page that was kept before
        return (*common, None, None, decided.address, *measured)
    return (*common, int(pages.rows[kept]), int(pages.records[kept]), pages.read_id(kept), *measured)
