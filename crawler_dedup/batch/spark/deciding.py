"""Decisions about groups of rows in an executor of Spark, with the code of the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa

from crawler_dedup.batch.decide import PickedPages, PlacedDecision, RememberingMatcher, decide_pages
from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.rows import StoredPages
from crawler_dedup.batch.spark.exchange import Batches
from crawler_dedup.batch.spark.schemas import arrow_schema, make_batches
from crawler_dedup.index.profiles import FrozenProfiles

GROUPED = ("row", "page")
"""The columns of rows that are decided, beside the one by which they are ordered."""
DECIDED_COLUMNS = (
    "row long, decided string, representative string, rule string, distance short, resemblance float, coverage float"
)
"""The columns of a decision: its verdict, the identifier of the representative, and how the two pages agree."""
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
        """Yield decisions about the rows of a partition, which has whole groups, in ascending order of the rows."""
        order_keys: list[Places] = [np.empty(0, dtype=np.int64)]
        with TemporaryFile() as picked, TemporaryFile() as kept:
            pages = PickedPages(picked, self._read(batches, order_keys))
            places = np.argsort(np.concatenate(order_keys), kind="stable")
            decided = decide_pages(pages, places, (), self.matcher, self.profiles, kept, self.memory)
            yield from make_batches((_values_of(decision, pages) for decision in decided), DECIDED, _DECISIONS)

    def _read(self, batches: Batches, order_keys: list[Places]) -> Iterator[StoredPages]:
        """Yield the rows to decide, and append the numbers by which they are ordered to *order_keys*."""
        for batch in batches:
            keys = batch.column(self.order.removeprefix("-") or "row").to_numpy()
            order_keys.append(-keys if self.order.startswith("-") else keys)
            rows = batch.column("row").to_numpy()
            yield StoredPages(rows, rows, batch.column("page").to_pylist())


def _values_of(decided: PlacedDecision, pages: PickedPages) -> tuple[Any, ...]:
    """Return the values of a decision, in the order of :data:`DECIDED_COLUMNS`."""
    match, kept = decided.match, decided.representative
    common = int(pages.rows[decided.place]), str(decided.verdict)
    if match is None or kept is None:
        return (*common, *[None] * (len(DECIDED) - len(common)))
    return (*common, pages.read_id(kept), match.rule, match.distance, match.resemblance, match.coverage)
