"""Every pair of near signatures is listed once, whatever the list is made with."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.batch.kernel import list_runs
from crawler_dedup.batch.nearpairs import ListRuns, list_near_pairs, list_runs_in_numpy
from tests.support.indexing import SPREADS, array

LISTS = {"numba": list_runs, "numpy": list_runs_in_numpy}


@pytest.mark.parametrize("list_runs", LISTS.values(), ids=LISTS)
@given(
    spread=st.sampled_from(sorted(SPREADS)),
    seed=st.integers(0, 1 << 32),
    size=st.integers(0, 300),
    max_distance=st.integers(0, 7),
)
def test_each_near_pair_is_listed_once(
    list_runs: ListRuns, spread: str, seed: int, size: int, max_distance: int
) -> None:
    signatures = array(SPREADS[spread](seed, size))
    crowded = np.zeros(size, dtype=bool)
    listed = Counter(
        pair
        for ends in list_near_pairs(signatures, max_distance, crowded, list_runs=list_runs)
        for pair in zip(*(end.tolist() for end in ends), strict=True)
    )
    near = np.bitwise_count(signatures[:, None] ^ signatures) <= max_distance
    assert listed == Counter(zip(*(end.tolist() for end in np.nonzero(np.triu(near, 1))), strict=True))
    assert not crowded.any()


@pytest.mark.parametrize("list_runs", LISTS.values(), ids=LISTS)
def test_signatures_that_agree_in_many_bits_are_flagged_as_not_compared(
    list_runs: ListRuns,
) -> None:
    generator = np.random.default_rng(1)
    agreeing = generator.integers(0, 1 << 20, 3_000, dtype=np.uint64)
    unlike = generator.integers(0, 1 << 64, 1_000, dtype=np.uint64) | np.uint64(0x8000800080008000)
    signatures = np.concatenate([agreeing, unlike, unlike[:1]])
    crowded = np.zeros(len(signatures), dtype=bool)
    pairs = list(list_near_pairs(signatures, 3, crowded, list_runs=list_runs))
    assert crowded.tolist() == [True] * 3_000 + [False] * 1_001
    assert (3_000, 4_000) in {pair for ends in pairs for pair in zip(*(end.tolist() for end in ends), strict=True)}
