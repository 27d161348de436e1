"""Every signature that has a neighbour is found."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.batch import neighbours
from crawler_dedup.batch.neighbours import ResidentSignatures, find_neighbours, is_among, tables_for
from crawler_dedup.hashes import Numbers
from crawler_dedup.permutedtables import BITS
from tests.support.indexing import SPREADS, array


def near(signatures: Numbers, targets: Numbers, max_distance: int, *, least: int = 1) -> list[bool]:
    """Return for each signature whether at least so many *targets* are near it."""
    return [int((np.bitwise_count(targets ^ signature) <= max_distance).sum()) >= least for signature in signatures]


@given(
    spread=st.sampled_from(sorted(SPREADS)),
    seed=st.integers(0, 1 << 32),
    size=st.integers(0, 300),
    max_distance=st.integers(0, 7),
)
def test_near_signatures_equal_brute_force(spread: str, seed: int, size: int, max_distance: int) -> None:
    signatures = array(SPREADS[spread](seed, size))
    flags = find_neighbours(signatures, max_distance)
    assert flags.tolist() == near(signatures, signatures, max_distance, least=2)


def test_a_table_permutes_the_bits_of_a_signature_and_loses_none() -> None:
    for max_distance, count in product(range(1, 8), [1_000, 10**6, 10**9]):
        signatures = np.random.default_rng(2).integers(0, 1 << 64, 100, dtype=np.uint64)
        tables = tables_for(max_distance, count)
        for table in tables:
            assert sum(width for _, width in table.ranges) == BITS
            assert (table.restore(table.permute(signatures)) == signatures).all()
        # Whichever bits differ, some table has none of them among its leading blocks.
        differing = np.random.default_rng(3).integers(0, BITS, (200, max_distance), dtype=np.uint64)
        neighbours = signatures[0] ^ np.bitwise_xor.reduce(np.uint64(1) << differing, axis=1)
        is_found = np.zeros(len(neighbours), dtype=bool)
        for table in tables:
            others = np.uint64(BITS - table.leading)
            is_found |= table.permute(neighbours) >> others == table.permute(signatures[:1]) >> others
        assert is_found.all()


@given(
    spread=st.sampled_from(sorted(SPREADS)),
    seed=st.integers(0, 1 << 32),
    size=st.integers(0, 200),
    cuts=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    max_distance=st.integers(0, 7),
)
def test_signatures_near_resident_ones_are_those_of_brute_force(
    spread: str, seed: int, size: int, cuts: tuple[float, float], max_distance: int
) -> None:
    signatures = np.random.default_rng(seed).permutation(array(SPREADS[spread](seed, size)))
    new, first, second = np.split(signatures, sorted(int(cut * size) for cut in cuts))
    new = np.unique(new)
    resident = ResidentSignatures(new, max_distance)
    for passing in (first, second):
        assert resident.match(passing).tolist() == near(passing, new, max_distance)
    assert resident.flags.tolist() == near(new, np.concatenate([first, second]), max_distance)


@pytest.mark.parametrize(("bits", "max_distance"), [(26, 1), (30, 4), (24, 4), (46, 7)])
def test_signatures_that_agree_in_many_bits_are_not_all_compared(bits: int, max_distance: int) -> None:
    generator = np.random.default_rng(1)
    new, existing = (generator.integers(0, 1 << bits, 4_000, dtype=np.uint64) << np.uint64(9) for _ in range(2))
    new = np.unique(new)
    assert find_neighbours(new, max_distance).tolist() == near(new, new, max_distance, least=2)
    resident = ResidentSignatures(new, max_distance)
    assert resident.match(existing).tolist() == near(existing, new, max_distance)
    assert resident.flags.tolist() == near(new, existing, max_distance)


def test_many_numbers_are_looked_up_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_PIECE", 1_000)
    members = np.random.default_rng(1).integers(0, 1 << 64, 20_000, dtype=np.uint64)
    numbers = np.random.default_rng(2).permutation(np.concatenate([members[:5_000], members + np.uint64(1)]))
    assert is_among(numbers, members).tolist() == np.isin(numbers, members).tolist()
