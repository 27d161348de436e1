"""The least tables of §3.1.2 of Manku, Jain and Das Sarma (WWW 2007): they find all, and there are no fewer."""

from __future__ import annotations

from collections import Counter
from math import comb

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
