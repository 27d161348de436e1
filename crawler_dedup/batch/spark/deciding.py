"""Decisions about groups of rows in an executor of Spark, with the code of the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawler_dedup.batch.decide import PickedPages, PlacedDecision, RememberingMatcher, decide_pages
from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.rows import StoredPages
from crawler_dedup.batch.spark.exchange import Batches
from crawler_dedup.batch.spark.schemas import arrow_schema, make_batches
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.records import decode as decode_record

GROUPED = ("row", "record", "page")
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
            pages = PickedPages(picked, collected.read(batches))
            places = np.argsort(np.concatenate(collected.order_keys), kind="stable")
            existing = [decode_record(content) for content in collected.existing]
            decided = decide_pages(pages, places, existing, self.matcher, self.profiles, kept, self.memory)
            yield from make_batches((_values_of(decision, pages) for decision in decided), DECIDED, _DECISIONS)


class _CollectedRows:
    """Collects what is held in memory of the rows of a partition.

    Attributes:
        existing: the records of the pages that are kept already.
        order_keys: the numbers by which the other rows are ordered, batch by batch.
    """

    def __init__(self, order: str) -> None:
        self._column = order.removeprefix("-") or "row"
        self._is_reversed = order.startswith("-")
        self.existing: list[bytes] = []
        self.order_keys: list[Places] = [np.empty(0, dtype=np.int64)]

    def read(self, batches: Batches) -> Iterator[StoredPages]:
        """Yield the rows to decide; collect the numbers by which they are ordered, and the records of existing pages."""
        for batch in batches:
            is_new = pc.greater_equal(batch.column("row"), 0)
            self.existing.extend(batch.filter(pc.invert(is_new)).column("page").to_pylist())
            new = batch.filter(is_new)
            keys = new.column(self._column).to_numpy()
            self.order_keys.append(-keys if self._is_reversed else keys)
            rows, records = (new.column(name).to_numpy() for name in ("row", "record"))
            yield StoredPages(rows, records, new.column("page").to_pylist())


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
