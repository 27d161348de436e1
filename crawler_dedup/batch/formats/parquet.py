"""Parquet files, a page a row. Copies have the same columns and compression."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_dedup.batch.formats import Added, Copied, LeftOut
from crawler_dedup.batch.formats.records import (
    REST_IS_DAMAGED,
    Columns,
    InputPage,
    PassedOver,
    name_columns,
    read_fields,
)
from crawler_dedup.errors import DedupError
from crawler_dedup.system.processes import raise_if_stopped

_ROWS = 64  # rows that are held in memory at a time
_GROUP_BYTES = 64 << 20  # bytes of a row group of a copy, in memory


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:  # noqa: ARG001
    """Yield the pages of a file."""
    number = 0
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            names = _columns_in(path, file.schema_arrow.names, columns)
            for batch in file.iter_batches(_ROWS, columns=names):
                for fields in _read_rows(batch, columns.time):
                    if any(isinstance(value, UnicodeDecodeError) for value in fields.values()):
                        yield PassedOver(number, "text that is not UTF-8", is_bad=True)
                    else:
                        yield read_fields(number, fields, columns)
                    number += 1
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # the last: in the name of a column
        yield PassedOver(number, REST_IS_DAMAGED, str(path), is_bad=True)


def _read_rows(batch: pa.RecordBatch, time: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch. A text that is not UTF-8 is replaced by the exception that decoding it raises.

    Args:
        time: the column whose timestamps are seconds since 1970.
    """
    columns = zip(batch.schema.names, batch.columns, strict=True)
    values = [_read_values(_seconds_of(column) if name == time else column) for name, column in columns]
    for row in zip(*values, strict=True):
        yield dict(zip(batch.schema.names, row, strict=True))


def _seconds_of(column: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(column.type):
        return column
    return column.cast(pa.timestamp("s", column.type.tz), safe=False).cast(pa.int64())


def _read_values(column: pa.Array) -> list[Any]:
    if pa.types.is_string(column.type):
        return [_decode(value) for value in column.cast(pa.binary()).to_pylist()]
    if pa.types.is_large_string(column.type):
        return [_decode(value) for value in column.cast(pa.large_binary()).to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def _decode(value: bytes | None) -> str | UnicodeDecodeError | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        return error


def _columns_in(path: Path, present: list[str], columns: Columns) -> list[str]:
    """Return the names of the columns to read; raise :class:`DedupError` where one is missing."""
    required = [columns.content, *filter(None, [columns.id, columns.time])]
    if not columns.id:
        required.append(columns.url)
    missing = [name for name in required if name not in present]
    if missing:
        raise DedupError(
            f"{path} has no column {', '.join(map(repr, missing))}; it has {name_columns(present)}."
            " --html or --text, --url and --id say which to read."
        )
    return list(dict.fromkeys([*required, *(name for name in [columns.url] if name in present)]))


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
