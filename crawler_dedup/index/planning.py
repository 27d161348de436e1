"""What a design of permuted tables costs: arithmetic, without an index."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log

from crawler_dedup.hamming import Design
from crawler_dedup.index.buckets import CHUNK, FIRST


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
    candidates = sum(signatures / 2.0 ** bits[design.table_of(probe)] for probe in probes)
    disk = sum(2.0**width * _bucket_bytes(signatures / 2.0**width) for width in bits)
    return Plan(design, len(probes), candidates, signatures * design.tables * 8, disk)


_NODE_BYTES = 8 + 2 + 12
_FILL = 0.7


def _bucket_bytes(mean: float) -> float:
    """Expected bytes of a bucket on disk: its size is Poisson-distributed with *mean*."""
    if mean > 2000:
        return 8 * mean * 1.04
    total = 0.0
    for size in range(1, int(mean + 10 * mean**0.5 + 12)):
        chance = exp(size * log(mean) - mean - lgamma(size + 1))
        total += chance * _chunk_bytes(8 * size)
    return total


def _chunk_bytes(content: int) -> float:
    """Bytes of the chunks of a bucket (:mod:`crawler_dedup.index.buckets`): in leaf pages, filled to 70 %, or in a page."""
    if content <= FIRST:
        return (_NODE_BYTES + content) / _FILL
    pages, rest = divmod(content - FIRST, CHUNK)
    in_leaf = 0 < rest <= FIRST
    page_bytes = (pages + (rest > FIRST)) * (4096 + _NODE_BYTES + 4)
    return (_NODE_BYTES + FIRST + in_leaf * (_NODE_BYTES + rest)) / _FILL + page_bytes
