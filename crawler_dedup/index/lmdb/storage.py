"""Storage in LMDB: the databases of an index of pages, and one transaction of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from crawler_dedup.config import MAP_SIZE
from crawler_dedup.hashes import Numbers
from crawler_dedup.index import layout
from crawler_dedup.index.header import Header
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.engine import DATA_FILE, explain, open_lmdb, unusable_error
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.locks import is_run_alive
from crawler_dedup.index.storage import Storage

_LEAST_SCRATCH = 1 << 30


class Databases:
    """The databases of an index of pages, by the names of its tables.

    Args:
        env: the environment of LMDB.
        txn: a write transaction, in which missing databases are created. ``None``: they exist.
    """

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        self.rows: dict[layout.RowTable, Any] = {table: env.open_db(table, txn) for table in layout.ROW_TABLES}
        tables = layout.NUMBERS, layout.SIGNATURES
        self.buckets: dict[layout.BucketTable, Buckets] = {table: Buckets(env, txn, table) for table in tables}


class DirectoryStorage(Storage):
    """One transaction of LMDB. Without an environment it is the only one, in which no run is alive or dead."""

    def __init__(self, databases: Databases, txn: lmdb.Transaction, environment: Environment | None = None) -> None:
        self._environment = environment
        self._rows = databases.rows
        self._buckets = databases.buckets
        self._txn = txn

    def read(self, table: layout.RowTable, name: bytes) -> bytes | memoryview | None:
        return self._txn.get(name, db=self._rows[table])

    def write(self, table: layout.RowTable, name: bytes, content: bytes, *, is_new: bool = False) -> None:
        self._txn.put(name, content, db=self._rows[table], append=is_new)  # a table that grows at its end stays dense

    def delete(self, table: layout.RowTable, name: bytes) -> None:
        self._txn.delete(name, db=self._rows[table])

    def scan(self, table: layout.RowTable) -> Iterator[tuple[bytes, bytes | memoryview]]:
        with self._txn.cursor(db=self._rows[table]) as cursor:
            for name, content in cursor:
                yield bytes(name), content

    def read_buckets(self, table: layout.BucketTable, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        return self._buckets[table].query(self._txn, scope, keys, None if limit is None else layout.count_chunks(limit))

    def append(self, table: layout.BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        self._buckets[table].insert(self._txn, scope, keys, payload)

    def take(self, table: layout.BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        self._buckets[table].remove(self._txn, scope, keys, payload)

    def new_number(self) -> int:
        with self._txn.cursor(db=self._rows[layout.RECORDS]) as cursor:
            return layout.decode_number(cursor.key(), layout.NUMBER_BYTES) + 1 if cursor.last() else 1

    def count_records(self) -> int:
        entries: int = self._txn.stat(self._rows[layout.RECORDS])["entries"]
        return entries

    def is_alive(self, run: int) -> bool | None:
        environment = self._environment
        return None if environment is None else is_run_alive(environment.directory, run, readonly=environment.readonly)

    def header(self) -> Header | None:
        return None if self._environment is None else self._environment.header_in(self._txn)


@contextmanager
def begin_scratch(directory: Path) -> Iterator[Storage]:
    """Begin a transaction in an empty *directory*, of which nothing is left at its end.

    Its changes take half a gigabyte of memory at most; LMDB writes others to the file, and waits for no disk.

    Raises:
        IndexUnusable: the disk is full.
    """
    with _open_scratch(directory, MAP_SIZE) as env:
        if os.name == "posix":  # nothing is left of an open file without a name if this process is killed
            (directory / DATA_FILE).unlink()
        txn = env.begin(write=True, buffers=True)
        try:
            yield DirectoryStorage(Databases(env, txn), txn)
        except lmdb.Error as error:
            raise explain(error, env, directory) from error
        finally:
            txn.abort()


def _open_scratch(directory: Path, map_size: int) -> lmdb.Environment:
    """Open a file with the largest map up to *map_size* that the process may have. Raises :class:`IndexUnusable`."""
    try:
        return open_lmdb(directory, map_size, lock=False)
    except lmdb.Error as error:
        if isinstance(error, lmdb.MemoryError) and map_size > _LEAST_SCRATCH:
            return _open_scratch(directory, map_size // 4)
        raise unusable_error(directory, "cannot be opened", error) from error
