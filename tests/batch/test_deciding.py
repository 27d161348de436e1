"""Rows that a look-up of one of them finds are in one group, and groups are decided as all pages in one process."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

import pyarrow as pa
import pyarrow.compute as pc

from crawler_dedup import Config
from crawler_dedup.batch import neighbours
from crawler_dedup.batch.candidates import looks_up_by_keys
from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.executors import GROUPED, decide_groups
from crawler_dedup.batch.find import PROFILES
from crawler_dedup.batch.linking import (
    LINKS,
    Groups,
    Links,
    find_groups,
    link_rows_with_equal_numbers,
    link_rows_with_near_signatures,
    spread_keys,
    spread_numbers,
)
from crawler_dedup.batch.neighbours import find_neighbours, tables_for
from crawler_dedup.batch.output import CLUSTERS, KEPT
from crawler_dedup.batch.shard import TEXT, THIN, UNSIGNED, read_columns
from crawler_dedup.hashes import Numbers
from crawler_dedup.inspection.transfer import read_profiles
from crawler_dedup.rules.counts import can_read
from crawler_dedup.signing.signer import Signer
from tests.support.collections import Page, example_folder, find, make_pages, sign, table, write_pages
from tests.support.examples import examples
from tests.support.indexing import clusters


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


# Decisions

FIELDS = ("representative", "rule", "distance", "resemblance", "coverage")


def read(
    signed: Path, columns: Sequence[str], kinds: Sequence[str] = (TEXT, THIN, UNSIGNED)
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a collection as executors do: without unsigned numbers, which Spark does not have."""
    first = 0
    for shard in Collection.open(signed).shards:
        wanted = dict.fromkeys(("kind", *columns))
        wanted.pop("row", None)
        for batch in read_columns(shard.data, [*wanted]):
            arrays = {name: batch.column(name) for name in wanted}
            arrays["row"] = pa.array(np.arange(first, first + len(batch)))
            first += len(batch)
            signed_arrays = [
                array.view(pa.int64()) if array.type == pa.uint64() else array
                for array in (arrays[name] for name in columns)
            ]
            rows = pa.RecordBatch.from_arrays(signed_arrays, names=[*columns])
            yield rows.filter(pc.is_in(batch.column("kind"), pa.array(kinds)))


def decided_in_groups(signed: Path, profiles: Path, config: Config, order: str, partitions: int) -> dict[int, Any]:
    """Return what several tasks decide about the pages of a collection, by row."""
    frozen = read_profiles(profiles, Signer(config).spec, can_read)
    matcher = RememberingMatcher(config, Signer(config).scheme)
    by_keys = looks_up_by_keys(matcher.scheme)
    tables = () if by_keys else tables_for(config.max_distance, 100)
    numbers = read(signed, ("row", "kind", "signature", "name", "title"))
    keyed = read(signed, ("row", "page"), (TEXT, THIN) if by_keys else (THIN,))
    spread = chain(
        spread_numbers(numbers, by_distance=not by_keys), spread_keys(keyed, matcher=matcher, profiles=frozen)
    )
    equal = partial(link_rows_with_equal_numbers, tables=tables)
    linked = (batch for part in exchanged(spread, partitions) for batch in equal(part))
    near = partial(link_rows_with_near_signatures, tables=tables, max_distance=config.max_distance)
    groups = find_groups(read_links(batch) for part in exchanged(linked, partitions) for batch in near(part))
    columns = (*GROUPED, *filter(None, [order.removeprefix("-")]))
    batches = [*read(signed, columns, (TEXT, THIN))]
    if not batches:
        return {}
    rows = pa.Table.from_batches(batches)
    decided: dict[int, Any] = {}
    for part in range(partitions):
        numbers_of_part = groups.rows[groups.numbers % partitions == part]
        chosen = rows.filter(pa.array(np.isin(rows["row"].to_numpy(), numbers_of_part)))
        batches_of_part = chosen.to_batches(7)
        for batch in decide_groups(batches_of_part, matcher=matcher, profiles=frozen, order=order):
            decided |= {row["row"]: row for row in batch.to_pylist()}
    return decided


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pages=st.builds(make_pages, st.integers(0, 1 << 32), st.integers(1, 80)),
    cut=st.integers(1, 60),
    scheme=st.sampled_from(["simhash", "simhash", "minhash"]),
    distance=st.sampled_from([0, 3, 7]),
    order=st.sampled_from(["", "-size"]),
    partitions=st.integers(1, 4),
)
def test_groups_are_decided_as_all_pages_in_one_process(
    tmp_path: Path, pages: list[Page], cut: int, scheme: str, distance: int, order: str, partitions: int
) -> None:
    config = Config(tokenizer="bigrams", scheme=scheme, max_distance=distance)
    with example_folder(tmp_path) as folder:
        inputs = [
            write_pages(folder / f"{name}.jsonl", part)
            for name, part in (("a", pages[:cut]), ("b", pages[cut:]))
            if part
        ]
        sign(inputs, folder / "signed", config)
        find(folder / "signed", folder / "out", config, order=order)
        decided = decided_in_groups(folder / "signed", folder / "out" / PROFILES, config, order, partitions)
        starts = {str(path): first for path, first in zip(inputs, (0, cut), strict=False)}
        for row in table(folder / "out" / KEPT):
            number = starts[row["input"]] + row["record"]
            if number in decided:
                assert (decided[number]["decided"], decided[number]["representative"]) == (row["verdict"], None)
            else:
                assert row["verdict"] in ("new", "unchecked")
        left_out = {starts[row["input"]] + row["record"]: row for row in table(folder / "out" / CLUSTERS)}
        assert {number for number, row in decided.items() if row["representative"] is not None} == set(left_out)
        for number, row in left_out.items():
            assert decided[number]["decided"] == row["verdict"]
            assert [decided[number][name] for name in FIELDS] == [row[name] for name in FIELDS]
