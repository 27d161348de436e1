"""What a design of permuted tables costs: arithmetic, without an index."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log

from crawler_dedup.hamming import Design
from crawler_dedup.index.buckets import CHUNK_BYTES, FIRST_CHUNK_BYTES


@dataclass(frozen=True)
class DesignCost:
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


def estimate_cost(design: Design, signatures: float, max_distance: int) -> DesignCost:
    """Estimate what *design* costs for a number of *signatures*. Raises :class:`ValueError` as ``Design.probes`` does."""
    probes = design.probes(0, max_distance)
    bits = design.prefix_bits
    candidates = sum(signatures / 2.0 ** bits[design.table_of(probe)] for probe in probes)
    disk = sum(2.0**width * _bucket_bytes(signatures / 2.0**width) for width in bits)
    return DesignCost(design, len(probes), candidates, signatures * design.tables * 8, disk)


_NODE_BYTES = 8 + 2 + 12
_FILL = 0.7


def _bucket_bytes(mean: float) -> float:
    """Return the expected bytes of a bucket on disk: its size is Poisson-distributed with *mean*."""
    if mean > 2000:
        return 8 * mean * 1.04
    total = 0.0
    for size in range(1, int(mean + 10 * mean**0.5 + 12)):
        chance = exp(size * log(mean) - mean - lgamma(size + 1))
        total += chance * _chunk_bytes(8 * size)
    return total


def _chunk_bytes(content: int) -> float:
    """Return the bytes of a bucket's chunks on disk: in leaf pages, which are filled to 70 %, or in pages of their own."""
    if content <= FIRST_CHUNK_BYTES:
        return (_NODE_BYTES + content) / _FILL
    pages, rest = divmod(content - FIRST_CHUNK_BYTES, CHUNK_BYTES)
    in_leaf = 0 < rest <= FIRST_CHUNK_BYTES
    page_bytes = (pages + (rest > FIRST_CHUNK_BYTES)) * (4096 + _NODE_BYTES + 4)
    return (_NODE_BYTES + FIRST_CHUNK_BYTES + in_leaf * (_NODE_BYTES + rest)) / _FILL + page_bytes
