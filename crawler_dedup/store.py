"""The LMDB environment: open, header, and what happens in one write transaction.

Durability is LMDB's own: every commit is an fsync, the map is read-only. A killed process loses nothing that was
committed, and a power cut cannot corrupt the index.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import lmdb
import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_dedup.buckets import Buckets
from crawler_dedup.committer import Committer
from crawler_dedup.decision import Decision, Match, Verdict
from crawler_dedup.errors import IndexMismatch, IndexUnusable
from crawler_dedup.records import Claim, Record, Records
from crawler_dedup.signedpage import SignedPage

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

FORMAT = 1
"""Version of the layout of the databases."""
MAX_REPRESENTATIVES = 32
"""Pages that may stand under one signature. Further ones pass and are recorded, but stand for nothing: a spike (one
log-in text at a million addresses) stays one short bucket."""
MAX_COMPARED = 256
"""Kept pages that are compared with one new page, nearest first."""

_OPEN_TIMEOUT = 30.0
_CLOSE_TIMEOUT = 10.0
_DATABASES = 8
_READERS = 1024


class Judge(Protocol):
    """What the index asks about signatures and pages; it knows neither scheme nor rules."""

    def unfit(self, page: SignedPage) -> str:
        """Why *page* cannot be judged, ``""`` if it can."""

    def keys(self, signature: int) -> NDArray[np.uint64]:
        """The buckets under which a signature is filed."""

    def probes(self, signature: int) -> NDArray[np.uint64]:
        """The buckets in which its candidates stand."""

    def near(self, signature: int, filed: NDArray[np.uint64]) -> list[tuple[int, int]]:
        """(distance, signature) of those of *filed* that are close enough to be candidates, nearest first."""

    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        """The match if *kept* covers *new*."""


class _Header(msgspec.Struct, frozen=True):
    format: int
    spec: dict[str, str]
    libraries: dict[str, str]


class Store:
    """One open index. Use :meth:`open`; all openings of a directory in one process share it."""

    _open: dict[Path, Store] = {}  # noqa: RUF012  (LMDB allows one opening per process: this is where it is shared)
    _lock = threading.Lock()

    def __init__(self, directory: Path, map_size: int) -> None:
        self.directory = directory
        self._users = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._env = lmdb.open(
                str(directory), map_size=map_size, max_dbs=_DATABASES, max_readers=_READERS, metasync=True, sync=True
            )
            self._env.reader_check()
        except (OSError, lmdb.Error) as error:
            raise IndexUnusable(
                f"The index in {directory} cannot be opened (map of {map_size} bytes, DEDUP_MAP_SIZE): {error}"
            ) from error
        self._committer = Committer(self._env)

    def _open_databases(self, txn: lmdb.Transaction) -> None:
        self._meta = self._env.open_db(b"meta", txn)
        self._tables = Buckets(self._env, txn, b"tables")
        self._representatives = Buckets(self._env, txn, b"representatives")
        self._records = Records(self._env, txn)

    @classmethod
    def open(
        cls, directory: Path, spec: Mapping[str, str], libraries: Mapping[str, str], *, map_size: int, fresh: bool
    ) -> Store:
        """Open or create the index in *directory*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions that are noted; others are only warned about.
            fresh: empty it first, unless this process has it open already.

        Raises:
            IndexMismatch: the header has another *spec*.
            IndexUnusable: it cannot be opened.
        """
        directory = directory.resolve()
        with cls._lock:
            store = cls._open.get(directory)
            if store is None:
                store = cls(directory, map_size)
            store._users += 1
            try:
                if store._users == 1:
                    store._write(store._open_databases)
                if fresh and store._users == 1:
                    store._write(store._empty)
                store._check_header(_Header(FORMAT, dict(spec), dict(libraries)))
            except BaseException:
                store._leave()
                raise
            cls._open[directory] = store
            return store

    def close(self) -> None:
        """Give it up; the last user closes it for the process."""
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        self._users -= 1
        if self._users:
            return
        self._open.pop(self.directory, None)
        if self._committer.close(_CLOSE_TIMEOUT):
            self._env.close()
        else:  # closing under a thread that waits inside LMDB would crash the process
            logger.warning("The index in %s is locked by another process; it was left open.", self.directory)

    def offer(self, pages: Sequence[SignedPage], judge: Judge) -> Future[list[Decision]]:
        """Answer and file *pages* in order, also against each other, in one transaction with all others that wait."""

        def job(txn: lmdb.Transaction) -> list[Decision]:
            if txn.get(b"header", db=self._meta) != self._header:
                raise IndexUnusable(f"The index in {self.directory} was emptied for another configuration meanwhile.")
            return [self._offer(txn, page, judge) for page in pages]

        return self._committer.submit(job)

    def settle(self, scope: str, key: str, judge: Judge) -> Future[bool]:
        """The page was handled: it may stand for others. ``False`` if it is not recorded."""
        return self._committer.submit(lambda txn: self._end_claim(txn, scope, key, judge, settled=True))

    def release(self, scope: str, key: str, judge: Judge) -> Future[bool]:
        """The page was not handled: forget it, so that it stands for nothing. ``False`` if it is not recorded."""
        return self._committer.submit(lambda txn: self._end_claim(txn, scope, key, judge, settled=False))

    def __len__(self) -> int:
        with self._env.begin() as txn:
            return self._records.count(txn)

    # One write transaction

    def _offer(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge) -> Decision:
        reason = judge.unfit(page)
        if reason:
            return Decision(Verdict.UNCHECKED, page.url, page.key, page.scope, reason=reason)
        own = self._records.find(txn, page.scope, page.key)
        if own is not None:
            number, kept = own
            match = judge.compare(page, kept.page)
            if match is not None:
                return _decision(page, Verdict.UNCHANGED, match)
            self._unfile(txn, number, kept, judge)
            self._file(txn, page, judge)
            return _decision(page, Verdict.CHANGED)
        for kept_page in self._candidates(txn, page, judge):
            match = judge.compare(page, kept_page)
            if match is not None:
                return _decision(page, Verdict.DUPLICATE, match, kept_page.url)
        self._file(txn, page, judge)
        return _decision(page, Verdict.NEW)

    def _candidates(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge) -> Iterator[SignedPage]:
        filed = self._tables.query(txn, page.scope, judge.probes(page.signature))
        left = MAX_COMPARED
        for _, signature in judge.near(page.signature, filed):
            for number in self._standing(txn, page.scope, signature)[:left]:
                left -= 1
                record = self._records.get(txn, number)
                if record.claim is Claim.SETTLED and record.page.scope == page.scope:
                    yield record.page

    def _standing(self, txn: lmdb.Transaction, scope: str, signature: int) -> list[int]:
        """The numbers of the pages that stand under *signature*."""
        numbers: list[int] = self._representatives.query(txn, scope, _one(signature)).tolist()
        return numbers

    def _file(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge) -> None:
        number = self._records.add(txn, Record(page, Claim.SETTLED))
        if len(self._standing(txn, page.scope, page.signature)) < MAX_REPRESENTATIVES:
            self._representatives.insert(txn, page.scope, _one(page.signature), number)
            self._tables.insert(txn, page.scope, judge.keys(page.signature), page.signature)

    def _unfile(self, txn: lmdb.Transaction, number: int, record: Record, judge: Judge) -> None:
        page = record.page
        self._records.remove(txn, number, record)
        self._representatives.remove(txn, page.scope, _one(page.signature), number)
        if not self._standing(txn, page.scope, page.signature):
            self._tables.remove(txn, page.scope, judge.keys(page.signature), page.signature)

    def _end_claim(self, txn: lmdb.Transaction, scope: str, key: str, judge: Judge, *, settled: bool) -> bool:
        own = self._records.find(txn, scope, key)
        if own is None:
            return False
        number, record = own
        if settled:
            self._records.replace(txn, number, Record(record.page, Claim.SETTLED))
        else:
            self._unfile(txn, number, record, judge)
        return True

    def _empty(self, txn: lmdb.Transaction) -> None:
        for database in (self._meta, self._tables.db, self._representatives.db, *self._records.databases):
            txn.drop(database, delete=False)

    def _check_header(self, header: _Header) -> None:
        with self._env.begin() as txn:
            stored: bytes | memoryview | None = txn.get(b"header", db=self._meta)
        if stored is None:
            # Another process may have been faster: what stands there then is checked like any other.
            stored = self._write(partial(self._stored_header, ours=msgspec.json.encode(header)))
        try:
            theirs = msgspec.json.decode(stored, type=_Header)
        except msgspec.DecodeError as error:
            raise IndexUnusable(f"The header of the index in {self.directory} cannot be read: {error}") from error
        self._header = bytes(stored)
        differences = _differences(
            {"format": str(theirs.format), **theirs.spec}, {"format": str(header.format), **header.spec}
        )
        if differences:
            raise IndexMismatch(str(self.directory), differences)
        for name, (then, now) in _differences(theirs.libraries, header.libraries).items():
            logger.warning(
                "The index in %s was made with %s %s, this is %s: signatures of one text may differ a little.",
                self.directory,
                name,
                then,
                now,
            )

    def _stored_header(self, txn: lmdb.Transaction, ours: bytes) -> bytes:
        txn.put(b"header", ours, db=self._meta, overwrite=False)
        return bytes(txn.get(b"header", ours, db=self._meta))

    def _write(self, job: Callable[[lmdb.Transaction], _T]) -> _T:
        """Run *job* while the index is being opened."""
        try:
            return self._committer.submit(job).result(_OPEN_TIMEOUT)
        except FutureTimeout:
            raise IndexUnusable(f"The index in {self.directory} is locked by another process.") from None
        except lmdb.Error as error:
            raise IndexUnusable(f"The index in {self.directory} cannot be written: {error}") from error


def _after_fork() -> None:
    # LMDB's handles and the writing threads stay with the parent. LMDB refuses the child an index that the parent has
    # open; without this, the child would wait for a thread that it does not have.
    Store._open.clear()
    Store._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    names = [*theirs, *(name for name in ours if name not in theirs)]
    return {name: (theirs.get(name), ours.get(name)) for name in names if theirs.get(name) != ours.get(name)}


def _one(key: int) -> NDArray[np.uint64]:
    return np.array([key], dtype=np.uint64)


def _decision(page: SignedPage, verdict: Verdict, match: Match | None = None, duplicate_of: str = "") -> Decision:
    return Decision(verdict, page.url, page.key, page.scope, match=match, duplicate_of=duplicate_of)
