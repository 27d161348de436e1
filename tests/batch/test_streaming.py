"""Of signatures that stream past others, all near ones are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.batch.streaming import ResidentSignatures
from crawler_dedup.hamming import Numbers
from tests.support.indexing import SPREADS, array


def near(signatures: Numbers, targets: Numbers, max_distance: int) -> list[bool]:
    return [bool((np.bitwise_count(targets ^ signature) <= max_distance).any()) for signature in signatures]


@given(
    spread=st.sampled_from(sorted(SPREADS)),
    seed=st.integers(0, 1 << 32),
    size=st.integers(0, 200),
    cuts=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    max_distance=st.integers(0, 7),
)
def test_near_signatures_are_those_of_brute_force(
    spread: str, seed: int, size: int, cuts: tuple[float, float], max_distance: int
) -> None:
    signatures = np.random.default_rng(seed).permutation(array(SPREADS[spread](seed, size)))
    new, first, second = np.split(signatures, sorted(int(cut * size) for cut in cuts))
    new = np.unique(new)
    resident = ResidentSignatures(new, max_distance)
    for passing in (first, second):
        assert resident.pass_by(passing).tolist() == near(passing, new, max_distance)
    assert resident.flags.tolist() == near(new, np.concatenate([first, second]), max_distance)


@pytest.mark.parametrize(("bits", "max_distance"), [(26, 1), (30, 4), (24, 4), (46, 7)])
def test_signatures_that_agree_in_many_bits_are_not_all_compared(bits: int, max_distance: int) -> None:
    generator = np.random.default_rng(1)
    new, existing = (generator.integers(0, 1 << bits, 4_000, dtype=np.uint64) << np.uint64(9) for _ in range(2))
    new = np.unique(new)
    resident = ResidentSignatures(new, max_distance)
    assert resident.pass_by(existing).tolist() == near(existing, new, max_distance)
    assert resident.flags.tolist() == near(new, existing, max_distance)
