"""The header of an index in LMDB, which marks a file as an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lmdb
import msgspec

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.header import FORMAT, Header, decode_header
from crawler_dedup.index.lmdb.deferred import DeferredRows
from crawler_dedup.index.lmdb.engine import damaged_error, database_names, open_databases

_NAME = b"header"


class HeaderRow:
    """The row that has the header of an index. Call :meth:`open` or :meth:`open_to_write` first.

    Attributes:
        database: the database that has the row.
    """

    database: Any

    def __init__(self, env: lmdb.Environment, directory: Path, deferred: DeferredRows) -> None:
        self._env = env
        self._directory = directory
        self._deferred = deferred
        self._last: tuple[bytes | None, Header | None] = None, None

    def open(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        """Open the database, which must exist unless *txn* is a write transaction."""
        self.database = env.open_db(b"meta", txn)

    def open_to_write(self, txn: lmdb.Transaction) -> None:
        """Open or make the database. Raises :class:`IndexUnusable` if the file is no index."""
        names = self.check_names(txn)
        self.open(self._env, txn)
        if (len(names) > 1 or txn.stat(self.database)["entries"]) and self.read(txn) is None:
            raise self._other_database_error()

    def check_names(self, txn: lmdb.Transaction) -> list[bytes]:
        """Return the names of all databases; raise :class:`IndexUnusable` if they are not the databases of an index."""
        names = database_names(txn)
        if names and b"meta" not in names:
            raise self._other_database_error()
        return names

    def _other_database_error(self) -> IndexUnusable:
        return IndexUnusable(f"{self._directory} holds another LMDB database, not an index.")

    def read(self, txn: lmdb.Transaction) -> Header | None:
        """Read the header; ``None`` where there is none."""
        stored = txn.get(_NAME, db=self.database)
        if stored is None:
            return None
        content, header = self._last  # replaced in one step: several threads read it
        if content != stored:
            try:
                content, header = self._last = bytes(stored), decode_header(stored)
            except msgspec.DecodeError as error:
                raise damaged_error(self._directory, error) from error
        return header

    def begin(self, txn: lmdb.Transaction, header: Header, fresh: bool) -> Header:
        """Empty the index if *fresh*; write *header* unless there is a header, and return the one that is stored then."""
        if fresh:
            self._empty_index(txn)
        txn.put(_NAME, msgspec.json.encode(header), db=self.database, overwrite=False)
        return self.read(txn) or header

    def _empty_index(self, txn: lmdb.Transaction) -> None:
        header = self.read(txn)
        self._deferred.clear()
        for database in open_databases(self._env, txn):
            # Delete databases of another format, which may be of another kind; those of ours stay open in other processes.
            txn.drop(database, delete=header is not None and header.format != FORMAT)
        self.open(self._env, txn)
