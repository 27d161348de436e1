"""Cells: the values of an index on a server, as a client keeps them, and how it tells whether they have changed.

A cell is a string. A row is replaced as a whole, and ends with a version that no other content of it has had. A bucket, of
payloads of 8 bytes, grows at its end: as long as nothing was removed from it, its length tells its content.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from itertools import count
from typing import cast

VERSION_BYTES = 6
"""Bytes at the end of a row that are its version."""
PAYLOAD_BYTES = 8
"""Bytes of a payload in a bucket."""

_NO_VERSION = bytes(VERSION_BYTES)
_OVERHEAD = 250  # bytes of a cell in memory beside its content, with its name


class Versions:
    """Gives versions to rows: no two that this or another client has given are the same (but for a chance of 2^-48)."""

    def __init__(self) -> None:
        start = int.from_bytes(os.urandom(VERSION_BYTES), "big")
        self._numbers = count(start)

    def next(self) -> bytes:
        """Return the next version."""
        return (next(self._numbers) & (1 << 8 * VERSION_BYTES) - 1).to_bytes(VERSION_BYTES, "big")


class Row:
    """A row as it was read, or is known to be.

    Attributes:
        content: with its version; of nothing empty.
        decoded: what stands in it, if that was decoded.
    """

    __slots__ = ("content", "decoded")

    def __init__(self, content: bytes, decoded: object = None) -> None:
        self.content = content
        self.decoded = decoded

    @property
    def check(self) -> bytes:
        """What tells whether it has changed: where its version begins, and that; zeros of nothing."""
        offset = max(0, len(self.content) - VERSION_BYTES)
        return offset.to_bytes(4, "little") + (self.content[offset:] or _NO_VERSION)


class CellCache:
    """The cells that were used last, up to some bytes. A bucket is its content.

    Args:
        max_bytes: how many bytes they may take.
    """

    def __init__(self, max_bytes: int) -> None:
        self._cells: OrderedDict[bytes, bytes | Row] = OrderedDict()
        self._left = self._max_bytes = max_bytes

    def get(self, key: bytes) -> bytes | Row | None:
        """Return a cell, or ``None``."""
        cell = self._cells.get(key)
        if cell is not None:
            self._cells.move_to_end(key)
        return cell

    def find(self, keys: Iterable[bytes], known: dict[bytes, bytes]) -> list[bytes]:
        """Add to *known* the buckets *keys* that it does not have and that are here; return those that are not."""
        cells, touch, missing = self._cells, self._cells.move_to_end, list[bytes]()
        for key in keys:
            if key not in known:
                cell = cells.get(key)
                if cell is None:
                    missing.append(key)
                else:
                    touch(key)
                    known[key] = cast("bytes", cell)
        return missing

    def find_missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return those of *keys* of which the cells are not here."""
        cells = self._cells
        return [key for key in keys if key not in cells]

    def put(self, key: bytes, cell: bytes | Row) -> None:
        """Keep a cell, and forget those that were not used for longest."""
        self.drop(key)
        self._cells[key] = cell
        self._left -= _measure(cell)
        self._keep_to_size()

    def append(self, key: bytes, payload: bytes) -> None:
        """Append *payload* to a bucket, if it is here."""
        content = self._cells.get(key)
        if content is not None:
            self._cells[key] = cast("bytes", content) + payload
            self._left -= len(payload)
            self._keep_to_size()

    def replace(self, key: bytes, content: bytes, decoded: object) -> None:
        """Replace what stands in a row, if it is here."""
        row = self._cells.get(key)
        if row is not None:
            self._left += _measure(row)
            self._cells[key] = replaced = Row(content, decoded)
            self._left -= _measure(replaced)
            self._keep_to_size()

    def drop(self, key: bytes) -> None:
        """Forget a cell."""
        cell = self._cells.pop(key, None)
        if cell is not None:
            self._left += _measure(cell)

    def _keep_to_size(self) -> None:
        while self._left < 0:
            _, oldest = self._cells.popitem(last=False)
            self._left += _measure(oldest)

    def clear(self) -> None:
        """Forget all cells."""
        self._cells.clear()
        self._left = self._max_bytes


def _measure(cell: bytes | Row) -> int:
    """Return how many bytes a cell takes, roughly: what stands in a row is decoded, and takes some times as much."""
    return _OVERHEAD + (4 * len(cell.content) if isinstance(cell, Row) else len(cell))
