"""Functions that executors of Spark call with batches of rows: to sign pages, to learn sites, and to decide about groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa

from crawler_dedup.batch import learning
from crawler_dedup.batch.decide import PickedPages, PlacedDecision, RememberingMatcher, decide_pages
from crawler_dedup.batch.formats.records import Columns, PassedOver, read_fields
from crawler_dedup.batch.linking import Batches
from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.shard import (
    COLUMNS,
    SCHEMA,
    UNSIGNED,
    StoredPages,
    arrow_schema,
    columns_of,
    decode_page,
    make_batches,
)
from crawler_dedup.batch.sign import sign_page
from crawler_dedup.config import Config
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.signing.signer import cached_signer

SIGNED_COLUMNS = COLUMNS.partition(", ")[2].replace("ulong", "long")
"""The columns of a shard except the record, which a DataFrame does not have. Spark has no unsigned numbers."""
SITE_COLUMNS = "key binary, number long, counts binary, snapshot binary"

SIGNED = "signed"
"""The column that has these columns, in the DataFrame of the pages."""

GROUPED = ("row", "page")
"""The columns of rows that are decided, beside the one by which they are ordered."""
DECIDED_COLUMNS = (
    "row long, decided string, representative string, rule string, distance short, resemblance float, coverage float"
)
"""The columns of a decision: its verdict, the identifier of the representative, and how the two pages agree."""
DECIDED = arrow_schema(DECIDED_COLUMNS)
"""The same columns for Arrow."""

_SIGNED, _SITE = arrow_schema(SIGNED_COLUMNS), arrow_schema(SITE_COLUMNS)
_ROWS = 500  # rows that are signed at a time
_DECISIONS = 5_000  # decisions that are returned at a time


def sign_rows(batches: Batches, *, config: Config, columns: Columns, scope: str) -> Iterator[pa.RecordBatch]:
    """Yield each batch with the column :data:`SIGNED`. A row that cannot be read is unsigned, with the reason."""
    signer = cached_signer(config)
    for batch in batches:
        for first in range(0, len(batch), _ROWS):
            part = batch.slice(first, _ROWS)
            records = (read_fields(0, fields, columns) for fields in part.to_pylist())
            rows = [
                _unreadable(record)
                if isinstance(record, PassedOver)
                else columns_of(0, record.time, sign_page(signer, record, scope))[1:]
                for record in records
            ]
            names = [*part.schema.names, SIGNED]
            yield pa.RecordBatch.from_arrays([*part.columns, _make_batch(rows).to_struct_array()], names)


def _unreadable(record: PassedOver) -> tuple[Any, ...]:
    return (record.name, "", UNSIGNED, record.reason, 0, 0, 0, 0, 0, 0, 0, b"")


def _make_batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(zip(*rows, strict=True), [*SCHEMA][1:], strict=True)
    arrays = [pa.array(values, field.type) for values, field in columns]
    signed = [array.view(pa.int64()) if array.type == pa.uint64() else array for array in arrays]
    return pa.RecordBatch.from_arrays(signed, schema=_SIGNED)


def learn_site(pages: pa.Table) -> pa.Table:
    """Learn one site from its *pages*; return a row with :data:`SITE_COLUMNS`."""
    site = learning.learn_site(map(decode_page, pages.sort_by("row")["page"].to_pylist()))
    return pa.table([[site.key], [site.number], [site.counts], [site.snapshots[0][1]]], schema=_SITE)


def decide_groups(
    batches: Batches, *, matcher: RememberingMatcher, profiles: FrozenProfiles, order: str
) -> Iterator[pa.RecordBatch]:
    """Yield decisions about the rows of a partition, which has whole groups.

    Args:
        batches: the rows, ascending.
        matcher: the matcher, which has the scheme and the rules.
        profiles: what is known about the sites.
        order: in which order pages are decided (:data:`~crawler_dedup.batch.shard.ORDERS`); ``""``: by their rows.
    """
    order_keys: list[Places] = [np.empty(0, dtype=np.int64)]

    def read() -> Iterator[StoredPages]:
        for batch in batches:
            keys = batch.column(order.removeprefix("-") or "row").to_numpy()
            order_keys.append(-keys if order.startswith("-") else keys)
            rows = batch.column("row").to_numpy()
            yield StoredPages(rows, rows, batch.column("page").to_pylist())

    with TemporaryFile() as picked:
        pages = PickedPages(picked, read())
        places = np.argsort(np.concatenate(order_keys), kind="stable")
        decided = decide_pages(pages, places, (), matcher, profiles)
        yield from make_batches((_values_of(decision, pages) for decision in decided), DECIDED, _DECISIONS)


def _values_of(decided: PlacedDecision, pages: PickedPages) -> tuple[Any, ...]:
    """Return the values of a decision, in the order of :data:`DECIDED_COLUMNS`."""
    match, kept = decided.match, decided.representative
    common = int(pages.rows[decided.place]), str(decided.verdict)
    if match is None or kept is None:
        return (*common, *[None] * (len(DECIDED) - len(common)))
    return (*common, pages.read(kept).key, match.rule, match.distance, match.resemblance, match.coverage)
