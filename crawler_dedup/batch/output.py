"""What is written of decided pages: those that are kept, and those for which a kept one stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from crawler_dedup.batch.decide import PickedPages, PlacedDecision
from crawler_dedup.batch.rows import Places, Rows
from crawler_dedup.batch.shard import read_columns
from crawler_dedup.decision import Verdict
from crawler_dedup.system.files import open_replacement

KEPT, CLUSTERS = "kept.parquet", "clusters.parquet"

KEPT_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("url", pa.string()),
        pa.field("verdict", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("duplicates", pa.int64()),
        pa.field("input", pa.string()),
        pa.field("record", pa.int64()),
    ]
)
CLUSTERS_SCHEMA = pa.schema(
    [
        pa.field("duplicate", pa.string()),
        pa.field("representative", pa.string()),
        pa.field("verdict", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("distance", pa.int16()),
        pa.field("resemblance", pa.float32()),
        pa.field("coverage", pa.float32()),
        pa.field("input", pa.string()),
        pa.field("record", pa.int64()),
        pa.field("representative_input", pa.string()),
        pa.field("representative_record", pa.int64()),
    ]
)

_ROWS = 10_000

VERDICTS = tuple(Verdict)
Codes = NDArray[np.uint8]
"""Of each row the place of its verdict in :data:`VERDICTS`."""


@contextmanager
def open_table(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file to write that takes the place of *path* once it is whole."""
    with (
        open_replacement(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield writer


class ClusterWriter:
    """Writes a row for each page for which a kept one stands.

    Args:
        pages: the pages that are decided.
        against: what holds the pages that were kept before.
    """

    def __init__(self, writer: pq.ParquetWriter, rows: Rows, pages: PickedPages, against: str = "") -> None:
        self._writer = writer
        self._rows = rows
        self._pages = pages
        self._against = against
        self._waiting: list[dict[str, Any]] = []

    def write(self, decided: PlacedDecision) -> None:
        """Add a row, if a kept page stands for the decided one."""
        decision, match = decided.decision, decided.decision.match
        if not decided.is_left_out or match is None:
            return
        record, page = self._pages.read(decided.place)
        kept_record, kept_id, kept_input = None, decision.duplicate_of or page.url, self._against
        if decided.representative is not None:
            kept_record, kept = self._pages.read(decided.representative)
            kept_id, kept_input = kept.key, self._input_of(decided.representative)
        self._waiting.append(
            {
                "duplicate": page.key,
                "representative": kept_id,
                "verdict": str(decision.verdict),
                "rule": match.rule,
                "distance": match.distance,
                "resemblance": match.resemblance,
                "coverage": match.coverage,
                "input": self._input_of(decided.place),
                "record": record,
                "representative_input": kept_input,
                "representative_record": kept_record,
            }
        )
        if len(self._waiting) == _ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        self._writer.write_table(pa.Table.from_pylist(self._waiting, CLUSTERS_SCHEMA))
        self._waiting = []

    def _input_of(self, place: int) -> str:
        shard = int(np.searchsorted(self._rows.starts, self._pages.rows[place], side="right")) - 1
        return self._rows.shards[shard].source.path


def write_kept(path: Path, rows: Rows, codes: Codes, duplicates: Places) -> None:
    """Write the pages that are kept, in the order of the inputs.

    Args:
        codes: the verdict of each row.
        duplicates: for how many pages each row stands.
    """
    names = np.array([str(verdict) for verdict in VERDICTS])
    passing = np.array([verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) for verdict in VERDICTS])
    with open_table(path, KEPT_SCHEMA) as writer:
        for shard, first in zip(rows.shards, rows.starts.tolist(), strict=False):
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
    """Yield *batches*, some of them together."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
