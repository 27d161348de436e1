"""Permuted tables: in which buckets a 64-bit signature is filed, and in which its neighbours are found.

Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §3. A table permutes all signatures
so that some of their bits lead; a look-up reads everything that agrees in these leading bits. Here a permutation is
never carried out: a table is the choice of its leading bits, and they are the key of a bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BITS = 64
_TAG_SHIFT = 40
_BlockRange = tuple[int, int]


class SignatureMatch(NamedTuple):
    """A filed signature near the one that was asked for: its Hamming distance in bits, and itself."""

    distance: int
    signature: int


@dataclass(frozen=True)
class Design:
    """A set of tables.

    Attributes:
        tables: how many.
        max_distance: largest distance at which they find everything.
        leading: for each table the ranges (lowest bit, number of bits) that lead, most significant first.
    """

    tables: int
    max_distance: int
    leading: tuple[tuple[_BlockRange, ...], ...]

    @property
    def prefix_bits(self) -> tuple[int, ...]:
        """How many bits lead, for each table."""
        return tuple(sum(width for _, width in ranges) for ranges in self.leading)

    @cached_property
    def _gather(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """Shifts, masks and places of each range: shape (tables, ranges); tags: shape (tables,)."""
        most = max(map(len, self.leading))
        shifts, masks, places = np.zeros((3, self.tables, most), dtype=np.uint64)
        for table, ranges in enumerate(self.leading):
            place = 0
            for number, (low, width) in reversed(list(enumerate(ranges))):
                shifts[table, number], masks[table, number], places[table, number] = low, (1 << width) - 1, place
                place += width
        return shifts, masks, places, np.arange(self.tables, dtype=np.uint64) << np.uint64(_TAG_SHIFT)

    def keys(self, signatures: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The buckets under which *signatures* (n,) are filed: uint64, shape (n, tables), table in the high bits."""
        shifts, masks, places, tags = self._gather
        keys = signatures[:, None] >> shifts[:, 0] & masks[:, 0]
        keys <<= places[:, 0]
        for number in range(1, shifts.shape[1]):
            keys |= (signatures[:, None] >> shifts[:, number] & masks[:, number]) << places[:, number]
        keys |= tags
        return keys

    def table_of(self, key: int) -> int:
        """The number of the table that has the bucket *key*."""
        return key >> _TAG_SHIFT

    def probes(self, signature: int, max_distance: int) -> NDArray[np.uint64]:
        """The buckets that hold every signature within *max_distance*: uint64, shape (1 to 68,).

        Up to distance 3 these are the tables' own; what is equal stands in every table, and one is enough. Beyond that
        (4 tables only) with multi-index hashing: if more than *k* = 4a + b bits have to differ before each of the first
        b + 1 blocks differs in more than *a* and each other block in more than a − 1, then within *k* one block does
        not (Norouzi, Punjani and Fleet, "Fast search in Hamming space with multi-index hashing", CVPR 2012, §2 and
        proposition 2). So one-bit neighbours of *k* − 3 blocks are read too.

        Raises:
            ValueError: *max_distance* is not between 0 and the design's largest.
        """
        if not 0 <= max_distance <= self.max_distance:
            raise ValueError(
                f"max_distance = {max_distance} is not allowed; {self.tables} tables find 0 to {self.max_distance}."
            )
        keys: NDArray[np.uint64] = self.keys(np.array([signature], dtype=np.uint64))[0]
        if max_distance == 0:
            return keys[:1]
        if self.tables != 4:
            return keys
        if max_distance <= 3:  # of k + 1 blocks one agrees
            return keys[: max_distance + 1]
        widened = max_distance - 3
        return np.concatenate(((keys[:widened, None] ^ _NEIGHBOURS).ravel(), keys[widened:]))


# What is XORed to a block of 16 bits to get itself and its neighbours within distance 1.
_NEIGHBOURS = np.concatenate(([np.uint64(0)], np.uint64(1) << np.arange(16, dtype=np.uint64)))


