"""Counters of a site as bytes."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers

SHORT_BITS = 16
KINDS = 3
PLAIN_BYTES, OTHER_BYTES = 3, 4
"""Bytes of a counter that are practically random, and bytes that can be compressed."""

_LOW_BITS = 8
_BIT = np.uint32(1)
_Numbers = NDArray[np.uint32]


def split_counters(counters: Numbers) -> tuple[bytes, bytes]:
    """Split *counters* of 34 and 24 bits, ascending, into random and other bytes (:func:`join_counters`).

    Of the 34 bits, the lower 32 are stored as differences from those of the counter before.
    """
    items = (counters >> np.uint64(24)).astype("<u4")
    steps = items.copy()
    steps[1:] -= items[:-1]  # modulo 2^32
    columns = steps.view(np.uint8).reshape(-1, 4).T
    low_bytes = counters.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].T
    return columns[:PLAIN_BYTES].tobytes(), columns[PLAIN_BYTES:].tobytes() + low_bytes.tobytes()


def join_counters(content: bytes, lengths: tuple[int, int, int]) -> Numbers:
    """Return the counters that :func:`split_counters` has split.

    Args:
        content: both parts, joined: bytes of equal significance stand together.
        lengths: number of counters of each kind, which is in the highest 2 of the 34 bits.

    Raises:
        msgspec.DecodeError: the counters are damaged.
    """
    count = sum(lengths)
    if len(content) != (PLAIN_BYTES + OTHER_BYTES) * count:
        raise msgspec.DecodeError("the counts of a site have a length that they cannot have")
    columns = np.frombuffer(content, dtype=np.uint8).reshape(PLAIN_BYTES + OTHER_BYTES, count)
    low_bytes = np.zeros((count, 4), dtype=np.uint8)
    low_bytes[:, :3] = columns[4:].T
    items = np.cumsum(columns[:4].T.copy().view("<u4").ravel(), dtype=np.uint32).astype(np.uint64)
    kinds = np.repeat(np.arange(KINDS, dtype=np.uint64), lengths)
    counters: Numbers = kinds << np.uint64(56) | items << np.uint64(24) | low_bytes.view("<u4").ravel()
    if (counters[1:] <= counters[:-1]).any():
        raise msgspec.DecodeError("the counts of a site are not in order")
    return counters


def pack_short(numbers: _Numbers) -> bytes:
    """Pack ascending, distinct numbers of 18 bits, of which each takes 9 to 11 bits (:func:`unpack_short`).

    The lowest bits of each number are stored as they are, the others as a bit for each number and for each step between
    them (Elias, "Efficient storage and retrieval by content and address of static files", JACM 21, 1974).
    """
    planes, steps = _choose_planes(len(numbers))
    bits = np.zeros(len(numbers) + steps, dtype=np.uint8)
    bits[(numbers >> np.uint32(_LOW_BITS + planes)) + np.arange(len(numbers), dtype=np.uint32)] = 1
    low = [np.packbits(numbers >> np.uint32(_LOW_BITS + plane) & _BIT != 0) for plane in range(planes)]
    return b"".join(map(bytes, (numbers.astype(np.uint8), *low, np.packbits(bits)))) if len(numbers) else b""


def unpack_short(packed: bytes, count: int) -> _Numbers:
    """Return the *count* numbers that :func:`pack_short` has packed. Raises :class:`msgspec.DecodeError`."""
    planes, steps = _choose_planes(count)
    plane_bytes = -(-count // 8)
    start = count + planes * plane_bytes
    if len(packed) != (start + -(-(count + steps) // 8) if count else 0):
        raise msgspec.DecodeError("the counts of a site have a length that they cannot have")
    content = np.frombuffer(packed, dtype=np.uint8)
    places = np.flatnonzero(np.unpackbits(content[start:]))
    if len(places) != count:
        raise msgspec.DecodeError("the counts of a site are damaged")
    numbers: _Numbers = (places - np.arange(count)).astype(np.uint32) << np.uint32(_LOW_BITS + planes) | content[:count]
    for plane in range(planes):
        bits = content[count + plane * plane_bytes :][:plane_bytes]
        numbers |= np.unpackbits(bits, count=count).astype(np.uint32) << np.uint32(_LOW_BITS + plane)
    if (numbers[1:] <= numbers[:-1]).any() or (count and numbers[-1] >= KINDS << SHORT_BITS):
        raise msgspec.DecodeError("the counts of a site are not in order")
    return numbers


def _choose_planes(count: int) -> tuple[int, int]:
    """Return how many bits of each number are stored beside its lowest eight, and how many steps its other bits have."""
    planes, steps = 0, KINDS << SHORT_BITS - _LOW_BITS
    while 2 * count < steps and planes < SHORT_BITS - _LOW_BITS:
        planes, steps = planes + 1, steps // 2
    return planes, steps
