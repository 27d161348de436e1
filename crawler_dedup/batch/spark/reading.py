"""Read the shards of a collection in executors, as rows of Spark that are numbered across all shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawler_dedup.batch.shard import read_columns
from crawler_dedup.batch.spark.exchange import Batches, in_pieces

_ROWS, _PAGES = 100_000, 2_000  # rows that are read at a time, without and with the signed pages


def pass_on(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield *batches* unchanged."""
    yield from batches


@dataclass(frozen=True)
class ReadShards:
    """Reads columns of shards, and calls a function with them.

    Attributes:
        columns: the columns; ``row`` is the number of a page in the collection.
        kinds: the kinds of pages that are wanted.
        function: called with the batches of a partition.
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    function: Callable[[Batches], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        yield from self.function(self._read(batches))

    def _read(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all shards that *batches* name."""
        for batch in batches:
            for path, first in zip(batch.column("path").to_pylist(), batch.column("first").to_pylist(), strict=True):
                shard = _read_shard(Path(path), first, self.columns, self.kinds)
                yield from in_pieces(shard, _PAGES if "page" in self.columns else _ROWS)


def _read_shard(path: Path, first: int, columns: Sequence[str], kinds: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of the pages of some *kinds* in a shard whose first row is *first*."""
    wanted = dict.fromkeys(("kind", *columns))
    wanted.pop("row", None)
    for batch in read_columns(path, tuple(wanted)):
        values = {name: batch.column(name) for name in wanted}
        values["row"] = pa.array(np.arange(first, first + len(batch)))
        first += len(batch)
        arrays = [values[name] for name in columns]
        arrays = [array.view(pa.int64()) if array.type == pa.uint64() else array for array in arrays]
        selected = pa.RecordBatch.from_arrays(arrays, names=list(columns))
        yield selected.filter(pc.is_in(values["kind"], pa.array(kinds)))
