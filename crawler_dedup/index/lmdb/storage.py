"""Storage in LMDB: the databases of an index of pages, and one transaction of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import lmdb

from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.layout import (
    NUMBER_BYTES,
    NUMBERS,
    RECORDS,
    ROW_TABLES,
    SIGNATURES,
    BucketTable,
    RowTable,
    count_chunks,
    decode_number,
)
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.locks import is_run_alive
from crawler_dedup.index.storage import Storage


class Databases:
    """The databases of an index of pages, by the names of its tables."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.rows: dict[RowTable, Any]
        self.buckets: dict[BucketTable, Buckets]
        self.rows, self.buckets = environment.make_databases(
            lambda env, txn: (
                {table: env.open_db(table, txn) for table in ROW_TABLES},
                {NUMBERS: Buckets(env, txn, NUMBERS), SIGNATURES: Buckets(env, txn, SIGNATURES)},
            )
        )


class DirectoryStorage(Storage):
    """One transaction of LMDB."""

    def __init__(self, databases: Databases, txn: lmdb.Transaction) -> None:
        self._environment = databases.environment
        self._rows = databases.rows
        self._buckets = databases.buckets
        self._txn = txn

    def read(self, table: RowTable, name: bytes) -> bytes | memoryview | None:
        return self._txn.get(name, db=self._rows[table])

    def write(self, table: RowTable, name: bytes, content: bytes, *, is_new: bool = False) -> None:
        self._txn.put(name, content, db=self._rows[table], append=is_new)  # a table that grows at its end stays dense

    def delete(self, table: RowTable, name: bytes) -> None:
        self._txn.delete(name, db=self._rows[table])

    def scan(self, table: RowTable) -> Iterator[tuple[bytes, bytes | memoryview]]:
        with self._txn.cursor(db=self._rows[table]) as cursor:
            for name, content in cursor:
                yield bytes(name), content

    def read_bucket(self, table: BucketTable, scope: int, key: int) -> bytes:
        return self._buckets[table].content(self._txn, scope, key)

    def read_buckets(self, table: BucketTable, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        return self._buckets[table].query(self._txn, scope, keys, None if limit is None else count_chunks(limit))

    def append(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        self._buckets[table].insert(self._txn, scope, keys, payload)

    def take(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        self._buckets[table].remove(self._txn, scope, keys, payload)

    def new_number(self, highest: int) -> int:  # noqa: ARG002  (it always returns the highest of all)
        with self._txn.cursor(db=self._rows[RECORDS]) as cursor:
            return decode_number(cursor.key(), NUMBER_BYTES) + 1 if cursor.last() else 1

    def count_records(self) -> int:
        entries: int = self._txn.stat(self._rows[RECORDS])["entries"]
        return entries

    def is_alive(self, run: int) -> bool | None:
        return is_run_alive(self._environment.directory, run, readonly=self._environment.readonly)

    def header(self) -> Header | None:
        return self._environment.header_in(self._txn)
