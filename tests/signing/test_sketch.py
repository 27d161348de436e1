from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_dedup.signing.sketch import BINS, WHOLE, containment, read_members, resemblance, sketch

Hashes = NDArray[np.uint64]

SMALL = st.sets(st.integers(0, 2**64 - 1), max_size=WHOLE)
LARGE = st.tuples(st.integers(0, 2**32), st.integers(WHOLE + 1, 400)).map(lambda drawn: drawn_from(*drawn))


def array(hashes: set[int]) -> Hashes:
    return np.array(sorted(hashes), dtype=np.uint64)


def drawn_from(seed: int, size: int) -> set[int]:
    source = random.Random(seed)
    return {source.getrandbits(64) for _ in range(size)}


def kept_of(number: int) -> int:
    """Return what a sketch keeps of a hash: the 16 high bits, which say bin and order, and the 8 low ones."""
    return number >> 48 << 8 | number & 0xFF


# What is kept


@given(SMALL)
def test_a_small_set_is_kept_whole_in_three_bytes_each(hashes: set[int]) -> None:
    expected = set(map(kept_of, hashes))
    content = sketch(array(hashes))
    assert len(content) == 3 * len(expected) <= 192
    members_read = read_members(content)
    assert members_read is not None
    assert members_read.tolist() == sorted(expected)


@given(LARGE)
def test_each_bin_of_a_large_set_keeps_its_smallest_member(hashes: set[int]) -> None:
    content = sketch(array(hashes))
    assert len(content) == BINS
    assert read_members(content) is None
    for number in range(BINS):
        members = [kept_of(member) for member in hashes if member >> 58 == number]
        assert content[number] == ((min(members) & 0xFF) % 255 + 1 if members else 0)


@given(st.one_of(SMALL, LARGE), st.integers(0, 2**32))
def test_a_sketch_does_not_depend_on_the_order_of_the_set(hashes: set[int], seed: int) -> None:
    shuffled = random.Random(seed).sample(sorted(hashes), len(hashes))
    assert sketch(np.array(shuffled, dtype=np.uint64)) == sketch(array(hashes))


@given(st.one_of(SMALL, LARGE), st.one_of(SMALL, LARGE))
def test_resemblance_is_symmetric_and_between_0_and_1(first: set[int], second: set[int]) -> None:
    a, b = sketch(array(first)), sketch(array(second))
    assert 0 <= resemblance(a, b) == resemblance(b, a) <= 1


@example({0, 256})
@given(st.one_of(SMALL, LARGE))
def test_a_set_resembles_itself_wholly(hashes: set[int]) -> None:
    assert resemblance(sketch(array(hashes)), sketch(array(hashes))) == 1


# Small sets: exact


@given(SMALL, SMALL)
def test_the_resemblance_of_two_small_sets_is_exact(first: set[int], second: set[int]) -> None:
    a, b = set(map(kept_of, first)), set(map(kept_of, second))
    assert resemblance(sketch(array(first)), sketch(array(second))) == (len(a & b) / len(a | b) if a | b else 1)


@pytest.mark.parametrize("common", [0, 1, 13, 32, 63, 64])
def test_the_resemblance_of_two_real_small_sets_is_that_of_the_sets(common: int) -> None:
    for seed in range(50):
        both, left, right = (array(drawn_from(3 * seed + part, 64)) for part in range(3))
        a, b = np.union1d(both[:common], left[common:]), np.union1d(both[:common], right[common:])
        assert resemblance(sketch(a), sketch(b)) == common / (128 - common)


def test_an_empty_set_resembles_nothing_but_another_empty_one() -> None:
    empty = sketch(array(set()))
    assert empty == b""
    assert resemblance(empty, empty) == 1
    for size in (1, WHOLE, WHOLE + 1, 500):
        assert resemblance(empty, sketch(array(drawn_from(1, size)))) == 0


# Large sets: estimated


def errors(size: int, other_size: int, common: int) -> list[float]:
    """Return estimate minus truth for 300 pairs of sets of *size* and *other_size* members, *common* to both."""
    found_errors = []
    for seed in range(300):
        drawn = np.frombuffer(random.Random(seed).randbytes(8 * (size + other_size - common)), dtype="<u8")
        first, second = np.sort(drawn[:size]), np.sort(np.concatenate([drawn[:common], drawn[size:]]))
        estimate = resemblance(sketch(first), sketch(second))
        found_errors.append(estimate - common / (size + other_size - common))
    return found_errors


@pytest.mark.parametrize("size", [65, 80, 300, 5000])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.65, 0.9])
def test_the_estimate_for_two_large_sets_is_right_on_average(size: int, share: float) -> None:
    estimation_errors = errors(size, size, int(2 * size * share / (1 + share)))
    assert abs(np.mean(estimation_errors)) < 0.02
    assert np.std(estimation_errors) < 0.09


@pytest.mark.parametrize(
    ("small", "large", "common"),
    [(64, 65, 64), (64, 65, 55), (64, 65, 20), (60, 80, 60), (40, 70, 40), (40, 200, 40), (20, 100, 10), (64, 300, 0)],
)
def test_the_estimate_for_a_small_and_a_large_set_is_right_on_average(small: int, large: int, common: int) -> None:
    estimation_errors = errors(small, large, common)
    assert abs(np.mean(estimation_errors)) < 0.02
    assert np.std(estimation_errors) < 0.09


@pytest.mark.parametrize("shared", [10, 40, 60, 64])
def test_one_member_beyond_the_limit_of_whole_sets_changes_the_estimate_little(shared: int) -> None:
    """Sets of 64 and of 65 members are stored differently, but can be compared."""
    of_whole, of_mixed, of_binned = [], [], []
    for seed in range(300):
        pool = sorted(drawn_from(seed, 200), key=lambda number: number % 997)
        kept, new = set(pool[:64]), {*pool[:shared], *pool[100 : 164 - shared]}
        wholes = sketch(array(kept)), sketch(array(new))
        binned = sketch(array({*kept, pool[-1]})), sketch(array({*new, pool[-1]}))
        assert [read_members(packed_sketch) is None for packed_sketch in (*wholes, *binned)] == [
            False,
            False,
            True,
            True,
        ]
        of_whole.append(resemblance(*wholes))
        of_mixed.append(resemblance(wholes[0], binned[1]))
        of_binned.append(resemblance(*binned))
    assert np.mean(of_mixed) == pytest.approx(np.mean(of_whole), abs=0.03)
    assert np.mean(of_binned) == pytest.approx(np.mean(of_whole), abs=0.03)


# Containment


def test_containment_follows_from_resemblance_and_sizes() -> None:
    # 50 of the 60 in the small set stand in the large one of 200: 50 / 210 resemblance.
    assert containment(50 / 210, 60, 200) == pytest.approx(50 / 60)
    assert containment(50 / 210, 200, 60) == pytest.approx(50 / 200)
    assert containment(0, 0, 10) == 1


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))
def test_containment_is_exact_where_resemblance_is(new_alone: int, kept_alone: int, common: int) -> None:
    size, kept_size, union = new_alone + common, kept_alone + common, new_alone + kept_alone + common
    if size:
        assert containment(common / union, size, kept_size) == pytest.approx(common / size)


@given(st.floats(0, 1), st.integers(0, 10**6), st.integers(0, 10**6))
def test_containment_is_between_0_and_1_for_every_estimate(estimate: float, size: int, kept_size: int) -> None:
    assert 0 <= containment(estimate, size, kept_size) <= 1
