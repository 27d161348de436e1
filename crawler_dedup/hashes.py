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


def pack_ascending(numbers: NDArray[np.uint32]) -> bytes:
    """Pack ascending numbers: of 64 numbers, each takes 28 bits, of 512 each 25. See :func:`unpack_ascending`.

    The leading bits are packed as differences in unary, the others as they are (Elias, "Efficient storage and retrieval by
    content and address of static files", J. ACM 21, 1974). The lengths are checked in :mod:`crawler_dedup.signedpage`.
    """
    count = len(numbers)
    leading = count.bit_length()
    marks = np.zeros(count + (1 << leading), dtype=np.bool_)
    marks[(numbers.astype(np.uint64) >> np.uint64(32 - leading)) + np.arange(count, dtype=np.uint64)] = True
    rest = np.unpackbits(numbers.astype(">u4").view(np.uint8)).reshape(count, 32)[:, leading:]
    return b"".join([count.to_bytes(2, "little"), np.packbits(marks).tobytes(), np.packbits(rest).tobytes()])


def unpack_ascending(packed: bytes) -> NDArray[np.uint32]:
    """Return the numbers that :func:`pack_ascending` has packed."""
    count = int.from_bytes(packed[:2], "little")
    leading = count.bit_length()
    bits = np.unpackbits(np.frombuffer(packed, np.uint8, offset=2))
    end = -(-(count + (1 << leading)) // 8) * 8
    numbers = np.zeros((count, 32), dtype=np.uint8)
    numbers[:, leading:] = bits[end : end + count * (32 - leading)].reshape(count, 32 - leading)
    firsts = np.flatnonzero(bits[:end]) - np.arange(count)
    unpacked: NDArray[np.uint32] = np.packbits(numbers).view(">u4") | firsts.astype(np.uint32) << np.uint32(
        32 - leading
    )
    return unpacked
