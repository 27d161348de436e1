"""A cache of cells: the string values of an index on a server.

A cell is a row, which is replaced as a whole, or a bucket of 8-byte payloads, which grows at its end.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from crawler_dedup.index.redis.changelog import TOKEN_BYTES

_OVERHEAD = 250  # bytes that a cell takes in memory besides its content, with its name


class CellCache:
    """A least-recently-used cache of the contents of cells, limited in bytes.

    Args:
        max_bytes: maximum size of all cells together.
    """

    def __init__(self, max_bytes: int) -> None:
        self._cells: OrderedDict[bytes, bytes] = OrderedDict()
        self._left = self._max_bytes = max_bytes
        self._long: dict[bytes, set[bytes]] = {}  # token → names that are longer than prefix and token
        self._prefix = b""
        self._end = TOKEN_BYTES  # position in a name where the token ends

    def get(self, key: bytes) -> bytes | None:
        """Return the content of a cell, or ``None`` if it is not cached."""
        cell = self._cells.get(key)
        if cell is not None:
            self._cells.move_to_end(key)
        return cell

    def find(self, keys: Iterable[bytes], known: dict[bytes, bytes]) -> list[bytes]:
        """Add the cached ones of the cells *keys* to *known*; return the keys of those that are in neither."""
        cells, touch, missing = self._cells, self._cells.move_to_end, list[bytes]()
        for key in keys:
            if key not in known:
                cell = cells.get(key)
                if cell is None:
                    missing.append(key)
                else:
                    touch(key)
                    known[key] = cell
        return missing

    def find_missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return those of *keys* whose cells are not cached."""
        cells = self._cells
        return [key for key in keys if key not in cells]

    def put(self, key: bytes, cell: bytes) -> None:
        """Cache a cell, and drop the least recently used cells if the cache is full."""
        self.drop(key)
        self._cells[key] = cell
        self._note_long(key)
        self._left -= _measure(cell)
        self._keep_to_size()

    def put_empty(self, keys: Sequence[bytes]) -> None:
        """Cache empty buckets, and drop the least recently used cells if the cache is full."""
        cells = self._cells
        if not cells.keys().isdisjoint(keys):
            for key in keys:
                self.drop(key)
        empty = dict.fromkeys(keys, b"")
        cells.update(empty)
        for key in empty:
            self._note_long(key)
        self._left -= _OVERHEAD * len(empty)
        self._keep_to_size()

    def append_all(self, added: Iterable[tuple[bytes, bytes]]) -> None:
        """Append payloads to the buckets that are cached, given pairs of key and payload."""
        cells, length = self._cells, 0
        for key, payload in added:
            content = cells.get(key)
            if content is not None:
                cells[key] = content + payload
                length += len(payload)
        self._left -= length
        self._keep_to_size()

    def drop(self, key: bytes) -> None:
        """Remove a cell from the cache."""
        cell = self._cells.pop(key, None)
        if cell is not None:
            self._note_dropped(key, cell)

    def drop_changed(self, tokens: Iterable[bytes]) -> None:
        """Remove the cells whose names have one of *tokens*."""
        for token in tokens:
            self.drop(self._prefix + token)
            for key in tuple(self._long.get(token, ())):
                self.drop(key)

    def _note_dropped(self, key: bytes, cell: bytes) -> None:
        self._left += _measure(cell)
        if len(key) > self._end:
            token = self._token_of(key)
            self._long[token].discard(key)
            if not self._long[token]:
                del self._long[token]

    def _note_long(self, key: bytes) -> None:
        if len(key) > self._end:
            self._long.setdefault(self._token_of(key), set()).add(key)

    def _token_of(self, key: bytes) -> bytes:
        return key[len(self._prefix) : self._end]

    def _keep_to_size(self) -> None:
        while self._left < 0:
            self._note_dropped(*self._cells.popitem(last=False))

    def begin(self, prefix: bytes) -> None:
        """Remove all cells. The names of all later cells begin with *prefix*."""
        self._cells.clear()
        self._long.clear()
        self._left = self._max_bytes
        self._prefix = prefix
        self._end = len(prefix) + TOKEN_BYTES


def _measure(cell: bytes) -> int:
    """Estimate how many bytes a cell takes."""
    return _OVERHEAD + len(cell)
