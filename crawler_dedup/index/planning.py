"""The cost of a design of permuted tables, and the design with the fewest tables: arithmetic, without an index.

Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §3.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil, comb, exp, lgamma, log, log2

from crawler_dedup.hamming import BITS, Design
from crawler_dedup.index.layout import CHUNK_BYTES, FIRST_CHUNK_BYTES

_LOOKUP_MICROS, _PROBE_MICROS, _CANDIDATE_MICROS = 6.0, 1.0, 0.0031
"""Measured by benchmarks.index with everything in the cache, for 4, 20, 36 and 52 probes and up to 80,000 candidates."""


@dataclass(frozen=True)
class DesignCost:
    """The cost of a design: the arithmetic of §3.1 for a number of signatures, uniformly spread.

    Attributes:
        probes: buckets that a look-up reads.
        candidates: signatures that a look-up compares, expected.
        payload_bytes: size of the signatures themselves in all tables.
        disk_bytes: estimated size of the file, with the names of buckets and the free space in pages.
    """

    probes: int
    candidates: float
    payload_bytes: float
    disk_bytes: float

    @property
    def micros(self) -> float:
        """Approximate time of a look-up if everything is in the cache, in microseconds."""
        return _LOOKUP_MICROS + _PROBE_MICROS * self.probes + _CANDIDATE_MICROS * self.candidates


def estimate_cost(design: Design, signatures: float, max_distance: int) -> DesignCost:
    """Estimate what *design* costs for a number of *signatures*. Raises :class:`ValueError` as ``Design.probes`` does."""
    bits = design.prefix_bits
    probed = Counter(bits[design.table_of(probe)] for probe in design.probes(0, max_distance))
    return _cost_of(Counter(bits), probed, signatures, BITS)


def _cost_of(tables: Mapping[int, int], probed: Mapping[int, int], signatures: float, bits: int) -> DesignCost:
    """Return the cost of *tables* of which *probed* are read. Both map prefix bits to numbers of tables."""
    size = ceil(bits / 8)
    return DesignCost(
        probes=sum(probed.values()),
        candidates=sum(count * signatures / 2.0**prefix for prefix, count in probed.items()),
        payload_bytes=signatures * sum(tables.values()) * size,
        disk_bytes=sum(
            count * 2.0**prefix * _bucket_bytes(signatures / 2.0**prefix, size) for prefix, count in tables.items()
        ),
    )


@dataclass(frozen=True)
class LeastTables:
    """The design with the fewest tables among those made by a recursive split.

    Attributes:
        tables: number of tables, by their prefix bits.
        blocks: into how many blocks the bits are cut, then the remaining bits, and so on.
    """

    tables: Mapping[int, int]
    blocks: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of tables."""
        return sum(self.tables.values())

    def estimate_cost(self, signatures: float, bits: int) -> DesignCost:
        """Estimate the cost of this design; a look-up reads a bucket of each table."""
        return _cost_of(self.tables, self.tables, signatures, bits)


def find_least_tables(bits: int, max_distance: int, signatures: float, candidates: float) -> LeastTables | None:
    """Find the fewest tables whose probes find at most *candidates* of *signatures* each; ``None`` if there are none.

    X(f, k, d) of §3.1.2: cut the bits into r blocks and let each choice of r - k of them lead; cut the remaining bits in the
    same way as long as too few bits lead. Blocks have whole numbers of bits here, and every choice is counted by itself.
    """
    return _find_least(bits, max_distance, max(0, ceil(log2(signatures / candidates))))


def find_longest_prefix(bits: int, max_distance: int, tables: int) -> LeastTables:
    """Find the design of 1 to *tables* tables whose shortest prefix is longest (§3.1.2 reversed)."""
    designs = (_find_least(bits, max_distance, prefix) for prefix in range(bits, -1, -1))
    return next(design for design in designs if design is not None and design.count <= tables)


@cache
def _find_least(bits: int, max_distance: int, prefix: int) -> LeastTables | None:
    if prefix <= 0:
        return LeastTables({0: 1}, ())
    best: LeastTables | None = None
    for blocks in range(max_distance + 1, bits + 1):
        if best is not None and comb(blocks, max_distance) >= best.count:
            break
        split = _split(bits, max_distance, prefix, blocks)
        if split is not None and (best is None or split.count < best.count):
            best = split
    return best


def _split(bits: int, max_distance: int, prefix: int, blocks: int) -> LeastTables | None:
    """Return the fewest tables if the bits are first cut into *blocks* blocks."""
    tables: Counter[int] = Counter()
    further: tuple[int, ...] = ()
    for leading, ways in _choices(bits, max_distance, blocks):
        remaining = _find_least(bits - leading, max_distance, prefix - leading)
        if remaining is None:
            return None
        further = remaining.blocks
        for remaining_prefix, count in remaining.tables.items():
            tables[leading + remaining_prefix] += ways * count
    return LeastTables(tables, (blocks, *further))


def _choices(bits: int, max_distance: int, blocks: int) -> Iterator[tuple[int, int]]:
    """Yield (prefix length, number of block combinations with that length): some blocks are one bit longer than others."""
    size, longer = divmod(bits, blocks)
    chosen = blocks - max_distance
    for of_longer in range(max(0, chosen - (blocks - longer)), min(chosen, longer) + 1):
        yield chosen * size + of_longer, comb(longer, of_longer) * comb(blocks - longer, chosen - of_longer)


_NODE_BYTES = 8 + 2 + 12
_FILL = 0.7


def _bucket_bytes(mean: float, size_of_signature: int) -> float:
    """Return the expected bytes of a bucket on disk: its size is Poisson-distributed with *mean*."""
    if mean > 2000:
        return size_of_signature * mean * 1.04
    total = 0.0
    for size in range(1, int(mean + 10 * mean**0.5 + 12)):
        chance = exp(size * log(mean) - mean - lgamma(size + 1))
        total += chance * _chunk_bytes(size_of_signature * size)
    return total


def _chunk_bytes(content: int) -> float:
    """Return the bytes of a bucket's chunks on disk: in leaf pages, which are filled to 70 %, or in pages of their own."""
    if content <= FIRST_CHUNK_BYTES:
        return (_NODE_BYTES + content) / _FILL
    pages, rest_bytes = divmod(content - FIRST_CHUNK_BYTES, CHUNK_BYTES)
    in_leaf = 0 < rest_bytes <= FIRST_CHUNK_BYTES
    page_bytes = (pages + (rest_bytes > FIRST_CHUNK_BYTES)) * (4096 + _NODE_BYTES + 4)
    return (_NODE_BYTES + FIRST_CHUNK_BYTES + in_leaf * (_NODE_BYTES + rest_bytes)) / _FILL + page_bytes
