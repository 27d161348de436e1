"""Permuted tables: the buckets in which a 64-bit signature is filed, and those in which its neighbours are found.

Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §3. A table permutes all signatures
so that some of their bits lead; a look-up reads everything that agrees in these leading bits. Here a permutation is
never carried out: a table is the choice of its leading bits, and they are the key of a bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
"""64-bit numbers: signatures, hashes, or keys of buckets."""

_Number = TypeVar("_Number", bound=np.integer[Any])

BITS = 64
_TAG_SHIFT = 40
_BlockRange = tuple[int, int]


class SignatureMatch(NamedTuple):
    """A filed signature near the one that was looked up, with their Hamming distance in bits.

    >>> min(SignatureMatch(distance=2, signature=7), SignatureMatch(distance=1, signature=9)).signature
    9
    """

    distance: int
    signature: int


@dataclass(frozen=True)
class Design:
    """A set of tables.

    Attributes:
        tables: number of tables.
        max_distance: largest distance at which the tables find every signature.
        leading: for each table the ranges (lowest bit, number of bits) of the leading bits, most significant first.
    """

    tables: int
    max_distance: int
    leading: tuple[tuple[_BlockRange, ...], ...]

    @property
    def prefix_bits(self) -> tuple[int, ...]:
        """Number of leading bits of each table."""
        return tuple(sum(width for _, width in ranges) for ranges in self.leading)

    @cached_property
    def _pieces(self) -> tuple[tuple[tuple[int, int, int], ...], ...]:
        """For each table its ranges as (shift, mask, place in the key)."""
        return tuple(
            tuple(
                (low, (1 << width) - 1, sum(after for _, after in ranges[number + 1 :]))
                for number, (low, width) in enumerate(ranges)
            )
            for ranges in self.leading
        )

    def keys(self, signature: int) -> list[int]:
        """Return the buckets under which *signature* is filed, one for each table; its high bits are the table's number."""
        keys = []
        for table, pieces in enumerate(self._pieces):
            key = table << _TAG_SHIFT
            for shift, mask, place in pieces:
                key |= (signature >> shift & mask) << place
            keys.append(key)
        return keys

    def keys_of_many(self, signatures: Numbers) -> Numbers:
        """Return the :meth:`keys` of each of *signatures* (n,): uint64, shape (n, tables)."""
        keys = np.empty((len(signatures), self.tables), dtype=np.uint64)
        for table, pieces in enumerate(self._pieces):
            keys[:, table] = table << _TAG_SHIFT
            for shift, mask, place in pieces:
                keys[:, table] |= (signatures >> np.uint64(shift) & np.uint64(mask)) << np.uint64(place)
        return keys

    def table_of(self, key: int) -> int:
        """Return the number of the table that has the bucket *key*."""
        return key >> _TAG_SHIFT

    def probes(self, signature: int, max_distance: int) -> list[int]:
        """Return the buckets that hold every signature within *max_distance*: 1 to 68 distinct buckets.

        Up to distance 3 these are the signature's own buckets; for distance 0 one table is enough. Beyond that
        (4 tables only) with multi-index hashing: two signatures within *k* = 4a + b bits differ by at most *a* bits in one
        of the first b + 1 blocks, or by at most a − 1 bits in another block (Norouzi, Punjani and Fleet, "Fast search in
        Hamming space with multi-index hashing", CVPR 2012, §2 and proposition 2). So for the first *k* − 3 blocks, the
        one-bit neighbours are read, too.

        Raises:
            ValueError: *max_distance* is not between 0 and the design's largest, or *signature* does not fit into 64 bits.
        """
        if not 0 <= signature < 1 << BITS:
            raise ValueError(f"{signature} is not a signature: it must be between 0 and 2^64 - 1.")
        if not 0 <= max_distance <= self.max_distance:
            raise ValueError(
                f"max_distance = {max_distance} is not allowed; {self.tables} tables find distances to {self.max_distance}."
            )
        keys = self.keys(signature)
        if max_distance == 0:
            return keys[:1]
        if self.tables != 4:
            return keys
        if max_distance <= 3:  # one of k + 1 blocks agrees
            return keys[: max_distance + 1]
        widened = max_distance - 3
        return [key ^ flip for key in keys[:widened] for flip in _NEIGHBOURS] + keys[widened:]


_FEW = 8
"""Number of signatures that Python compares as fast as numpy."""

# Numbers that, XORed to a block of 16 bits, give the block itself and its neighbours within distance 1.
_NEIGHBOURS = (0, *(1 << bit for bit in range(16)))


def near(signature: int, filed: Numbers, max_distance: int) -> list[SignatureMatch]:
    """Return the distinct *filed* signatures that are within *max_distance* of *signature*, nearest first."""
    if len(filed) <= _FEW:
        measured = {((number ^ signature).bit_count(), number) for number in filed.tolist()}
        matches = {pair for pair in measured if pair[0] <= max_distance}
    else:
        distances = np.bitwise_count(filed ^ np.uint64(signature))
        within = (distances <= max_distance).nonzero()[0]
        matches = set(zip(distances[within].tolist(), filed[within].tolist(), strict=True))
    return [SignatureMatch(*pair) for pair in sorted(matches)]


def mix_bits(numbers: Numbers) -> Numbers:
    """Map each number one-to-one to a number whose bits depend on all its bits (the finaliser of MurmurHash3)."""
    mixed = numbers ^ numbers >> np.uint64(33)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = mixed * np.uint64(factor)
        mixed ^= mixed >> np.uint64(33)
    return mixed


def sort_distinct(numbers: NDArray[_Number]) -> NDArray[_Number]:
    """Return the distinct *numbers*, ascending.

    :func:`numpy.unique` does the same with a hash table, which takes many times as long; its time grows faster than the
    number of *numbers*.
    """
    ordered = np.sort(numbers, axis=None)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def distance(a: int, b: int) -> int:
    """Return the Hamming distance of two signatures, in bits."""
    return (a ^ b).bit_count()


def split_bits(number: int) -> list[_BlockRange]:
    """Cut 64 bits into *number* blocks as equal as possible; return (lowest bit, width) of each, most significant first."""
    cuts = [BITS * index // number for index in range(number + 1)]
    return [(BITS - high, high - low) for low, high in pairwise(cuts)]


def _two_levels() -> tuple[tuple[_BlockRange, ...], ...]:
    """Return the leading bits of the third design of §3.1: one of four blocks, then one of four in the other 48 bits."""
    tables = []
    for outer_low, outer_width in split_bits(4):
        remaining = [bit for bit in reversed(range(BITS)) if not outer_low <= bit < outer_low + outer_width]
        for start in range(0, 48, 12):
            inner = remaining[start : start + 12]
            above = [bit for bit in inner if bit > outer_low]
            below = [bit for bit in inner if bit < outer_low]
            tables.append(((outer_low, outer_width), *((part[-1], len(part)) for part in (above, below) if part)))
    return tuple(tables)


def _choose(blocks: int, chosen: int) -> tuple[tuple[_BlockRange, ...], ...]:
    return tuple(combinations(split_bits(blocks), chosen))


DESIGNS = {
    4: Design(4, 7, _choose(4, 1)),
    10: Design(10, 3, _choose(5, 2)),
    16: Design(16, 3, _two_levels()),
    20: Design(20, 3, _choose(6, 3)),
}
"""The designs of §3.1 for distance 3, by number of tables. The design with 4 tables also finds distances up to 7."""
MAX_DISTANCE = 7
