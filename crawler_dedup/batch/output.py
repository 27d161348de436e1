"""The results of a search: the file of the pages that are kept, and the file of those that have a representative.

Both are in the order of the inputs: the pages of one input are together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from crawler_dedup.batch.decide import PickedPages, PlacedDecision
from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.shard import Rows, arrow_schema, make_batches, read_columns
from crawler_dedup.decision import Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.system.files import open_replacement

KEPT, CLUSTERS = "kept.parquet", "clusters.parquet"

KEPT_SCHEMA = arrow_schema(
    "id string, url string, verdict string, reason string, duplicates long, input string, record long"
)
CLUSTERS_SCHEMA = arrow_schema(
    "duplicate string, representative string, verdict string, rule string, distance short, resemblance float,"
    " coverage float, input string, record long, representative_input string, representative_record long"
)

VERDICTS = tuple(Verdict)
Codes = NDArray[np.uint8]
"""For each row, the index of its verdict in :data:`VERDICTS`."""

_KEPT_ROWS, _GROUP_ROWS = 10_000, 50_000  # of a row group
_LEFT_OUT = arrow_schema(
    "place long, kept long, address string, verdict string, rule string, distance short, resemblance float, coverage float"
)
"""What is stored of a page until all are decided: its place, that of its representative or its address, and the match."""


@contextmanager
def _open_table(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing, which replaces *path* once it is complete."""
    with (
        open_replacement(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield writer


def write_kept(path: Path, rows: Rows, codes: Codes, duplicates: Places) -> None:
    """Write the pages that are kept, in the order of the inputs.

    Args:
        rows: all pages.
        codes: the verdict of each row.
        duplicates: the number of pages that each row represents.
    """
    names = np.array([str(verdict) for verdict in VERDICTS])
    passing = np.array([verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) for verdict in VERDICTS])
    with _open_table(path, KEPT_SCHEMA) as writer:
        for shard, first in zip(rows.shards, rows.starts.tolist(), strict=False):
            start = first
            for batch in read_columns(shard.data, ("id", "url", "reason", "record"), _KEPT_ROWS):
                part = slice(start, start + len(batch))
                start = part.stop
                picked = np.flatnonzero(passing[codes[part]])
                kept = batch.take(picked)
                columns = {
                    "verdict": pa.array(names[codes[part][picked]]),
                    "duplicates": pa.array(duplicates[part][picked]),
                    "input": pa.array([shard.source.path] * len(kept), pa.string()),
                    **{name: kept.column(name) for name in kept.schema.names},
                }
                writer.write_table(pa.table([columns[name] for name in KEPT_SCHEMA.names], schema=KEPT_SCHEMA))


def write_clusters(
    path: Path, rows: Rows, pages: PickedPages, decisions: Iterable[PlacedDecision], against: str = ""
) -> None:
    """Write the pages that have a representative, in the order of the inputs.

    Args:
        pages: the pages that are decided.
        decisions: the decisions, which are made meanwhile; those about pages without a representative are ignored.
        against: path of the index or collection with the representatives that were kept before; ``""``: there is none.
    """
    with TemporaryFile(dir=path.parent) as unsorted:
        with pa.ipc.new_file(unsorted, _LEFT_OUT) as writer:
            for batch in make_batches(_read_values(decisions), _LEFT_OUT, _GROUP_ROWS):
                writer.write_batch(batch)
        unsorted.flush()
        left_out = pa.ipc.open_file(pa.py_buffer(mmap(unsorted.fileno(), 0, access=ACCESS_READ))).read_all()
        order = np.argsort(left_out["place"].to_numpy())
        with _open_table(path, CLUSTERS_SCHEMA) as clusters:
            for first in range(0, len(order), _GROUP_ROWS):
                part = left_out.take(order[first : first + _GROUP_ROWS])
                clusters.write_table(_make_clusters(part, rows, pages, against))


def _read_values(decisions: Iterable[PlacedDecision]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each decision about a page that has a representative, in the order of :data:`_LEFT_OUT`."""
    for place, verdict, match, kept, address in decisions:
        if match is not None:
            yield place, kept, address, str(verdict), match.rule, match.distance, match.resemblance, match.coverage


def _make_clusters(left_out: pa.Table, rows: Rows, pages: PickedPages, against: str) -> pa.Table:
    """Return the rows about pages that are left out, which are in the order of the inputs."""
    places, kept = left_out["place"].to_numpy(), left_out["kept"].fill_null(0).to_numpy()
    representatives = zip(left_out["kept"].to_pylist(), left_out["address"].to_pylist(), strict=True)
    is_known = left_out["kept"].is_valid().to_numpy()
    columns = {
        **{name: left_out[name] for name in left_out.schema.names},
        "duplicate": [pages.read(place).key for place in places.tolist()],
        "representative": [address if place is None else pages.read(place).key for place, address in representatives],
        "input": _inputs_of(places, rows, pages),
        "record": pages.records[places],
        "representative_input": np.where(is_known, _inputs_of(kept, rows, pages), against),
        "representative_record": pa.array(pages.records[kept], mask=~is_known),
    }
    return pa.table([columns[name] for name in CLUSTERS_SCHEMA.names], schema=CLUSTERS_SCHEMA)


def _inputs_of(places: Places, rows: Rows, pages: PickedPages) -> NDArray[np.object_]:
    """Return the paths of the inputs of the pages at some *places*."""
    shards = np.searchsorted(rows.starts, pages.rows[places], side="right") - 1
    return np.array([shard.source.path for shard in rows.shards], dtype=object)[shards]


def read_clusters(path: Path, source: str) -> list[dict[str, Any]]:
    """Return the rows about the pages of one input. Raises :class:`DedupError` where the file is damaged."""
    try:
        rows: list[dict[str, Any]] = pq.read_table(
            path, filters=[("input", "=", source)], page_checksum_verification=True
        ).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DedupError(f"{path} is damaged: {error}. Run `crawler-dedup batch find` again.") from None
    return rows
