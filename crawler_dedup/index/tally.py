"""Comparing large sets of entries by their number and a sum of their hashes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawler_dedup.hamming import Numbers, mix_bits


@dataclass(frozen=True)
class Tally:
    """The number of entries, and a sum of their hashes: equal tallies mean equal sets of entries.

    (Except with a probability of 2^-64, and except for deliberate damage.)
    """

    entries: int = 0
    total: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.entries + other.entries, (self.total + other.total) & (1 << 64) - 1)


def tally(scopes: Numbers | int, keys: Numbers | int, payloads: Numbers) -> Tally:
    """Return the :class:`Tally` of *payloads*, each filed under the scope and key beside it (arrays or one for all)."""
    buckets = np.atleast_1d(np.asarray(scopes, dtype=np.uint64) ^ np.asarray(keys, dtype=np.uint64))
    hashes = mix_bits(buckets * np.uint64(0x9E3779B97F4A7C15) + payloads)
    return Tally(hashes.size, int(hashes.sum(dtype=np.uint64)))
