"""Rows that are changed many times in a transaction and written once."""

from __future__ import annotations

from typing import Any

import lmdb

from crawler_dedup.index.profiles import Encodable

_MAX_ROWS = 1_000
_MAX_WRITTEN_BYTES = 2_000_000


class DeferredRows:
    """Rows that the jobs of one write transaction change in memory, and that are written before it is committed.

    Those that were written last stay in memory as they were written, up to some bytes. They serve as long as the stored
    content is the same, whoever has written it: so it does no harm if the transaction was aborted.

    All openings of an index in one process share them, as they share its transactions. If a transaction is aborted, what it
    has not written is forgotten. Only the writing thread uses them.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[Any, Encodable]] = {}
        self._written: dict[bytes, tuple[bytes, Encodable]] = {}  # the latest last
        self._written_bytes = 0

    def get(self, name: bytes) -> Encodable | None:
        """Return the row *name* as a job of this transaction has left it; ``None``: what is stored holds."""
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
        """Write *row* before the commit, as it is then; too many rows are written before."""
        if len(self._rows) >= _MAX_ROWS:
            self.write(txn)
        self._rows[name] = database, row

    def remove(self, name: bytes) -> None:
        """Do not write the row *name*."""
        self._rows.pop(name, None)

    def clear(self) -> None:
        """Forget all rows that were not written: the transaction was aborted, or the index is emptied."""
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
