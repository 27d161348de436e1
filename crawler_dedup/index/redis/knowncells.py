"""The cells of an index on a server that a client knows; other cells are read, or assumed to be empty.

In a young index most buckets are empty. Instead of reading them, a transaction assumes this, and the script that makes its
changes checks it, as it checks everything that was read. If the assumption is wrong too often, cells are read first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from crawler_dedup.index.redis.cells import CellCache
from crawler_dedup.index.redis.changes import Changes
from crawler_dedup.index.redis.connection import ServerConnection

_READ_KEYS = 1000  # in one command
_LEAST_EMPTY_SHARE = 0.9
"""Cells are assumed to be empty if the unknown cells of more than this share of the latest transactions were all empty: a
wrong assumption costs as much as reading five times."""
_LATEST = 16


class KnownCells:
    """Cells as they were last read or written. The script that makes the changes checks those that were used.

    Args:
        connection: the connection by which cells are read.
        max_bytes: maximum size of the cached cells.
        may_assume: whether each transaction is checked before it is answered, so that cells may be assumed to be empty.
    """

    def __init__(self, connection: ServerConnection, max_bytes: int, *, may_assume: bool) -> None:
        self._connection = connection
        self._cache = CellCache(max_bytes)
        self._may_assume = may_assume
        self._emptiness = 0.0

    @property
    def is_assuming(self) -> bool:
        """Whether unknown cells are assumed to be empty now."""
        return self._emptiness > _LEAST_EMPTY_SHARE

    def begin(self, prefix: bytes) -> None:
        """Forget all cells. The names of all later cells begin with *prefix*."""
        self._cache.begin(prefix)
        self._emptiness = 0.0

    def read_all(self, changes: Changes, keys: Sequence[bytes], *, may_assume: bool = True) -> list[bytes]:
        """Return the contents of cells: as *changes* has read them before, as they are known, or as they are read now.

        Args:
            may_assume: whether the cells may not exist yet, so that they may be assumed to be empty.
        """
        known = changes.cells
        if missing := self._cache.find(keys, known):
            if may_assume and self.is_assuming:
                known.update(dict.fromkeys(missing, b""))
                changes.assumed += missing
            else:
                for key, content in self._fetch(missing):
                    known[key] = content
                    self._cache.put(key, content)
        return [known[key] for key in keys]

    def read(self, changes: Changes, key: bytes, *, may_assume: bool) -> bytes:
        """Return the content of a cell. See :meth:`read_all`."""
        content = changes.cells.get(key)
        if content is None:
            content = self._cache.get(key)
            if content is None:
                return self.read_all(changes, [key], may_assume=may_assume)[0]
            changes.cells[key] = content
        return content

    def read_ahead(self, cells: Iterable[bytes]) -> None:
        """Read all unknown ones of *cells* together, so that a transaction need not read them one by one."""
        missing = self._cache.find_missing(cells)
        if len(missing) > 1:
            is_empty = True
            for key, content in self._fetch(missing):
                is_empty = is_empty and not content
                self._cache.put(key, content)
            self._note_emptiness(is_empty=is_empty)

    def _fetch(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for start in range(0, len(keys), _READ_KEYS):
            some = keys[start : start + _READ_KEYS]
            contents = self._connection.call(b"MGET", *some)
            yield from ((key, content or b"") for key, content in zip(some, contents, strict=True))

    def drop_changed(self, tokens: Iterable[bytes]) -> None:
        """Forget the cells whose names have one of *tokens*, because others have changed them."""
        self._cache.drop_changed(tokens)

    def note_done(self, changes: Changes) -> None:
        """Update the cells after a commit, so that they need not be read again."""
        cache = self._cache
        if changes.assumed:
            self._note_emptiness(is_empty=True)
            cache.put_empty(changes.assumed)
        cache.append_all(changes.added)
        for key, content in changes.written.items():
            cache.put(key, content)
        for command in changes.commands:
            if command[0] == b"DEL":
                cache.drop(cast("bytes", command[1]))

    def note_stale(self, changes: Changes, contents: Sequence[bytes | None]) -> None:
        """Read again, for another attempt, those cells that *changes* had read and others have changed.

        Args:
            contents: contents of the cells that were assumed to be empty, if one of them is not.
        """
        if contents:
            self._note_emptiness(is_empty=not any(contents))
            for key, content in zip(changes.assumed, contents, strict=True):
                self._cache.put(key, content or b"")
        assumed = set(changes.assumed)
        missing = self._cache.find_missing(changes.cells)
        for key, content in self._fetch([key for key in missing if key not in assumed]):
            self._cache.put(key, content)

    def _note_emptiness(self, *, is_empty: bool) -> None:
        if self._may_assume:
            self._emptiness += (is_empty - self._emptiness) / _LATEST
