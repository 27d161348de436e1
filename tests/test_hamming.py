from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_dedup.hamming import DESIGNS, Design, near, sort_distinct
from crawler_dedup.index.planning import estimate_cost
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.schemes import SimHash
from tests.support.indexing import array, brute_force, flipped

SIGNATURES = st.integers(0, 2**64 - 1)
REACHES = [(tables, reach) for tables, design in DESIGNS.items() for reach in range(design.max_distance + 1)]
every_design = pytest.mark.parametrize("design", DESIGNS.values(), ids=str(list(DESIGNS)).strip("[]").split(", "))


def test_the_designs_are_those_of_the_paper() -> None:
    for tables, max_distance, prefix_bits in [(4, 7, {16}), (10, 3, {25, 26}), (16, 3, {28}), (20, 3, {31, 32, 33})]:
        design = DESIGNS[tables]
        assert (design.tables, design.max_distance, set(design.prefix_bits)) == (tables, max_distance, prefix_bits)
        assert len(design.leading) == len(set(design.leading)) == tables


@every_design
def test_a_key_has_the_leading_bits_of_its_table_and_no_others(design: Design) -> None:
    signature = random.Random(1).getrandbits(64)
    assert [design.table_of(key) for key in design.keys(signature)] == list(range(design.tables))
    for table, ranges in enumerate(design.leading):
        leading = {bit for low, width in ranges for bit in range(low, low + width)}
        changes = [design.keys(signature)[table] ^ design.keys(signature ^ 1 << bit)[table] for bit in range(64)]
        assert {bit for bit, change in enumerate(changes) if change} == leading
        moved = [change for change in changes if change]
        assert all(change.bit_count() == 1 for change in moved)
        assert len(set(moved)) == design.prefix_bits[table] == len(leading)


@every_design
def test_the_first_table_is_in_the_order_of_the_signatures(design: Design) -> None:
    source = random.Random(2)
    signatures = array({source.getrandbits(64) for _ in range(500)})
    first = design.keys_of_many(signatures)[:, 0]
    assert (first[:-1] <= first[1:]).all()


@every_design
def test_keys_of_many_signatures_equal_those_of_each(design: Design) -> None:
    source = random.Random(3)
    signatures = [source.getrandbits(64) for _ in range(50)]
    assert design.keys_of_many(array(signatures)).tolist() == [design.keys(signature) for signature in signatures]
    assert design.keys_of_many(array([])).shape == (0, design.tables)


@pytest.mark.parametrize(("tables", "max_distance"), REACHES)
@given(signature=SIGNATURES, data=st.data())
def test_probes_include_a_key_of_every_signature_within_the_distance(
    tables: int, max_distance: int, signature: int, data: st.DataObject
) -> None:
    neighbour = signature
    for bit in data.draw(st.lists(st.integers(0, 63), max_size=max_distance, unique=True)):
        neighbour ^= 1 << bit
    design = DESIGNS[tables]
    assert set(design.keys(neighbour)) & set(design.probes(signature, max_distance))


def test_probes_are_distinct_buckets_of_the_tables() -> None:
    for tables, max_distance in REACHES:
        design = DESIGNS[tables]
        probes = design.probes(0x0123456789ABCDEF, max_distance)
        assert len(set(probes)) == len(probes)
        for probe in probes:
            assert probe & (1 << 40) - 1 < 2 ** design.prefix_bits[design.table_of(probe)]


def test_there_are_no_more_probes_than_multi_index_hashing_needs() -> None:
    for max_distance, probes in enumerate([1, 2, 3, 4, 20, 36, 52, 68]):
        for signature in (0, 12345, 2**64 - 1):
            assert len(set(DESIGNS[4].probes(signature, max_distance))) == probes


def test_a_crawl_looks_up_the_probes_of_the_tables() -> None:
    for tables, max_distance in REACHES:
        scheme, signature = SimHash(max_distance, tables=tables), 0xFEDCBA9876543210
        assert set(scheme.probes(Signature(signature))) == set(DESIGNS[tables].probes(signature, max_distance))
        assert scheme.keys(Signature(signature)) == DESIGNS[tables].keys(signature)


@pytest.mark.parametrize(("tables", "max_distance"), REACHES)
@given(signature=SIGNATURES, filed=st.lists(SIGNATURES, max_size=20), data=st.data())
def test_a_look_up_of_the_crawl_finds_what_brute_force_finds(
    tables: int, max_distance: int, signature: int, filed: list[int], data: st.DataObject
) -> None:
    source = random.Random(data.draw(st.integers(0, 2**32)))
    filed += [flipped(source, signature, source.randint(0, max_distance + 2)) for _ in range(20)]
    scheme, new = SimHash(max_distance, tables=tables), Signature(signature)
    expected = {match.signature for match in brute_force(np.unique(array(filed)), signature, max_distance)}
    assert {number for number in filed if scheme.finds(new, Signature(number))} == expected


@given(st.lists(st.integers(0, 9) | SIGNATURES))
def test_distinct_numbers_are_those_of_a_set_in_their_order(numbers: list[int]) -> None:
    for kind in (np.uint64, np.uint32, np.int64):
        given_numbers: NDArray[np.integer[Any]] = array(numbers).astype(kind)
        distinct = sort_distinct(given_numbers)
        assert distinct.dtype == kind
        assert distinct.tolist() == sorted(set(given_numbers.tolist()))


@given(SIGNATURES, st.lists(SIGNATURES), st.integers(0, 64), st.data())
def test_near_signatures_are_those_of_brute_force(
    signature: int, filed: list[int], max_distance: int, data: st.DataObject
) -> None:
    source = random.Random(data.draw(st.integers(0, 2**32)))
    filed += [flipped(source, signature, source.randint(0, 10)) for _ in range(len(filed))]
    assert near(signature, array(filed), max_distance) == brute_force(np.unique(array(filed)), signature, max_distance)
    assert near(signature, np.repeat(array(filed), 2), max_distance) == near(signature, array(filed), max_distance)


def test_a_plan_has_the_figures_of_the_paper() -> None:
    for tables, max_distance, probes, candidates in [
        (4, 0, 1, 1e9 / 2**16),
        (4, 3, 4, 4e9 / 2**16),
        (4, 7, 68, 68e9 / 2**16),
        (10, 3, 10, 4e9 / 2**25 + 6e9 / 2**26),
        (16, 3, 16, 16e9 / 2**28),
    ]:
        cost = estimate_cost(DESIGNS[tables], 1e9, max_distance)
        assert (cost.probes, cost.payload_bytes) == (probes, tables * 8e9)
        assert cost.disk_bytes > cost.payload_bytes
        assert cost.candidates == pytest.approx(candidates)
