"""The exchange of rows by Spark between two steps: all rows of a part get into the same partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from crawler_dedup.batch.linking import Links


def exchanged(batches: Iterator[pa.RecordBatch], partitions: int) -> list[list[pa.RecordBatch]]:
    """Distribute the rows of each part over some partitions, as Spark does."""
    arrived: list[list[pa.RecordBatch]] = [[] for _ in range(partitions)]
    for batch in batches:
        parts = batch.column("part").to_numpy() % partitions
        for part in np.unique(parts).tolist():
            arrived[part].append(batch.filter(pa.array(parts == part)))
    return arrived


def read_links(batch: pa.RecordBatch) -> Links:
    """Return the links in a batch."""
    return Links(batch.column("number").to_numpy(), batch.column("row").to_numpy())
