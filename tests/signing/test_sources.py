"""The worked examples of the texts that the project comes from (docs/explanation/sources.md)."""

from math import sqrt

import numpy as np

from crawler_dedup.hashes import Numbers
from crawler_dedup.permutedtables import distance
from crawler_dedup.signing.features import Features
from crawler_dedup.signing.schemes.minhash import one_permutation
from crawler_dedup.signing.schemes.simhash import simhash
from tests.support.processes import run
from tests.support.prose import text_of


def hashes(*members: int) -> Numbers:
    """Draw random numbers that represent the members of a set."""
    source = np.random.default_rng(5).integers(0, 2**63, 10_000, dtype=np.uint64)
    return np.sort(source[list(members)])


# Shingles (Broder et al. 1997)


def test_a_rose_is_a_rose_is_a_rose_has_three_shingles_of_four() -> None:
    text = text_of("a rose is a rose is a rose")
    assert len(text.units) - 4 + 1 == 5
    assert len(text.shingles(4)) == 3
    written = [text_of(run).shingles(4)[0] for run in ("a rose is a", "rose is a rose", "is a rose is")]
    assert sorted(written) == text.shingles(4).tolist()


# Min-hash (Broder 1997; overview of shingling and simhash)


def test_two_sets_have_the_same_least_hash_with_the_probability_of_their_resemblance() -> None:
    for common in [0, 10, 50, 90, 100]:
        new, kept = hashes(*range(100)), hashes(*range(100 - common, 200 - common))
        resemblance = common / (200 - common)
        bins = 1 << 14
        same = np.count_nonzero(one_permutation(new, bins) == one_permutation(kept, bins)) / bins
        # With many more bins than members, the members are thrown repeatedly: the draws depend little on each other.
        assert abs(same - resemblance) <= 6 * sqrt(resemblance * (1 - resemblance) / bins) + 1e-3


# Simhash (Charikar 2002; Manku, Jain and Das Sarma 2007; the texts about simhash with four tables)


def test_the_three_example_signatures_have_the_published_distances() -> None:
    first, second, third = 851459198, 847263864, 984968088
    assert (distance(first, second), distance(first, third), distance(second, third)) == (4, 16, 12)


def test_the_two_similar_ones_of_the_three_example_sentences_are_the_nearest() -> None:
    raws = "the cat sat on the mat", "the cat sat on a mat", "we all scream for ice cream"
    first, second, third = (simhash(text_of(raw).features) for raw in raws)
    assert distance(first, second) < min(distance(first, third), distance(second, third))


def test_a_bit_is_set_if_the_features_that_have_it_outweigh_the_others() -> None:
    features = Features(
        hashes=np.array([0b0011, 0b0101, 0b1001], dtype=np.uint64),
        weights=np.array([3.0, 1.0, 1.0]),
        is_content=np.ones(3, dtype=np.bool_),
        counts=np.ones(3),
    )
    assert simhash(features) == 0b0011  # +5, +3-2, -3+1-1, -3-1+1


# Permuted tables (Manku, Jain and Das Sarma 2007, §3.1)


def test_the_tables_of_the_paper_come_out_for_its_numbers_and_find_all() -> None:
    done = run(["-m", "benchmarks.tables", "--n", "20_000", "--look-ups", "40"])
    words = [line.split() for line in done.stdout.splitlines()]
    planned = {line[3]: " ".join(line[4:]) for line in words if line[:1] == ["≤"] and line[2] == "candidates"}
    assert planned == {"20": "6 31–33 8", "16": "4, then 4 28 64", "10": "5 25–26 512", "4": "4 16 262,144"}
    longest = {line[3]: " ".join(line[4:]) for line in words if line[:1] == ["≤"] and line[2] == "tables"}
    assert longest == planned
    probes = {(line[0], line[1]): line[2] for line in words if line[-2:-1] == ["of"]}
    assert probes == {
        **{(tables, "3"): tables for tables in planned},
        **{("4", k): count for k, count in [("4", "20"), ("5", "36"), ("6", "52"), ("7", "68")]},
    }
    assert all(line[-3] == line[-1] != "0" for line in words if line[-2:-1] == ["of"])
