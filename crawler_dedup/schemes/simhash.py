"""Charikar's simhash with 64 bits, and the tables in which it is looked up.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, §3; as a web signature and with
permuted tables: Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §2 and §3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawler_dedup import hamming
from crawler_dedup.features import Features
from crawler_dedup.hamming import BITS

TABLES = 4

_SLICE = 8192  # features that are unpacked at a time: 512 bytes each


class SimHash:
    """Signatures that differ in few bits when weighted feature sets differ in little.

    Filed in permuted tables (:mod:`crawler_dedup.hamming`).
    """

    name = "simhash"
    spec = f"simhash bits={BITS} hash=xxh3_64 weight=tf^0.75 tables={TABLES}"

    _design = hamming.DESIGNS[TABLES]

    def sign(self, features: Features) -> int:
        """64 bits: bit *i* is set when the features that have it outweigh those that have not."""
        for_bit = np.zeros(BITS)
        for at in range(0, len(features.hashes), _SLICE):
            hashes, weights = features.hashes[at : at + _SLICE], features.weights[at : at + _SLICE]
            bits = np.unpackbits(hashes.astype("<u8").view(np.uint8), bitorder="little").reshape(-1, BITS)
            # Whole numbers below 2^53: float64 is exact here and, unlike integers, multiplied by BLAS.
            for_bit += weights @ bits.astype(np.float64)
        return int.from_bytes(np.packbits(2 * for_bit > features.weights.sum(), bitorder="little").tobytes(), "little")

    def keys(self, signature: int) -> list[int]:
        """The buckets under which *signature* is filed, one a table."""
        return self._design.keys(signature)

    def probes(self, signature: int, max_distance: int) -> list[int]:
        """The buckets that hold every signature within *max_distance* (0 to 7): 1 to 68, each once."""
        return self._design.probes(signature, max_distance)

    def near(self, signature: int, filed: NDArray[np.uint64], max_distance: int) -> list[hamming.SignatureMatch]:
        """Of the *filed* signatures those within *max_distance*, nearest first, each once."""
        return hamming.near(signature, filed, max_distance)
