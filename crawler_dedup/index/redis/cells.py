"""Cells: the values of an index on a server, as a client keeps them, and how it tells whether they have changed.

A cell is a string. A row is replaced as a whole, and ends with a version that no other content of it has had. A bucket, of
payloads of 8 bytes, grows at its end: as long as nothing was removed from it, length and last payload tell its content. So a
cell has changed if what stands from the beginning of its end on is not its end.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from itertools import count

VERSION_BYTES = 6
"""Bytes at the end of a row that are its version."""
PAYLOAD_BYTES = 8
"""Bytes of a payload in a bucket."""

_OVERHEAD = 200  # bytes of a cell in memory beside its content


class Versions:
    """Gives versions to rows: no two that this or another client has given are the same (but for a chance of 2^-48)."""

    def __init__(self) -> None:
        start = int.from_bytes(os.urandom(VERSION_BYTES), "big")
        self._numbers = count(start)

    def next(self) -> bytes:
        """Return the next version."""
        return (next(self._numbers) & (1 << 8 * VERSION_BYTES) - 1).to_bytes(VERSION_BYTES, "big")


class Cell:
    """A value as it was read, or is known to be.

    Attributes:
        content: with its end; of nothing empty.
        end_bytes: length of its end.
        decoded: what stands in it, if that was decoded.
    """

    __slots__ = ("content", "decoded", "end_bytes")

    def __init__(self, content: bytes, end_bytes: int, decoded: object = None) -> None:
        self.content = content
        self.end_bytes = end_bytes
        self.decoded = decoded

    @property
    def bytes_in_memory(self) -> int:
        """How many bytes it takes, roughly: what stands in a row is decoded, and takes some times as much."""
        return _OVERHEAD + len(self.content) * (4 if self.end_bytes == VERSION_BYTES else 1)

    @property
    def offset(self) -> int:
        """Where its end begins."""
        return max(0, len(self.content) - self.end_bytes)

    @property
    def end(self) -> bytes:
        """Its end, which tells whether it has changed."""
        return self.content[self.offset :]


class CellCache:
    """The cells that were used last, up to some bytes.

    Args:
        max_bytes: how many bytes they may take.
    """

    def __init__(self, max_bytes: int) -> None:
        self._cells: OrderedDict[bytes, Cell] = OrderedDict()
        self._left = self._max_bytes = max_bytes

    def get(self, key: bytes) -> Cell | None:
        """Return a cell, or ``None``."""
        cell = self._cells.get(key)
        if cell is not None:
            self._cells.move_to_end(key)
        return cell

    def put(self, key: bytes, cell: Cell) -> None:
        """Keep a cell, and forget those that were not used for longest."""
        self.drop(key)
        self._cells[key] = cell
        self._left -= cell.bytes_in_memory
        while self._left < 0:
            _, oldest = self._cells.popitem(last=False)
            self._left += oldest.bytes_in_memory

    def drop(self, key: bytes) -> None:
        """Forget a cell."""
        cell = self._cells.pop(key, None)
        if cell is not None:
            self._left += cell.bytes_in_memory

    def clear(self) -> None:
        """Forget all cells."""
        self._cells.clear()
        self._left = self._max_bytes
