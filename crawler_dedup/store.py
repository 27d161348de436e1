"""The pages of an index: what happens to them in one write transaction."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import islice
from pathlib import Path
from time import time
from typing import Any, Protocol

import lmdb
import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_dedup.buckets import Buckets, scope_number
from crawler_dedup.decision import Decision, Match, Verdict
from crawler_dedup.engine import AS_MADE
from crawler_dedup.environment import Environment
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.hamming import SignatureMatch
from crawler_dedup.header import Header
from crawler_dedup.records import Claim, Record, Records
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.verification import problems

KIND = "pages"
MAX_REPRESENTATIVES = 64
"""Pages that may stand under one signature. Further ones pass and are recorded, but stand for nothing: a spike (one
log-in text at a million addresses) stays one short bucket."""
MAX_COMPARED = 256
"""Kept pages that are compared with one new page, nearest first."""

_SLICE = 500


class Filing(Protocol):
    """Where the index files a signature."""

    def keys(self, signature: int) -> Sequence[int]:
        """The buckets under which *signature* is filed; for each as many."""


class Judge(Filing, Protocol):
    """What the index asks about signatures and pages; it knows neither scheme nor rules."""

    def learn(self, page: SignedPage) -> None:
        """*page* passes: it shows what its site is like."""

    def to_keep(self, page: SignedPage) -> SignedPage:
        """Of *page* what later pages are compared with."""

    def probes(self, signature: int) -> Iterable[int]:
        """The buckets in which its candidates stand."""

    def near(self, signature: int, filed: NDArray[np.uint64]) -> Sequence[SignatureMatch]:
        """Those of *filed* that are close enough to be candidates, nearest first."""

    def choose(self, new: SignedPage, kept: Iterable[SignedPage]) -> tuple[SignedPage, Match] | None:
        """The first of the *kept* pages that covers *new*, with the match. Nearest first."""


class Store:
    """The pages of one index directory. Use :meth:`open` or :meth:`attach`."""

    def __init__(self, environment: Environment, header: Header) -> None:
        self.environment = environment
        self.header = header
        self._tables, self._representatives, self._records = environment.databases(
            lambda env, txn: (Buckets(env, txn, b"tables"), Buckets(env, txn, b"representatives"), Records(env, txn))
        )

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
        environment = Environment.open(directory, map_size=map_size)
        try:
            return cls(environment, environment.prepare(KIND, spec, libraries, fresh=fresh))
        except BaseException:
            environment.close()
            raise

    @classmethod
    def attach(cls, directory: Path) -> Store:
        """Open an existing index of pages, whatever its configuration. Raises as :meth:`open`."""
        environment = Environment.open(directory, map_size=AS_MADE)
        try:
            header = environment.existing_header()
            return cls(environment, environment.prepare(KIND, header.spec, header.libraries, fresh=False))
        except BaseException:
            environment.close()
            raise

    def close(self) -> None:
        """Give it up; the last user closes it for the process."""
        self.environment.close()

    def offer(self, pages: Sequence[SignedPage], judge: Judge, run: int = 0) -> Future[list[Decision]]:
        """Answer and file *pages* in order, also against each other, in one transaction with all others that wait."""

        def job(txn: lmdb.Transaction) -> list[Decision]:
            if self.environment.header_in(txn) != self.header:
                raise IndexUnusable(
                    f"The index in {self.environment.directory} was emptied for another configuration meanwhile."
                )
            return [self._offer(txn, page, judge, run) for page in pages]

        return self.environment.submit(job)

    def settle(self, scope: str, key: str, filing: Filing) -> Future[bool]:
        """The page was handled: it may stand for others. ``False`` if it is not recorded."""
        return self.environment.submit(lambda txn: self._end_claim(txn, scope, key, filing, settled=True))

    def release(self, scope: str, key: str, filing: Filing) -> Future[bool]:
        """The page was not handled: forget it, so that it stands for nothing. ``False`` if it is not recorded."""
        return self.environment.submit(lambda txn: self._end_claim(txn, scope, key, filing, settled=False))

    def forget(
        self, select: Callable[[Record], bool], filing: Filing, advance: Callable[[int], None] = lambda _: None
    ) -> int:
        """Forget every page whose record *select* picks; returns how many.

        In transactions of a few hundred pages, so that a crawl can go on. *advance* is called with numbers of records
        that were looked at.
        """
        with self.environment.read() as txn:
            picked = array("Q")
            for number, record in self._records.items(txn):
                advance(1)
                if record is not None and select(record):
                    picked.append(number)
        forgotten = 0
        for at in range(0, len(picked), _SLICE):
            job = partial(self._forget, numbers=picked[at : at + _SLICE], select=select, filing=filing)
            forgotten += self.environment.write(job)
        return forgotten

    def records(self, size: int) -> Iterator[list[Record]]:
        """All records that can be read, in lists of up to *size*. One state of the index, while it goes on."""
        with self.environment.read() as txn:
            readable = (record for _, record in self._records.items(txn) if record is not None)
            while block := list(islice(readable, size)):
                yield block

    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        """File *records* as they are, but for pages that are recorded already; returns how many are new.

        They are not compared with each other or with what is kept.
        """
        return self.environment.write(lambda txn: self._merge(txn, records, filing))

    def verify(self, filing: Filing, advance: Callable[[int], None] = lambda _: None) -> list[str]:
        """Hold every bucket against the records; returns what is wrong, a sentence each."""
        try:
            with self.environment.read() as txn:
                return problems(txn, self._records, self._representatives, self._tables, filing.keys, advance)
        except IndexUnusable as error:
            return [str(error)]

    def repair(self, filing: Filing, advance: Callable[[int], None] = lambda _: None) -> None:
        """Make everything else anew from the records, in one transaction. Records that cannot be read are removed."""
        self.environment.write(lambda txn: self._rebuild(txn, filing, advance))

    def __len__(self) -> int:
        with self.environment.read() as txn:
            return self._records.count(txn)

    # One write transaction

    def _offer(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge, run: int) -> Decision:
        decision, kept = self._judged(txn, page, judge)
        if kept is not None:
            self._unfile(txn, *kept, judge)
        if decision.verdict in (Verdict.NEW, Verdict.CHANGED):
            self._file(txn, Record(judge.to_keep(page), Claim.SETTLED, int(time()), run), judge)
        if decision.verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED):
            judge.learn(page)
        return decision

    def _judged(
        self, txn: lmdb.Transaction, page: SignedPage, judge: Judge
    ) -> tuple[Decision, tuple[int, Record] | None]:
        """What becomes of *page*, and the record that it replaces."""
        if page.unsigned:
            return _decision(page, Verdict.UNCHECKED, reason=page.unsigned), None
        own = self._records.find(txn, page.scope, page.key)
        found = judge.choose(page, self._candidates(txn, page, judge) if own is None else [own[1].page])
        if own is not None:
            return (
                (_decision(page, Verdict.CHANGED), own)
                if found is None
                else (_decision(page, Verdict.UNCHANGED, match=found[1]), None)
            )
        if found is None:
            return _decision(page, Verdict.NEW), None
        kept, match = found
        return _decision(page, Verdict.DUPLICATE, match=match, duplicate_of=kept.url), None

    def _candidates(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge) -> Iterator[SignedPage]:
        scope = scope_number(page.scope)
        filed = self._tables.query(txn, scope, judge.probes(page.signature))
        left = MAX_COMPARED
        for _, signature in judge.near(page.signature, filed):
            if not left:
                return
            for number in self._standing(txn, scope, signature)[:left]:
                left -= 1
                record = self._records.get(txn, number)
                if record is not None and record.claim is Claim.SETTLED and record.page.scope == page.scope:
                    yield record.page

    def _standing(self, txn: lmdb.Transaction, scope: int, signature: int) -> list[int]:
        """The numbers of the pages that stand under *signature*, the oldest first."""
        return sorted(self._representatives.query(txn, scope, [signature]).tolist())

    def _file(self, txn: lmdb.Transaction, record: Record, filing: Filing) -> None:
        number = self._records.add(txn, record)
        self._stand(txn, number, record, filing)

    def _stand(self, txn: lmdb.Transaction, number: int, record: Record, filing: Filing) -> None:
        """Let a recorded page stand for others, if there is room under its signature."""
        scope, signature = scope_number(record.page.scope), record.page.signature
        standing = len(self._representatives.query(txn, scope, [signature]))
        stands = standing < MAX_REPRESENTATIVES
        if stands:
            self._representatives.insert(txn, scope, [signature], number)
        if not standing:
            self._tables.insert(txn, scope, filing.keys(signature), signature)
        if record.stands != stands:
            self._records.replace(txn, number, msgspec.structs.replace(record, stands=stands))

    def _unfile(self, txn: lmdb.Transaction, number: int, record: Record, filing: Filing) -> None:
        page, scope = record.page, scope_number(record.page.scope)
        self._records.remove(txn, number, record)
        self._representatives.remove(txn, scope, [page.signature], number)
        if not self._standing(txn, scope, page.signature):
            self._tables.remove(txn, scope, filing.keys(page.signature), page.signature)

    def _end_claim(self, txn: lmdb.Transaction, scope: str, key: str, filing: Filing, *, settled: bool) -> bool:
        own = self._records.find(txn, scope, key)
        if own is None:
            return False
        number, record = own
        if not settled:
            self._unfile(txn, number, record, filing)
        elif record.claim is not Claim.SETTLED:
            self._records.replace(txn, number, msgspec.structs.replace(record, claim=Claim.SETTLED))
        return True

    def _forget(
        self, txn: lmdb.Transaction, numbers: Iterable[int], select: Callable[[Record], bool], filing: Filing
    ) -> int:
        forgotten = 0
        for number in numbers:
            record = self._records.get(txn, number)
            if record is not None and select(record):
                self._unfile(txn, number, record, filing)
                forgotten += 1
        return forgotten

    def _merge(self, txn: lmdb.Transaction, records: Sequence[Record], filing: Filing) -> int:
        new = 0
        for record in records:
            if not self._records.has(txn, record.page.scope, record.page.key):
                self._file(txn, record, filing)
                new += 1
        return new

    def _rebuild(self, txn: lmdb.Transaction, filing: Filing, advance: Callable[[int], None]) -> None:
        for buckets in (self._tables, self._representatives):
            txn.drop(buckets.db, delete=False)
        self._records.rebuild_numbers(txn)
        for number, record in self._records.items(txn):
            if record is not None:
                self._stand(txn, number, record, filing)
            advance(1)


def _decision(page: SignedPage, verdict: Verdict, **fields: Any) -> Decision:
    return Decision(verdict, page.url, page.key, page.scope, **fields)
