"""Rows that are changed many times in a transaction and written once."""

from __future__ import annotations

from typing import Any

import lmdb

from crawler_dedup.index.profiles import Encodable

_MAX_ROWS = 1_000
_MAX_WRITTEN_BYTES = 2_000_000


class DeferredRows:
    """Rows that the jobs of one write transaction change in memory, and that are written before it is committed.

    The rows that were written last stay in memory, up to a number of bytes. Such a row is used again only if the stored
    content is the same as when the row was written, so an aborted transaction does no harm.

    All openings of an index in one process share the rows, as they share its transactions. If a transaction is aborted,
    its unwritten rows are dropped. Only the writing thread uses the rows.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[Any, Encodable]] = {}
        self._written: dict[bytes, tuple[bytes, Encodable]] = {}  # in the order of writing
        self._written_bytes = 0

    def get(self, name: bytes) -> Encodable | None:
        """Return the row *name* if a job of this transaction has changed it; ``None``: the stored content is current."""
        row = self._rows.get(name)
        return None if row is None else row[1]

    def take_written(self, name: bytes, content: bytes | memoryview) -> Encodable | None:
        """Return the row *name* that was written as *content*, if it is still in memory. The caller may change it."""
        if name not in self._written:
            return None
        written, row = self._written.pop(name)
        self._written_bytes -= len(written)
        return row if written == content else None

    def put(self, txn: lmdb.Transaction, database: Any, name: bytes, row: Encodable) -> None:
        """Have *row* written before the commit, as it is then. If there are too many rows, write them first."""
        if len(self._rows) >= _MAX_ROWS:
            self.write(txn)
        self._rows[name] = database, row

    def remove(self, name: bytes) -> None:
        """Drop the row *name* without writing it."""
        self._rows.pop(name, None)

    def clear(self) -> None:
        """Drop all unwritten rows: the transaction was aborted, or the index is emptied."""
        self._rows.clear()

    def write(self, txn: lmdb.Transaction) -> None:
        """Write all rows."""
        for name, (database, row) in self._rows.items():
            content = row.encode()
            txn.put(name, content, db=database)
            self._remember(name, content, row)
        self._rows.clear()

    def _remember(self, name: bytes, content: bytes, row: Encodable) -> None:
        self.take_written(name, b"")
        self._written[name] = content, row
        self._written_bytes += len(content)
        while self._written_bytes > _MAX_WRITTEN_BYTES:
            self.take_written(next(iter(self._written)), b"")
