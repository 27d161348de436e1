"""Rows that a look-up of one of them finds are in one group, and rows that nothing is near are in none."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

import pyarrow as pa

from crawler_dedup.batch import neighbours
from crawler_dedup.batch.neighbours import find_neighbours, tables_for
from crawler_dedup.batch.shard import TEXT
from crawler_dedup.batch.spark.linking import (
    LINKS,
    Groups,
    find_groups,
    link_rows_with_equal_numbers,
    link_rows_with_near_signatures,
    spread_numbers,
)
from crawler_dedup.hashes import Numbers
from tests.support.indexing import clusters
from tests.support.sparkexchange import exchanged, read_links


def groups_of(signatures: Numbers, max_distance: int, names: Numbers, titles: Numbers, partitions: int) -> Groups:
    """Return the groups of texts, the work of which is done by several tasks."""
    rows = np.arange(len(signatures)) * 7
    columns = {"row": rows, "kind": [TEXT] * len(rows), "signature": signatures, "name": names, "title": titles}
    table = pa.table(
        {name: values if name == "kind" else np.asarray(values).view(np.int64) for name, values in columns.items()}
    )
    tables = tables_for(max_distance, len(rows)) if max_distance else ()
    spread = spread_numbers(table.to_batches(50), by_distance=True)
    equal = partial(link_rows_with_equal_numbers, tables=tables)
    near = partial(link_rows_with_near_signatures, tables=tables, max_distance=max_distance)
    linked = (batch for part in exchanged(spread, partitions) for batch in equal(part))
    done = [batch for part in exchanged(linked, partitions) for batch in near(part)]
    assert {kind for batch in done for kind in batch.column("kind").to_pylist()} <= {LINKS}
    return find_groups(map(read_links, done))


def expected_groups(signatures: Numbers, max_distance: int, names: Numbers, titles: Numbers) -> dict[int, int]:
    """Return the lowest row of each group by comparing all pairs."""
    near = np.bitwise_count(signatures[:, None] ^ signatures) <= max_distance
    near |= (names[:, None] == names) | (titles[:, None] == titles) & (titles != 0)
    group: dict[int, int] = {}
    for start in range(len(signatures)):
        waiting = [start] if start not in group else []
        while waiting:
            row = waiting.pop()
            if row not in group:
                group[row] = start
                waiting.extend(np.flatnonzero(near[row]).tolist())
    members = defaultdict(list)
    for row, first in group.items():
        members[first].append(row)
    return {7 * row: 7 * first for first, rows in members.items() if len(rows) > 1 for row in rows}


@given(seed=st.integers(0, 1 << 32), size=st.integers(1, 200), distance=st.integers(0, 7), partitions=st.integers(1, 5))
def test_groups_equal_those_of_a_comparison_of_all_pairs(seed: int, size: int, distance: int, partitions: int) -> None:
    source = np.random.default_rng(seed)
    signatures = np.array(clusters(seed, size), dtype=np.uint64)
    names, titles = (source.integers(0, 5 * size, size, dtype=np.uint64) for _ in range(2))
    groups = groups_of(signatures, distance, names, titles, partitions)
    expected = expected_groups(signatures, distance, names, titles)
    assert dict(zip(groups.rows.tolist(), groups.numbers.tolist(), strict=True)) == dict(sorted(expected.items()))


def test_dense_signatures_are_linked_without_comparing_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "LONG", 16)
    source = np.random.default_rng(1)
    dense = np.uint64(0xABCDEF) << np.uint64(40) | source.integers(0, 1 << 8, 400, dtype=np.uint64)
    signatures = np.concatenate([dense, source.integers(0, 1 << 64, 400, dtype=np.uint64)])
    nothing = np.arange(len(signatures), dtype=np.uint64)
    groups = groups_of(signatures, 3, nothing, np.zeros_like(nothing), 3)
    near = np.flatnonzero(find_neighbours(signatures, 3))
    assert groups.rows.tolist() == (7 * near).tolist()
    assert len(set(groups.numbers.tolist())) == 1
