"""Copies of Parquet files, with the same columns and compression."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_dedup.batch.writers import Added, Copied, LeftOut
from crawler_dedup.errors import DedupError
from crawler_dedup.system.processes import raise_if_stopped

_ROWS = 64  # rows that are read at a time
_GROUP_BYTES = 64 << 20  # bytes of a row group, in memory


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], added: Added) -> Copied:
    """Copy all rows but those of pages that are left out, with the columns that are added."""
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as file:
            schema = _schema_of_copy(source, file.schema_arrow, added)
            groups = file.metadata.num_row_groups
            compression = file.metadata.row_group(0).column(0).compression if groups and len(schema) else "SNAPPY"
            compression = "NONE" if compression == "UNCOMPRESSED" else compression  # the name that the writer expects
            first = size = 0
            waiting: list[pa.RecordBatch] = []
            with pq.ParquetWriter(target, schema, compression=compression) as writer:
                for batch in file.iter_batches(_ROWS):
                    raise_if_stopped()
                    rows = range(first, first + len(batch))
                    first = rows.stop
                    waiting += _drop(_extend(batch, rows, added, schema, left_out), rows, left_out)
                    size += batch.nbytes
                    if size >= _GROUP_BYTES:
                        writer.write_table(pa.Table.from_batches(waiting, schema))
                        waiting, size = [], 0
                writer.write_table(pa.Table.from_batches(waiting, schema))
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DedupError(f"{source} cannot be read: {error}") from None
    return Copied(first, 0)


def count_records(path: Path) -> int:
    """Return how many rows a file has."""
    with pq.ParquetFile(path) as file:
        rows: int = file.metadata.num_rows
    return rows


def _schema_of_copy(source: Path, schema: pa.Schema, added: Iterable[str]) -> pa.Schema:
    for name in added:
        if name in schema.names:
            raise DedupError(f"{source} already has a column {name!r}: rename it, or give --mark another name.")
        schema = schema.append(pa.field(name, pa.string()))
    return schema


def _drop(batch: pa.RecordBatch, rows: range, left_out: Mapping[int, LeftOut]) -> list[pa.RecordBatch]:
    """Return what is left of a batch, as slices: single rows cannot be taken from columns of every type."""
    gaps = [-1, *(place for place, row in enumerate(rows) if row in left_out), len(batch)]
    return [batch.slice(before + 1, gap - before - 1) for before, gap in pairwise(gaps) if gap > before + 1]


def _extend(
    batch: pa.RecordBatch, rows: range, added: Added, schema: pa.Schema, left_out: Container[int]
) -> pa.RecordBatch:
    columns = [
        pa.array([None if row in left_out else value(row) for row in rows], pa.string()) for value in added.values()
    ]
    return pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=schema)
