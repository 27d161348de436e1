"""Find numbers of a large array that are in another array, or occur more than once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers

_PIECE = 1 << 16  # numbers that are looked up at a time: their arrays fit into the cache of the processor
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_LEAST_BITS, _MOST_BITS = 10, 22  # leading bits of hashes that index a table, of 32 MB at most

Flags = NDArray[np.bool_]


def is_among(numbers: Numbers, others: Numbers) -> Flags:
    """Return for each of *numbers* whether it is one of *others*."""
    flags = np.zeros(len(numbers), dtype=bool)
    bits = min(max(_LEAST_BITS, (2 * len(others)).bit_length()), _MOST_BITS)
    shift = np.uint64(64 - bits)
    hashes = np.sort(others * _SPREAD)  # different numbers have different hashes
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)  # where the hashes with the same leading bits start
    np.cumsum(np.bincount((hashes >> shift).astype(np.int64), minlength=1 << bits), out=starts[1:])
    for first in range(0, len(numbers), _PIECE):
        sought = numbers[first : first + _PIECE] * _SPREAD
        buckets = sought >> shift
        places, ends = starts[buckets], starts[buckets + np.uint64(1)]
        left = np.flatnonzero(places < ends)
        while len(left):
            is_there = hashes[places[left]] == sought[left]
            flags[first + left[is_there]] = True
            left = left[~is_there]
            places[left] += 1
            left = left[places[left] < ends[left]]
    return flags


def is_repeated(numbers: Numbers) -> Flags:
    """Return for each of *numbers* whether it occurs more than once."""
    ascending = np.sort(numbers)
    return is_among(numbers, ascending[1:][ascending[1:] == ascending[:-1]])
