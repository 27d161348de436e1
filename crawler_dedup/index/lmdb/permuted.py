"""The permuted-table index of bare 64-bit signatures, without pages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from operator import index
from os import PathLike
from pathlib import Path
from types import TracebackType

import lmdb
import numpy as np

from crawler_dedup.config import MAP_SIZE
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.hamming import DESIGNS, Numbers, SignatureMatch, near, sort_distinct
from crawler_dedup.index.header import Header, Kind
from crawler_dedup.index.layout import SIGNATURES, decode_number
from crawler_dedup.index.lmdb.buckets import Buckets, Tally, equal_ranges, tally
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.system.callbacks import Advance, ignore_progress

Signatures = int | Iterable[int] | Numbers

KIND: Kind = "signatures"
_SCOPE = 0
_SLICE = 1 << 23
_VERIFIED = 1 << 16
_COUNT = b"count"


class PermutedIndex:
    """An index on disk that finds all 64-bit signatures within a Hamming distance of a given one: exact and durable.

    It has the tables of Manku, Jain and Das Sarma (WWW 2007, §3) in buckets of an LMDB database, as the crawl filter does.
    Any number of threads and processes may use one directory; concurrent insertions of several threads share a commit.
    A forked child must not use an index that its parent has open.

    >>> with PermutedIndex.open("signatures") as index:
    ...     index.insert([0b1011, 0b0110])
    ...     index.query(0b1010, max_distance=1)
    2
    [SignatureMatch(distance=1, signature=11)]
    """

    def __init__(self, environment: Environment, tables: int) -> None:
        """Use :meth:`open`."""
        self.environment = environment
        self._design = DESIGNS[tables]
        self._buckets = environment.make_databases(lambda env, txn: Buckets(env, txn, SIGNATURES))
        self._closed = False

    @classmethod
    def open(
        cls, directory: str | PathLike[str], *, tables: int | None = None, map_size: int = MAP_SIZE
    ) -> PermutedIndex:
        """Open or create the index in *directory*.

        Args:
            tables: number of tables, chosen when the index is created. 4 finds distances up to 7, and is the smallest and
                here the fastest design; 10, 16 and 20 are the other designs of the paper, for distances up to 3.
                ``None``: the number of the existing index, or 4.
            map_size: largest size of the file, in bytes; set by the first of several openings in one process.

        Raises:
            ValueError: there is no such design.
            IndexMismatch: the index has another design, or holds pages.
            IndexUnusable: it cannot be opened.
        """
        if tables is not None and tables not in DESIGNS:
            raise ValueError(f"tables = {tables} is not allowed; there are {', '.join(map(str, DESIGNS))}.")
        environment = Environment.open(Path(directory), map_size=map_size)
        try:
            if tables is None:
                tables = tables_of(environment.stored_header())
            environment.prepare(KIND, {"tables": str(tables)}, {}, fresh=False)
            return cls(environment, tables)
        except BaseException:
            environment.close()
            raise

    @property
    def tables(self) -> int:
        """Number of tables."""
        return self._design.tables

    def insert(self, signatures: Signatures) -> int:
        """Insert *signatures*, wait until all are on disk, and return how many were new.

        Up to 8,388,608 signatures are inserted in one transaction, more in several. Inserting many at once is much faster
        than one by one.

        Raises:
            IndexUnusable: the index is full, the disk is full, or the index is damaged.
        """
        array = _array(signatures)
        return sum([self.submit(array[at : at + _SLICE]).result() for at in range(0, len(array), _SLICE)])

    def submit(self, signatures: Signatures) -> Future[int]:
        """Insert *signatures* as :meth:`insert` does, but do not wait: all waiting insertions share a transaction."""
        return self.environment.submit(partial(self._insert, signatures=_array(signatures).copy()))

    def remove(self, signatures: Signatures) -> int:
        """Remove *signatures*, wait until that is on disk, and return how many there were. Raises as :meth:`insert`."""
        array = _array(signatures)
        slices = (array[at : at + _SLICE] for at in range(0, len(array), _SLICE))
        return sum([self.environment.submit(partial(self._remove, signatures=part)).result() for part in slices])

    def query(self, signature: int, max_distance: int = 3) -> list[SignatureMatch]:
        """Return every signature within *max_distance* bits of *signature*, nearest first.

        Raises:
            ValueError: the tables do not find *max_distance*, or *signature* does not fit in 64 bits.
            IndexUnusable: the index is damaged.
        """
        with self.environment.read() as txn:
            return self._query(txn, index(signature), max_distance)

    def query_many(self, signatures: Signatures, max_distance: int = 3) -> list[list[SignatureMatch]]:
        """Return the result of :meth:`query` for each of *signatures*, in one state of the index."""
        with self.environment.read() as txn:
            return [self._query(txn, signature, max_distance) for signature in _array(signatures).tolist()]

    def blocks(self, size: int) -> Iterator[Numbers]:
        """Yield all signatures in ascending order, in arrays of up to *size*, from one state of the index.

        Raises:
            IndexUnusable: the index is damaged.
        """
        with self.environment.read() as txn:
            yield from self._sorted_blocks(txn, size)

    def verify(self, advance: Advance = ignore_progress) -> list[str]:
        """Return the faults of the index, a sentence each; none if every signature is in each table exactly once.

        *advance* is called with the number of signatures of each block that was checked.
        """
        expected, different = Tally(), 0
        try:
            with self.environment.read() as txn:
                filed = self._buckets.tally(txn)
                for signatures in self._sorted_blocks(txn, _VERIFIED):
                    expected += tally(_SCOPE, self._design.keys_of_many(signatures), signatures[:, None])
                    different += len(sort_distinct(signatures))
                    advance(len(signatures))
                count = self._count(txn)
        except IndexUnusable as error:
            return [str(error)]
        problems = []
        if filed != expected:
            problems.append(f"The tables differ: they hold {filed.entries} entries, {expected.entries} are expected.")
        if different != expected.entries // self.tables:
            problems.append("There are signatures that are in a table twice.")
        if different != count:
            problems.append(f"The index counts {count} signatures and has {different}.")
        return problems

    def salvage(self) -> Numbers:
        """Return every signature that is in any table, ascending, even if others cannot be read.

        Insert them into a new index. This takes about 100 bytes of memory per signature.
        """
        with self.environment.read() as txn:
            return sort_distinct(np.concatenate([np.empty(0, dtype=np.uint64), *self._buckets.salvage(txn)]))

    def __len__(self) -> int:
        with self.environment.read() as txn:
            return self._count(txn)

    def __bool__(self) -> bool:
        """Return ``True``: an empty index is an index."""
        return True

    def close(self) -> None:
        """Finish the waiting jobs and close the index. Idempotent."""
        if not self._closed:
            self._closed = True
            self.environment.close()

    def __enter__(self) -> PermutedIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # In one transaction

    def _query(self, txn: lmdb.Transaction, signature: int, max_distance: int) -> list[SignatureMatch]:
        return near(
            signature, self._buckets.query(txn, _SCOPE, self._design.probes(signature, max_distance)), max_distance
        )

    def _insert(self, txn: lmdb.Transaction, signatures: Numbers) -> int:
        inserted = (
            self._insert_one(txn, int(signatures[0])) if len(signatures) == 1 else self._insert_many(txn, signatures)
        )
        if inserted:
            self._set_count(txn, self._count(txn) + inserted)
        return inserted

    def _insert_one(self, txn: lmdb.Transaction, signature: int) -> int:
        keys = self._design.keys(signature)
        if (self._buckets.query(txn, _SCOPE, keys[:1]) == signature).any():
            return 0
        self._buckets.insert(txn, _SCOPE, keys, signature)
        return 1

    def _insert_many(self, txn: lmdb.Transaction, signatures: Numbers) -> int:
        new = self._find_absent(txn, sort_distinct(signatures))
        for keys in self._design.keys_of_many(new).T:
            self._buckets.insert_many(txn, _SCOPE, keys, new)
        return len(new)

    def _find_absent(self, txn: lmdb.Transaction, signatures: Numbers) -> Numbers:
        """Return the *signatures* (ascending, distinct) that are not in the first table of the index."""
        keys = self._design.keys_of_many(signatures)[:, 0]
        absent = np.ones(len(signatures), dtype=bool)
        for start, end in equal_ranges(keys):
            filed = np.sort(self._buckets.query(txn, _SCOPE, [int(keys[start])]))
            if len(filed):
                wanted = signatures[start:end]
                absent[start:end] = filed.take(filed.searchsorted(wanted), mode="clip") != wanted
        return signatures[absent]

    def _remove(self, txn: lmdb.Transaction, signatures: Numbers) -> int:
        signatures = sort_distinct(signatures)
        present = np.setdiff1d(signatures, self._find_absent(txn, signatures), assume_unique=True)
        for signature in present.tolist():
            self._buckets.remove(txn, _SCOPE, self._design.keys(signature), signature)
        self._set_count(txn, self._count(txn) - len(present))
        return len(present)

    def _sorted_blocks(self, txn: lmdb.Transaction, size: int) -> Iterator[Numbers]:
        waiting, count = [np.empty(0, dtype=np.uint64)], 0
        for bucket in self._sorted_buckets(txn):
            waiting.append(bucket)
            count += len(bucket)
            if count >= size:
                joined = np.concatenate(waiting)
                full = count - count % size
                yield from np.split(joined[:full], full // size)
                waiting, count = [joined[full:]], count - full
        if count:
            yield np.concatenate(waiting)

    def _sorted_buckets(self, txn: lmdb.Transaction) -> Iterator[Numbers]:
        """Yield the first table's buckets, each sorted: its keys are the signatures' highest bits."""
        bucket: list[Numbers] = []
        before = 0
        for _, key, payloads in self._buckets.chunks(txn):
            if key != before and bucket:
                yield np.sort(np.concatenate(bucket))
                bucket = []
            if self._design.table_of(key):
                return
            bucket.append(payloads)
            before = key
        if bucket:
            yield np.sort(np.concatenate(bucket))

    def _count(self, txn: lmdb.Transaction) -> int:
        stored = txn.get(_COUNT, db=self.environment.meta)
        return 0 if stored is None else min(decode_number(stored, 8, "little"), sys.maxsize)

    def _set_count(self, txn: lmdb.Transaction, count: int) -> None:
        txn.put(_COUNT, max(0, count).to_bytes(8, "little"), db=self.environment.meta)


def tables_of(header: Header | None) -> int:
    """Return the number of tables of an index; 4 if there is no header, or the index is not of bare signatures."""
    text = header.spec.get("tables", "") if header and header.kind == KIND else "4"
    tables = {str(number): number for number in DESIGNS}.get(text)
    if tables is None:
        raise IndexUnusable(f"The index has {text!r} tables, a design that this version does not have.")
    return tables


def _array(signatures: Signatures) -> Numbers:
    """Return *signatures* as uint64, shape (n,).

    Raises :class:`TypeError` or :class:`ValueError` if they are not 64-bit signatures.
    """
    if isinstance(signatures, np.ndarray):
        if signatures.dtype != np.uint64 or signatures.ndim != 1:
            raise TypeError(
                f"signatures have dtype {signatures.dtype} and shape {signatures.shape}; they take uint64 and (n,)."
            )
        return signatures
    numbers = [signatures] if isinstance(signatures, (int, np.integer)) else signatures
    try:
        return np.array([index(number) for number in numbers], dtype=np.uint64)
    except OverflowError:
        raise ValueError("A signature is between 0 and 2^64 - 1.") from None
