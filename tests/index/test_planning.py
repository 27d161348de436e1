"""The least tables of §3.1.2 of Manku, Jain and Das Sarma (WWW 2007): they find all, and there are no fewer."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from math import comb, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.hamming import DESIGNS
from crawler_dedup.index.planning import LeastTables, estimate_cost, find_least_tables

PAGES = 2.0**34
"""8 billion, as the paper counts them."""


@pytest.mark.parametrize(("candidates", "tables"), [(8, 20), (64, 16), (512, 10), (2**18, 4)])
def test_the_designs_of_the_paper_have_the_fewest_tables_for_their_candidates(candidates: int, tables: int) -> None:
    least = find_least_tables(64, 3, PAGES, candidates)
    assert least is not None
    assert least.count == tables
    assert least.tables == Counter(DESIGNS[tables].prefix_bits)
    of_paper = estimate_cost(DESIGNS[tables], PAGES, 3)
    assert least.estimate_cost(PAGES, 64) == of_paper
    assert of_paper.candidates / of_paper.probes <= candidates


def test_blocks_of_one_bit_make_a_table_for_each_choice_of_bits() -> None:
    least = find_least_tables(64, 3, 2.0**61, 1)
    assert least is not None
    assert (least.count, least.blocks, least.tables) == (comb(64, 3), (64,), {61: 41_664})


# Brute force


def cut(bits: tuple[int, ...], blocks: int) -> list[tuple[int, ...]]:
    """Divide bits into blocks of nearly equal length, the longer ones first."""
    size, longer = divmod(len(bits), blocks)
    ends = [number * size + min(number, longer) for number in range(blocks + 1)]
    return [bits[start:end] for start, end in pairwise(ends)]


@cache
def tables_of(bits: tuple[int, ...], distance: int, prefix: int) -> tuple[frozenset[int], ...] | None:
    """Return the leading bits of each table of the best recursive split, by trying all of them."""
    if prefix <= 0:
        return (frozenset(),)
    best: tuple[frozenset[int], ...] | None = None
    for blocks in range(distance + 1, len(bits) + 1):
        masks: list[frozenset[int]] = []
        for chosen in combinations(cut(bits, blocks), blocks - distance):
            leading = frozenset[int]().union(*chosen)
            rest = tables_of(tuple(bit for bit in bits if bit not in leading), distance, prefix - len(leading))
            if rest is None:
                break
            masks += [leading | further for further in rest]
        else:
            if len(masks) < (inf if best is None else len(best)):
                best = tuple(masks)
    return best


@pytest.mark.parametrize("distance", [0, 1, 2, 3])
@pytest.mark.parametrize("bits", [4, 7, 9])
def test_no_recursive_split_makes_fewer_tables_and_every_plan_finds_all(bits: int, distance: int) -> None:
    for prefix in range(bits + 1):
        expected = tables_of(tuple(range(bits)), distance, prefix)
        least = find_least_tables(bits, distance, 2.0**prefix, 1)
        if expected is None:
            assert least is None
            continue
        assert least is not None
        assert least.count == len(expected)
        assert min(least.tables) >= prefix
        # Whichever bits differ, all that lead in some table are the same.
        for different in combinations(range(bits), distance):
            assert any(leading.isdisjoint(different) for leading in expected)


@given(st.integers(8, 128), st.integers(0, 7), st.floats(0, 50), st.floats(-8, 40))
def test_each_probe_finds_at_most_as_many_candidates_as_allowed(
    bits: int, distance: int, pages: float, candidates: float
) -> None:
    least = find_least_tables(bits, distance, 2**pages, 2**candidates)
    if least is None:
        assert pages - candidates > bits - max(distance, 1) - 1
        return
    assert isinstance(least, LeastTables)
    assert all(2 ** (pages - prefix) <= 2**candidates * 1.000001 for prefix in least.tables)
    cost = least.estimate_cost(2**pages, bits)
    assert cost.probes == least.count
    assert cost.disk_bytes >= cost.payload_bytes > 0
    fewer = find_least_tables(bits, distance, 2**pages, 2 ** (candidates + 3))
    assert fewer is not None
    assert fewer.count <= least.count
