"""Write the pages that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from crawler_dedup.batch.collection import Shard
from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.shard import arrow_schema, read_columns
from crawler_dedup.decision import Verdict
from crawler_dedup.system.files import open_replacement

KEPT = "kept.parquet"

KEPT_SCHEMA = arrow_schema(
    "id string, url string, verdict string, reason string, duplicates long, input string, record long"
)
_ROWS = 10_000

VERDICTS = tuple(Verdict)
Codes = NDArray[np.uint8]
"""For each row, the index of its verdict in :data:`VERDICTS`."""


@contextmanager
def open_table(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing, which replaces *path* once it is complete."""
    with (
        open_replacement(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield writer


def write_kept(path: Path, shards: Sequence[Shard], starts: Places, codes: Codes, duplicates: Places) -> None:
    """Write the pages that are kept, in the order of the inputs.

    Args:
        shards: the shards with all pages, in the order of the inputs.
        starts: the first row of each shard.
        codes: the verdict of each row.
        duplicates: the number of pages that each row represents.
    """
    names = np.array([str(verdict) for verdict in VERDICTS])
    passing = np.array([verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) for verdict in VERDICTS])
    with open_table(path, KEPT_SCHEMA) as writer:
        for shard, first in zip(shards, starts.tolist(), strict=False):
            start = first
            for table in _joined(read_columns(shard.data, ("id", "url", "reason", "record"))):
                part = slice(start, start + len(table))
                start = part.stop
                picked = np.flatnonzero(passing[codes[part]])
                kept = table.take(picked)
                columns = {
                    "verdict": pa.array(names[codes[part][picked]]),
                    "duplicates": pa.array(duplicates[part][picked]),
                    "input": pa.array([shard.source.path] * len(kept), pa.string()),
                    **{name: kept.column(name) for name in kept.column_names},
                }
                writer.write_table(pa.table([columns[name] for name in KEPT_SCHEMA.names], schema=KEPT_SCHEMA))


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of *batches* as tables of at least :data:`_ROWS` rows, except for the last."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
