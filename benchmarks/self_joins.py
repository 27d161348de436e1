"""Find the signatures that have a neighbour by self-joins in databases."""

from __future__ import annotations

import numpy as np

from benchmarks.tables import split_bits
from crawler_dedup.batch.neighbours import Flags
from crawler_dedup.hashes import Numbers


def _blocks_of(signatures: Numbers, max_distance: int) -> list[Numbers]:
    blocks = split_bits(max_distance + 1)
    return [signatures >> np.uint64(block[-1]) & np.uint64((1 << len(block)) - 1) for block in blocks]


def join_in_duckdb(signatures: Numbers, max_distance: int) -> Flags:
    """Find the neighbours by a self-join on each block."""
    import duckdb  # noqa: PLC0415  (extra bench)
    import pyarrow as pa  # noqa: PLC0415

    blocks = {f"b{place}": block for place, block in enumerate(_blocks_of(signatures, max_distance))}
    pages = pa.table({"row": np.arange(len(signatures)), "signature": signatures, **blocks})
    near = np.zeros(len(signatures), dtype=bool)
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("pages", pages)
        for block in blocks:
            pairs = database.execute(
                f"SELECT a.row, b.row FROM pages a JOIN pages b ON a.{block} = b.{block} AND a.row < b.row"
                f" WHERE bit_count(xor(a.signature, b.signature)) <= {max_distance}"
            ).fetchnumpy()
            for rows in pairs.values():
                near[np.asarray(rows)] = True
    return near


def join_in_polars(signatures: Numbers, max_distance: int) -> Flags:
    """Find the neighbours by a self-join on each block."""
    import polars as pl  # noqa: PLC0415  (extra bench)

    blocks = {f"b{place}": block for place, block in enumerate(_blocks_of(signatures, max_distance))}
    pages = pl.LazyFrame({"row": np.arange(len(signatures)), "signature": signatures, **blocks})
    near = np.zeros(len(signatures), dtype=bool)
    for block in blocks:
        pairs = pages.select("row", "signature", block).join(pages.select("row", "signature", block), on=block)
        bits = (pl.col("signature") ^ pl.col("signature_right")).bitwise_count_ones()
        near_pairs = pairs.filter(pl.col("row") < pl.col("row_right"), bits <= max_distance)
        rows = near_pairs.select("row", "row_right").collect(engine="streaming")
        for column in rows.get_columns():
            near[column.to_numpy()] = True
    return near
