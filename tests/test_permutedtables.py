import random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_dedup import permutedtables
from crawler_dedup.hashes import sort_distinct
from crawler_dedup.permutedtables import MAX_DISTANCE, near
from tests.support.indexing import array, brute_force, flipped

SIGNATURES = st.integers(0, 2**64 - 1)
DISTANCES = st.integers(0, MAX_DISTANCE)


def test_four_tables_have_a_bucket_for_each_block_of_16_bits() -> None:
    assert permutedtables.keys(0x0123_4567_89AB_CDEF) == [0x0123, 1 << 40 | 0x4567, 2 << 40 | 0x89AB, 3 << 40 | 0xCDEF]


@given(signature=SIGNATURES, max_distance=DISTANCES, data=st.data())
def test_probes_include_a_key_of_every_signature_within_the_distance(
    signature: int, max_distance: int, data: st.DataObject
) -> None:
    neighbour = signature
    for bit in data.draw(st.lists(st.integers(0, 63), max_size=max_distance, unique=True)):
        neighbour ^= 1 << bit
    assert set(permutedtables.keys(neighbour)) & set(permutedtables.probes(signature, max_distance))


def test_there_are_no_more_probes_than_multi_index_hashing_needs() -> None:
    for max_distance, count in enumerate([1, 2, 3, 4, 20, 36, 52, 68]):
        for signature in (0, 12345, 2**64 - 1):
            probes = permutedtables.probes(signature, max_distance)
            assert len(set(probes)) == len(probes) == count


@given(st.lists(st.integers(0, 9) | SIGNATURES))
def test_distinct_numbers_are_those_of_a_set_in_their_order(numbers: list[int]) -> None:
    for kind in (np.uint64, np.uint32, np.int64):
        given_numbers: NDArray[np.integer[Any]] = array(numbers).astype(kind)
        distinct = sort_distinct(given_numbers)
        assert distinct.dtype == kind
        assert distinct.tolist() == sorted(set(given_numbers.tolist()))


@given(SIGNATURES, st.lists(SIGNATURES), st.integers(0, 64), st.data())
def test_near_signatures_equal_brute_force(
    signature: int, filed: list[int], max_distance: int, data: st.DataObject
) -> None:
    source = random.Random(data.draw(st.integers(0, 2**32)))
    filed += [flipped(source, signature, source.randint(0, 10)) for _ in range(len(filed))]
    assert near(signature, array(filed), max_distance) == brute_force(np.unique(array(filed)), signature, max_distance)
    assert near(signature, np.repeat(array(filed), 2), max_distance) == near(signature, array(filed), max_distance)
