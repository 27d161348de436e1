"""Permuted tables: the buckets in which a 64-bit signature is filed, and those in which its neighbours are found.

Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §3. A table permutes all signatures
so that some of their bits lead; a look-up reads everything that agrees in these leading bits. Here a permutation is
never carried out: each of four tables has one of the four blocks of 16 bits, which is the key of a bucket.
"""

from __future__ import annotations

import numpy as np

from crawler_dedup.hashes import Numbers

BITS = 64
MAX_DISTANCE = 7
TABLES = 48, 32, 16, 0
"""The look-up tables of a signature: by how many bits the 16 bits that lead in each are shifted."""
_TABLE_SHIFT = 40


def keys(signature: int) -> list[int]:
    """Return the buckets under which *signature* is filed, one for each table; their high bits are the table's number."""
    return [table << _TABLE_SHIFT | signature >> shift & 0xFFFF for table, shift in enumerate(TABLES)]


def probes(signature: int, max_distance: int) -> list[int]:
    """Return the buckets that hold every signature within *max_distance* (0 to 7): 1 to 68 distinct buckets.

    Up to distance 3 these are the signature's own buckets; for distance 0 one table is enough. Beyond that with
    multi-index hashing: two signatures within *k* = 4a + b bits differ by at most *a* bits in one of the first b + 1
    blocks, or by at most a − 1 bits in another block (Norouzi, Punjani and Fleet, "Fast search in Hamming space with
    multi-index hashing", CVPR 2012, §2 and proposition 2). So for the first *k* − 3 blocks, the one-bit neighbours are
    read, too.
    """
    own = keys(signature)
    widened = max(0, max_distance - 3)
    return [key ^ flip for key in own[:widened] for flip in _NEIGHBOURS] + own[widened : max_distance + 1]


# Numbers that, XORed to a block of 16 bits, give the block itself and its neighbours within distance 1.
_NEIGHBOURS = (0, *(1 << bit for bit in range(16)))


def near(signature: int, filed: Numbers, max_distance: int) -> list[int]:
    """Return the distinct *filed* signatures that are within *max_distance* of *signature*, nearest first."""
    distances = np.bitwise_count(filed ^ np.uint64(signature))
    within = (distances <= max_distance).nonzero()[0]
    matches = set(zip(distances[within].tolist(), filed[within].tolist(), strict=True))
    return [number for _, number in sorted(matches)]


def distance(a: int, b: int) -> int:
    """Return the Hamming distance of two signatures, in bits."""
    return (a ^ b).bit_count()
