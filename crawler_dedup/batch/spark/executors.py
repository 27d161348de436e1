"""Functions that executors of Spark call with batches of rows: to sign pages, and to learn sites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crawler_dedup.batch.learning import publish_site
from crawler_dedup.batch.readers.records import Columns, PassedOver, read_fields
from crawler_dedup.batch.shard import SCHEMA, UNSIGNED, SignedRow, columns_of, decode_page
from crawler_dedup.batch.sign import cached_signer, sign_page
from crawler_dedup.batch.spark.exchange import Batches
from crawler_dedup.batch.spark.schemas import arrow_schema
from crawler_dedup.config import Config
from crawler_dedup.rules.counts import SiteCounts

SIGNED_COLUMNS = (
    "id string, url string, kind string, reason string, signature long, name long, title long, site long,"
    " time long, size long, chars long, page binary"
)
"""The columns of a shard except the record, which a DataFrame does not have. Spark has no unsigned numbers."""
SITE_COLUMNS = "key binary, number long, counts binary, snapshot binary"

SIGNED = "signed"
"""The column that has these columns, in the DataFrame of the pages."""

_SIGNED, _SITE = arrow_schema(SIGNED_COLUMNS), arrow_schema(SITE_COLUMNS)
_ROWS = 500


@dataclass(frozen=True)
class Signing:
    """The parameters with which rows are signed."""

    config: Config
    columns: Columns
    scope: str

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield each batch with the column :data:`SIGNED`. A row that cannot be read is unsigned, with the reason."""
        signer = cached_signer(self.config)
        for batch in batches:
            for first in range(0, len(batch), _ROWS):
                part = batch.slice(first, _ROWS)
                records = (read_fields(0, fields, self.columns) for fields in part.to_pylist())
                rows = [
                    _unreadable(record)
                    if isinstance(record, PassedOver)
                    else columns_of(SignedRow(0, record.time, sign_page(signer, record, self.scope)))[1:]
                    for record in records
                ]
                names = [*part.schema.names, SIGNED]
                yield pa.RecordBatch.from_arrays([*part.columns, _make_batch(rows).to_struct_array()], names)


def _unreadable(record: PassedOver) -> tuple[Any, ...]:
    return (record.name, "", UNSIGNED, record.reason, 0, 0, 0, 0, 0, 0, 0, b"")


def _make_batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = []
    for values, field, original in zip(zip(*rows, strict=True), _SIGNED, [*SCHEMA][1:], strict=True):
        if original.type == pa.uint64():
            columns.append(pa.array(np.array(values, dtype=np.uint64).view(np.int64)))
        else:
            columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=_SIGNED)


def learn_site(pages: pa.Table) -> pa.Table:
    """Learn one site from its *pages*; return a row with :data:`SITE_COLUMNS`."""
    counts = SiteCounts()
    for content in pages.sort_by("row")["page"].to_pylist():
        page = decode_page(content)
        counts.add(page)
    site = publish_site(counts, page)
    return pa.table(
        [[site.key], [site.number], [site.counts], [site.snapshots[0][1]]],
        schema=_SITE,
    )
