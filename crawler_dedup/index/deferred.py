"""Rows that are changed many times in a transaction and written once."""

from __future__ import annotations

from typing import Any, Protocol

import lmdb

_MAX_ROWS = 1_000


class Encodable(Protocol):
    """Something that becomes the content of a row."""

    def encode(self) -> bytes:
        """Return it as it is stored."""


class DeferredRows:
    """Rows that the jobs of one write transaction change in memory, and that are written before it is committed.

    All openings of an index in one process share them, as they share its transactions. If a transaction is aborted, they
    are forgotten. Only the writing thread uses them.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[Any, Encodable]] = {}

    def get(self, name: bytes) -> Encodable | None:
        """Return the row *name* as a job of this transaction has left it; ``None``: what is stored holds."""
        row = self._rows.get(name)
        return None if row is None else row[1]

    def put(self, txn: lmdb.Transaction, database: Any, name: bytes, row: Encodable) -> None:
        """Write *row* before the commit, as it is then; too many rows are written before."""
        if len(self._rows) >= _MAX_ROWS:
            self.write(txn)
        self._rows[name] = database, row

    def remove(self, name: bytes) -> None:
        """Do not write the row *name*."""
        self._rows.pop(name, None)

    def clear(self) -> None:
        """Forget all rows: the transaction was aborted, or the index is emptied."""
        self._rows.clear()

    def write(self, txn: lmdb.Transaction) -> None:
        """Write all rows."""
        for name, (database, row) in self._rows.items():
            txn.put(name, row.encode(), db=database)
        self._rows.clear()
