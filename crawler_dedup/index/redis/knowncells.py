"""The cells of an index on a server that a client knows: it reads those that it does not know, or takes them for empty.

In a young index most buckets are empty. Instead of reading that, a transaction assumes it, and the script that makes its
changes finds out, as of anything else that a transaction has read. Where it is wrong too often, cells are read first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from crawler_dedup.index.places import NUMBER_BYTES
from crawler_dedup.index.redis.cells import CellCache, Row
from crawler_dedup.index.redis.changes import CHANGING, Changes
from crawler_dedup.index.redis.connection import ServerConnection

_READ_KEYS = 1000  # that are asked for at once
_SURE = 0.9
"""Share of the latest transactions whose unknown cells were all empty, from which on cells are taken for empty: a wrong
assumption costs as much as five times reading."""
_LATEST = 16


class KnownCells:
    """Cells as they were last read or written. Whatever is taken from here, the script checks.

    Args:
        connection: with which cells are read.
        max_bytes: how many bytes of them are kept.
        may_assume: whether each transaction is checked before it is answered, so that cells may be taken for empty.
    """

    def __init__(self, connection: ServerConnection, max_bytes: int, *, may_assume: bool) -> None:
        self._connection = connection
        self._cache = CellCache(max_bytes)
        self._may_assume = may_assume
        self._emptiness = 0.0

    @property
    def is_assuming(self) -> bool:
        """Whether cells that are not known are taken for empty now."""
        return self._emptiness > _SURE

    def begin(self, prefix: bytes) -> None:
        """Forget all cells. The names of those that come begin with *prefix*."""
        self._cache.begin(prefix)
        self._emptiness = 0.0

    def read_buckets(self, changes: Changes, keys: Sequence[bytes]) -> list[bytes]:
        """Return the contents of buckets, as *changes* has read them before, as they are known, or as they are now."""
        known = changes.buckets
        if missing := self._cache.find(keys, known):
            if self.is_assuming:
                known.update(dict.fromkeys(missing, b""))
                changes.assumed += missing
            else:
                for key, content in self._fetch(missing):
                    known[key] = content
                    self._cache.put(key, content)
        return [known[key] for key in keys]

    def read_bucket(self, changes: Changes, key: bytes) -> bytes:
        """Return the content of a bucket, likewise."""
        content = changes.buckets.get(key)
        return self.read_buckets(changes, [key])[0] if content is None else content

    def read_row(self, changes: Changes, key: bytes, *, may_be_new: bool = False) -> Row:
        """Return a row, likewise.

        Args:
            may_be_new: whether nobody may have written it yet.
        """
        if (known := changes.rows.get(key)) is not None:
            return known
        row = cast("Row | None", self._cache.get(key))
        if row is None:
            if may_be_new and self.is_assuming:
                row = Row(b"")
                changes.assumed.append(key)
            else:
                row = Row(self._connection.call(b"GET", key) or b"")
                self._cache.put(key, row)
        changes.rows[key] = row
        return row

    def read_ahead(self, buckets: Iterable[bytes], rows: Iterable[bytes]) -> None:
        """Read buckets and rows that are not known, so that a transaction need not read each of them by itself."""
        missing, missing_rows = self._cache.find_missing(buckets), set(self._cache.find_missing(rows))
        if len(missing) + len(missing_rows) > 1:
            is_empty = True
            for key, content in self._fetch([*missing, *missing_rows]):
                is_empty = is_empty and not content
                self._cache.put(key, Row(content) if key in missing_rows else content)
            self._note_emptiness(is_empty=is_empty)

    def _fetch(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for start in range(0, len(keys), _READ_KEYS):
            some = keys[start : start + _READ_KEYS]
            contents = self._connection.call(b"MGET", *some)
            yield from ((key, content or b"") for key, content in zip(some, contents, strict=True))

    def drop_changed(self, tokens: Iterable[bytes]) -> None:
        """Forget the cells that others have changed, and that have one of *tokens*."""
        self._cache.drop_changed(tokens)

    def note_done(self, changes: Changes, encoded: Sequence[bytes], records: Iterable[bytes]) -> None:
        """Note what was changed: the cells are known without reading them again.

        Args:
            encoded: the numbers of the new records.
            records: their names.
        """
        cache = self._cache
        if changes.assumed:
            self._keep_assumed_empty(changes)
        for key, content, decoded in zip(records, changes.new, changes.new_decoded, strict=True):
            cache.put(key, Row(content, decoded))
        cache.append_all(
            (key, encoded[number - 1] + payload[NUMBER_BYTES:] if number else payload)
            for key, number, payload in changes.added
        )
        for key, content in changes.written.items():
            cache.replace(key, content, changes.decoded.get(key))
        for command in changes.commands:
            if command[0] in CHANGING:
                cache.drop(cast("bytes", command[1]))

    def note_stale(self, changes: Changes, contents: Sequence[bytes | None]) -> None:
        """Note that something has changed of what *changes* has read, and read that at once for another attempt.

        Args:
            contents: of the cells that were taken for empty, if one of them is not.
        """
        if contents:
            self._keep_assumed(changes, contents)
        assumed = set(changes.assumed)
        missing = self._cache.find_missing([*changes.buckets, *changes.rows])
        for key, content in self._fetch([key for key in missing if key not in assumed]):
            self._cache.put(key, Row(content) if key in changes.rows else content)

    def _keep_assumed(self, changes: Changes, contents: Sequence[bytes | None]) -> None:
        """Keep the cells that were taken for empty, with their *contents*."""
        self._note_emptiness(is_empty=not any(contents))
        for key, content in zip(changes.assumed, contents, strict=True):
            self._cache.put(key, Row(content or b"") if key in changes.rows else content or b"")

    def _keep_assumed_empty(self, changes: Changes) -> None:
        """Keep the cells that were taken for empty, and are."""
        self._note_emptiness(is_empty=True)
        rows = changes.rows.keys() & changes.assumed
        self._cache.put_empty([key for key in changes.assumed if key not in rows] if rows else changes.assumed)
        for key in rows:
            self._cache.put(key, Row(b""))

    def _note_emptiness(self, *, is_empty: bool) -> None:
        if self._may_assume:
            self._emptiness += (is_empty - self._emptiness) / _LATEST
