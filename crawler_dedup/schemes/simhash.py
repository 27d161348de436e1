"""Charikar's simhash with 64 bits, and the tables in which it is looked up.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, §3; as a web signature and with
permuted tables: Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §2 and §3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.features import Features

BITS = 64
_TABLES = 4
_BLOCK = BITS // _TABLES
_SHIFTS = np.arange(_TABLES, dtype=np.uint64) * np.uint64(_BLOCK)
_TABLE_TAGS = np.arange(_TABLES, dtype=np.uint64) << np.uint64(_BLOCK)
_BLOCK_MASK = np.uint64((1 << _BLOCK) - 1)
# What is XORed to a block to get itself and its neighbours within distance 1.
_NEIGHBOURS = np.concatenate(([np.uint64(0)], np.uint64(1) << np.arange(_BLOCK, dtype=np.uint64)))

MAX_DISTANCE = 7
"""The largest distance that blocks and their one-bit neighbours find."""


class SimHash:
    """Signatures that differ in few bits when weighted feature sets differ in little.

    Filed in 4 tables: table *t* files a signature under its *t*-th block of 16 bits (§3.1 of the 2007 paper).
    """

    name = "simhash"
    spec = f"simhash bits={BITS} hash=xxh3_64 weight=sqrt-tf tables={_TABLES}"

    def sign(self, features: Features) -> int:
        """64 bits: bit *i* is set when the features that have it outweigh those that have not."""
        bits = np.unpackbits(features.hashes.astype("<u8").view(np.uint8), bitorder="little").reshape(-1, BITS)
        # Whole numbers below 2^53: float64 is exact here and, unlike integers, multiplied by BLAS.
        for_bit = features.weights @ bits.astype(np.float64)
        return int.from_bytes(np.packbits(2 * for_bit > features.weights.sum(), bitorder="little").tobytes(), "little")

    def keys(self, signature: int) -> NDArray[np.uint64]:
        """The buckets under which *signature* is filed: uint64, shape (4,), table in the high bits."""
        return (np.uint64(signature) >> _SHIFTS) & _BLOCK_MASK | _TABLE_TAGS

    def probes(self, signature: int, max_distance: int) -> NDArray[np.uint64]:
        """The buckets that hold every signature within *max_distance* (0 to 7): uint64, shape (4 to 68,).

        If more than *k* = 4a + b bits have to differ before each of the first b + 1 blocks differs in more than *a*
        and each other block in more than a − 1, then within *k* one block does not (Norouzi, Punjani and Fleet, "Fast
        search in Hamming space with multi-index hashing", CVPR 2012, §2 and proposition 2). So up to distance 3 the
        blocks themselves are read, beyond that the one-bit neighbours of *k* − 3 of them too.
        """
        if not 0 <= max_distance <= MAX_DISTANCE:
            raise ValueError(f"max_distance = {max_distance} is not allowed; it takes 0 to {MAX_DISTANCE}.")
        keys = self.keys(signature)
        if max_distance < _TABLES:
            return keys[: max_distance + 1]
        widened = max_distance - _TABLES + 1
        return np.concatenate(((keys[:widened, None] ^ _NEIGHBOURS).ravel(), keys[widened:]))

    def near(self, signature: int, filed: NDArray[np.uint64], max_distance: int) -> list[tuple[int, int]]:
        """Of the *filed* signatures those within *max_distance*: (distance, signature), nearest first, each once."""
        distances = np.bitwise_count(filed ^ np.uint64(signature))
        within = distances <= max_distance
        return sorted(set(zip(distances[within].tolist(), filed[within].tolist(), strict=True)))


def distance(a: int, b: int) -> int:
    """Hamming distance of two signatures, in bits."""
    return (a ^ b).bit_count()
