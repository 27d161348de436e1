"""Arrays of hashes."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
"""64-bit numbers: signatures, hashes, or keys of buckets."""

_Number = TypeVar("_Number", bound=np.integer[Any])


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
