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


@example({0, 256}, set(), 0)
@given(st.one_of(SMALL, LARGE), st.one_of(SMALL, LARGE), st.integers(0, 2**32))
def test_resemblance_is_symmetric_and_depends_on_the_sets_only(first: set[int], second: set[int], seed: int) -> None:
    a, b = sketch(array(first)), sketch(array(second))
    assert sketch(np.array(random.Random(seed).sample(sorted(first), len(first)), dtype=np.uint64)) == a
    assert resemblance(a, a) == 1
    assert 0 <= resemblance(a, b) == resemblance(b, a) <= 1
    assert resemblance(sketch(array(set())), a) == (not first)


# Small sets: exact


@given(SMALL, SMALL)
def test_the_resemblance_of_two_small_sets_is_exact(first: set[int], second: set[int]) -> None:
    a, b = set(map(kept_of, first)), set(map(kept_of, second))
    assert resemblance(sketch(array(first)), sketch(array(second))) == (len(a & b) / len(a | b) if a | b else 1)


# Large sets: estimated


def test_the_estimate_for_two_sets_is_right_on_average() -> None:
    """Of a set of 64, all members are stored, and of a larger one some; one member more makes little difference."""
    for size, other_size, common in [
        *(
            (size, size, int(2 * size * share / (1 + share)))
            for size in (65, 300, 5000)
            for share in (0, 0.3, 0.65, 0.9)
        ),
        *((64, 65, 64), (64, 65, 20), (40, 70, 40), (40, 200, 40), (20, 100, 10), (64, 300, 0)),
    ]:
        union, errors = size + other_size - common, []
        for seed in range(300):
            drawn = np.frombuffer(random.Random(seed).randbytes(8 * union), dtype="<u8")
            first, second = np.sort(drawn[:size]), np.sort(np.concatenate([drawn[:common], drawn[size:]]))
            errors.append(resemblance(sketch(first), sketch(second)) - common / union)
        assert abs(np.mean(errors)) < 0.02
        assert np.std(errors) < 0.09


# Containment


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))
def test_containment_is_exact_where_resemblance_is(new_alone: int, kept_alone: int, common: int) -> None:
    size, kept_size, union = new_alone + common, kept_alone + common, new_alone + kept_alone + common
    if size:
        assert containment(common / union, size, kept_size) == pytest.approx(common / size)


@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(0, 10**6))
def test_no_more_is_contained_than_either_set_has(estimate: float, size: int, kept_size: int) -> None:
    assert 0 <= containment(estimate, size, kept_size) <= min(size, kept_size) / size
    assert containment(estimate, 0, kept_size) == 1
