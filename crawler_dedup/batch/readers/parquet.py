"""Parquet files, a page a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_dedup.batch.readers.records import Columns, InputPage, PassedOver, read_fields
from crawler_dedup.errors import DedupError

_ROWS = 64  # that are taken into memory at a time


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:  # noqa: ARG001
    """Yield the pages of a file."""
    number = 0
    with open_table(path) as file:
        names = _columns_in(path, file.schema_arrow.names, columns)
        try:
            for batch in file.iter_batches(_ROWS, columns=names):
                for fields in batch.to_pylist():
                    yield read_fields(number, fields, columns)
                    number += 1
        except (pa.ArrowException, OSError):
            yield PassedOver(number, "the rest of the file is damaged", is_bad=True)


def open_table(path: Path) -> pq.ParquetFile:
    """Open a Parquet file; raise :class:`DedupError` if it is none."""
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except pa.ArrowException as error:
        raise DedupError(f"{path} cannot be read: {error}") from None


def _columns_in(path: Path, there: list[str], columns: Columns) -> list[str]:
    """Return the names of the columns to read; raise :class:`DedupError` where one is missing."""
    required = [columns.content, *filter(None, [columns.id, columns.time])]
    if not columns.id:
        required.append(columns.url)
    missing = [name for name in required if name not in there]
    if missing:
        raise DedupError(f"{path} has no column {', '.join(map(repr, missing))}; it has {', '.join(there)}.")
    return list(dict.fromkeys([*required, *(name for name in [columns.url] if name in there)]))
