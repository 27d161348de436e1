"""Schemas of the rows that tasks return: written once as Spark reads them, and converted for Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "short": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
}


def arrow_schema(columns: str) -> pa.Schema:
    """Convert a schema that Spark reads, such as ``"row long, id string"``, for Arrow."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in map(str.split, columns.split(","))])


def make_batches(rows: Iterable[Sequence[Any]], schema: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """Yield *rows* as batches of *schema*, of at most *size* rows each."""
    waiting = iter(rows)
    while batch := list(islice(waiting, size)):
        columns = zip(zip(*batch, strict=True), schema, strict=True)
        yield pa.RecordBatch.from_arrays([pa.array(column, field.type) for column, field in columns], schema=schema)
