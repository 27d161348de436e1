from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_dedup.sketch import containment, resemblance, sketch

HASHES = st.lists(st.integers(0, 2**64 - 1), unique=True).map(lambda found: np.sort(np.array(found, dtype=np.uint64)))


def random_set(seed: int, size: int) -> NDArray[np.uint64]:
    return np.unique(np.random.default_rng(seed).integers(0, 2**64, size, dtype=np.uint64))


@given(HASHES)
def test_a_set_resembles_itself_and_takes_64_bytes(hashes: NDArray[np.uint64]) -> None:
    assert len(sketch(hashes)) == 64
    assert resemblance(sketch(hashes), sketch(hashes)) == pytest.approx(1)


@given(HASHES)
def test_a_bin_holds_its_smallest_hash(hashes: NDArray[np.uint64]) -> None:
    codes = sketch(hashes)
    for number in range(64):
        inside = [one for one in hashes.tolist() if one >> 58 == number]
        assert codes[number] == (min(inside) % 255 + 1 if inside else 0)


@pytest.mark.parametrize("size", [20, 60, 300, 5000])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.65, 0.9])
def test_the_estimate_is_right_on_average(size: int, share: float) -> None:
    errors = []
    for seed in range(200):
        common = int(2 * size * share / (1 + share))
        both, left, right = (
            random_set(3 * seed, common),
            random_set(3 * seed + 1, size - common),
            random_set(3 * seed + 2, size - common),
        )
        a, b = np.union1d(both, left), np.union1d(both, right)
        true = common / (2 * size - common)
        errors.append(resemblance(sketch(a), sketch(b)) - true)
    assert abs(np.mean(errors)) < 0.02
    assert np.std(errors) < 0.11


def test_an_empty_set_resembles_nothing_but_another_empty_one() -> None:
    empty, some = sketch(random_set(0, 0)), sketch(random_set(1, 50))
    assert resemblance(empty, empty) == 1
    assert resemblance(empty, some) == 0


def test_containment_follows_from_resemblance_and_sizes() -> None:
    # 50 of the 60 in the small set stand in the large one of 200: 50 / 210 resemblance.
    assert containment(50 / 210, 60, 200) == pytest.approx(50 / 60)
    assert containment(50 / 210, 200, 60) == pytest.approx(50 / 200)
    assert containment(0, 0, 10) == 1
