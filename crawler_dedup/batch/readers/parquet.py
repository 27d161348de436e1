"""Parquet files, a page a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_dedup.batch.readers.records import (
    REST_IS_DAMAGED,
    Columns,
    InputPage,
    PassedOver,
    name_columns,
    read_fields,
)
from crawler_dedup.errors import DedupError

_ROWS = 64  # rows that are held in memory at a time


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