def near(signature: int, filed: NDArray[np.uint64], max_distance: int) -> list[SignatureMatch]:
    """Of the *filed* signatures those within *max_distance*, nearest first, each once."""
    distances = np.bitwise_count(filed ^ np.uint64(signature))
    within = np.flatnonzero(distances <= max_distance)
    found = zip(distances[within].tolist(), filed[within].tolist(), strict=True)
    return [SignatureMatch(*pair) for pair in sorted(set(found))]


def distance(a: int, b: int) -> int:
    """Hamming distance of two signatures, in bits."""
    return (a ^ b).bit_count()


def _blocks(number: int) -> list[_BlockRange]:
    """64 bits cut into *number* blocks, as equal as they can be, the most significant first."""
    cuts = [BITS * one // number for one in range(number + 1)]
    return [(BITS - high, high - low) for low, high in pairwise(cuts)]


def _two_levels() -> tuple[tuple[_BlockRange, ...], ...]:
    """§3.1, the third design: a block of four, then one of four blocks of the 48 bits that are left."""
    tables = []
    for outer_low, outer_width in _blocks(4):
        left = [bit for bit in reversed(range(BITS)) if not outer_low <= bit < outer_low + outer_width]
        for at in range(0, 48, 12):
            inner = left[at : at + 12]
            above = [bit for bit in inner if bit > outer_low]
            below = [bit for bit in inner if bit < outer_low]
            tables.append(((outer_low, outer_width), *((part[-1], len(part)) for part in (above, below) if part)))
    return tuple(tables)


def _choose(blocks: int, chosen: int) -> tuple[tuple[_BlockRange, ...], ...]:
    return tuple(combinations(_blocks(blocks), chosen))


DESIGNS = {
    4: Design(4, 7, _choose(4, 1)),
    10: Design(10, 3, _choose(5, 2)),
    16: Design(16, 3, _two_levels()),
    20: Design(20, 3, _choose(6, 3)),
}
"""The designs of §3.1 for distance 3, by number of tables. The one with 4 goes on to 7."""
MAX_DISTANCE = 7


@dataclass(frozen=True)
class Plan:
    """What a design costs: the arithmetic of §3.1.2 for one number of signatures, uniformly spread.

    Attributes:
        design: the tables.
        probes: buckets that a look-up reads.
        candidates: signatures that a look-up compares, expected.
        payload_bytes: what the signatures themselves take in all tables.
        disk_bytes: an estimate of the file, with the names of buckets and the room that pages leave free.
    """

    design: Design
    probes: int
    candidates: float
    payload_bytes: float
    disk_bytes: float


def plan(design: Design, signatures: float, max_distance: int) -> Plan:
    """The :class:`Plan` of *design* for a number of *signatures*. Raises :class:`ValueError` as :meth:`probes` does."""
    probes = design.probes(0, max_distance)
    bits = design.prefix_bits
    candidates = sum(signatures / 2.0 ** bits[design.table_of(int(probe))] for probe in probes)
    disk = sum(2.0**width * _bucket_bytes(signatures / 2.0**width) for width in bits)
    return Plan(design, len(probes), candidates, signatures * design.tables * 8, disk)


_NODE_BYTES = 8 + 2 + 16
_IN_LEAF = 2014
_FILL = 0.7


def _bucket_bytes(mean: float) -> float:
    """Expected bytes of a bucket on disk: its size is Poisson-distributed with *mean*."""
    if mean > 2000:
        return 8 * mean * 1.06
    total = 0.0
    for size in range(1, int(mean + 10 * mean**0.5 + 12)):
        chance = exp(size * log(mean) - mean - lgamma(size + 1))
        full, rest = divmod(8 * size, 4080)
        in_leaf = _NODE_BYTES + rest if rest <= _IN_LEAF else 0
        total += chance * (full * (4096 + _NODE_BYTES) + (in_leaf / _FILL if in_leaf else 4096 + _NODE_BYTES))
    return total
