"""Of signatures that stream past others, all near ones are found, whatever they are compared with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.batch.kernel import cross_runs
from crawler_dedup.batch.streaming import CrossRuns, ResidentSignatures, cross_runs_in_numpy
from crawler_dedup.hamming import Numbers
from tests.support.indexing import SPREADS, array

WAYS = {"numba": cross_runs, "numpy": cross_runs_in_numpy}


def near(signatures: Numbers, targets: Numbers, max_distance: int) -> list[bool]:
    return [bool((np.bitwise_count(targets ^ signature) <= max_distance).any()) for signature in signatures]


@pytest.mark.parametrize("cross_runs", WAYS.values(), ids=WAYS)
@given(
    spread=st.sampled_from(sorted(SPREADS)),
    seed=st.integers(0, 1 << 32),
    size=st.integers(0, 200),
    cuts=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    max_distance=st.integers(0, 7),
)
def test_near_signatures_are_those_of_brute_force(
    cross_runs: CrossRuns, spread: str, seed: int, size: int, cuts: tuple[float, float], max_distance: int
) -> None:
    signatures = np.random.default_rng(seed).permutation(array(SPREADS[spread](seed, size)))
    new, first, second = np.split(signatures, sorted(int(cut * size) for cut in cuts))
    new = np.unique(new)
    resident = ResidentSignatures(new, max_distance, cross_runs=cross_runs)
    for passing in (first, second):
        assert resident.pass_by(passing).tolist() == near(passing, new, max_distance)
    assert resident.flags.tolist() == near(new, np.concatenate([first, second]), max_distance)


@pytest.mark.parametrize("cross_runs", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("bits", "max_distance"), [(26, 1), (30, 4), (24, 4), (46, 7)])
def test_signatures_that_agree_in_many_bits_are_not_all_compared(
    cross_runs: CrossRuns, bits: int, max_distance: int
) -> None:
    generator = np.random.default_rng(1)
    new, existing = (generator.integers(0, 1 << bits, 4_000, dtype=np.uint64) << np.uint64(9) for _ in range(2))
    new = np.unique(new)
    resident = ResidentSignatures(new, max_distance, cross_runs=cross_runs)
    assert resident.pass_by(existing).tolist() == near(existing, new, max_distance)
    assert resident.flags.tolist() == near(new, existing, max_distance)
