"""Numbers are looked up in a set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.batch import membership
from crawler_dedup.batch.membership import is_among, is_repeated

NUMBERS = st.lists(st.integers(0, 40) | st.integers(0, (1 << 64) - 1), max_size=80)


@given(numbers=NUMBERS, members=NUMBERS)
def test_numbers_are_members_as_in_a_set(numbers: list[int], members: list[int]) -> None:
    flags = is_among(np.array(numbers, dtype=np.uint64), np.array(members, dtype=np.uint64))
    assert flags.tolist() == [number in members for number in numbers]


@given(numbers=NUMBERS)
def test_repeated_numbers_are_flagged(numbers: list[int]) -> None:
    assert is_repeated(np.array(numbers, dtype=np.uint64)).tolist() == [numbers.count(number) > 1 for number in numbers]


def test_many_numbers_are_looked_up_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_PIECE", 1_000)
    monkeypatch.setattr(membership, "_MOST_BITS", membership._LEAST_BITS)
    members = np.random.default_rng(1).integers(0, 1 << 64, 20_000, dtype=np.uint64)
    numbers = np.random.default_rng(2).permutation(np.concatenate([members[:5_000], members + np.uint64(1)]))
    assert is_among(numbers, members).tolist() == np.isin(numbers, members).tolist()
