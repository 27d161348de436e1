"""The pages of an index: what happens to them in one write transaction."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from time import time
from typing import Any, Protocol

import lmdb
import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_dedup.catalogue import Catalogue, Filing
from crawler_dedup.decision import BEING_HANDLED, Decision, Match, Verdict
from crawler_dedup.engine import AS_MADE
from crawler_dedup.environment import Environment
from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.hamming import SignatureMatch
from crawler_dedup.header import Header
from crawler_dedup.records import Record, name_of
from crawler_dedup.runs import Fate, RunLock
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.verification import problems

KIND = "pages"
MAX_COMPARED = 256
"""Kept pages that are compared with one new page, nearest first."""

_SLICE = 500
_GOODBYE_TIMEOUT = 5.0


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


@dataclass(frozen=True)
class Visit:
    """By whom and on what terms pages are offered.

    Attributes:
        run: number of the run; 0: none, so that its pages are settled whatever happens.
        grace: seconds for which what the run settles may not be stored, if it dies.
        claims: whether what passes is settled later (:meth:`Store.end_claim`), not at once.
        max_age: seconds after which a page that was not visited counts no more; 0: never.
    """

    run: int = 0
    grace: int = 0
    claims: bool = False
    max_age: int = 0


@dataclass
class _Met:
    """Pages that were met on the way and do not stand: those that are being handled, and those that are no more."""

    open: list[SignedPage] = field(default_factory=list)
    gone: list[tuple[int, Record]] = field(default_factory=list)


class Store:
    """The pages of one index directory. Use :meth:`open` or :meth:`attach`."""

    def __init__(self, environment: Environment, header: Header) -> None:
        self.environment = environment
        self.header = header
        self._catalogue = Catalogue(environment)
        self._claims = count(1)
        self._open_claims = 0

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

    def begin_run(self) -> RunLock:
        """A new run of this index, for :class:`Visit`. Raises :class:`IndexUnusable`."""
        try:
            return RunLock(self.environment.directory)
        except OSError as error:
            raise IndexUnusable(f"The index in {self.environment.directory} cannot be written: {error}.") from error

    def end_run(self, run: int) -> None:
        """The run says goodbye: all that it settled is stored. Raises :class:`IndexUnusable`, soon."""

        def job(txn: lmdb.Transaction) -> None:
            if self._open_claims > 0:
                self._catalogue.runs.leave_behind(txn, run, int(time()))
            else:
                self._catalogue.runs.end(txn, [run])

        self.environment.write(job, _GOODBYE_TIMEOUT)

    def offer(self, pages: Sequence[SignedPage], judge: Judge, visit: Visit = Visit()) -> Future[list[Decision]]:
        """Answer and file *pages* in order, also against each other, in one transaction with all others that wait.

        A page alike to one that is being handled gets :data:`~crawler_dedup.decision.BEING_HANDLED`; it can be offered
        again.
        """

        def job(txn: lmdb.Transaction) -> list[Decision]:
            if self.environment.is_gone:
                raise IndexGone(f"The index in {self.environment.directory} was deleted or replaced.")
            if self.environment.header_in(txn) != self.header:
                raise IndexUnusable(
                    f"The index in {self.environment.directory} was emptied for another configuration meanwhile."
                )
            now = self._now(txn, visit)
            return [self._offer(txn, page, judge, visit, now) for page in pages]

        return self.environment.submit(job)

    def end_claim(
        self, decision: Decision, filing: Filing, visit: Visit, *, settled: bool, urgent: bool = False
    ) -> Future[bool]:
        """The page of *decision* was handled and may stand for others (*settled*), or was not and is forgotten.

        ``False`` if it is not recorded, or holds its place by another claim. A decision without claim means whatever
        is recorded of the page. Unless *urgent*, this waits a moment for another transaction with which it is written.
        """
        job = partial(self._end_claim, decision=decision, filing=filing, visit=visit, settled=settled)
        return self.environment.submit(job, urgent=urgent)

    def forget(
        self, select: Callable[[Record], bool], filing: Filing, advance: Callable[[int], None] = lambda _: None
    ) -> int:
        """Forget every page whose record *select* picks; returns how many.

        In transactions of a few hundred pages, so that a crawl can go on. *advance* is called with numbers of records
        that were looked at.
        """
        with self.environment.read() as txn:
            picked = array("Q")
            for number, record in self._catalogue.records.items(txn):
                advance(1)
                if record is not None and select(record):
                    picked.append(number)
        forgotten = 0
        for at in range(0, len(picked), _SLICE):
            job = partial(self._forget, numbers=picked[at : at + _SLICE], select=select, filing=filing)
            forgotten += self.environment.write(job)
        return forgotten

    def tidy(self, filing: Filing, max_age: int, advance: Callable[[int], None] = lambda _: None) -> int:
        """Forget what stands for nothing any more: pages not visited for *max_age* seconds (0: whatever their age), and
        those that runs that have died may have lost. Returns how many."""
        with self.environment.read() as txn:
            dead = self._catalogue.runs.dead(txn)
        if not dead and not max_age:
            return 0
        oldest = int(time()) - max_age if max_age else 0

        def gone(record: Record) -> bool:
            return record.seen < oldest or (record.run in dead and dead[record.run].may_have_lost(record))

        forgotten = self.forget(gone, filing, advance)
        self.environment.write(lambda txn: self._catalogue.runs.end(txn, dead))
        return forgotten

    def records(self, size: int, *, standing: bool = False) -> Iterator[list[Record]]:
        """All records that can be read, in lists of up to *size*. One state of the index, while it goes on.

        Args:
            standing: only those of pages that were handled.
        """
        fate = self._catalogue.runs.fate
        with self.environment.read() as txn:
            wanted = (
                record
                for _, record in self._catalogue.records.items(txn)
                if record is not None and (not standing or fate(txn, record) is Fate.STANDS)
            )
            while block := list(islice(wanted, size)):
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
                return problems(txn, self._catalogue, filing.keys, advance)
        except IndexUnusable as error:
            return [str(error)]

    def repair(self, filing: Filing, advance: Callable[[int], None] = lambda _: None) -> None:
        """Make everything else anew from the records, in one transaction. Records that cannot be read are removed."""
        self.environment.write(lambda txn: self._catalogue.rebuild(txn, filing, advance))

    def __len__(self) -> int:
        with self.environment.read() as txn:
            return self._catalogue.records.count(txn)

    # One write transaction

    def _now(self, txn: lmdb.Transaction, visit: Visit) -> int:
        now = int(time())
        return self._catalogue.runs.touch(txn, visit.run, visit.grace, now) if visit.run else now

    def _offer(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge, visit: Visit, now: int) -> Decision:
        if page.unsigned:
            decision = _decision(page, Verdict.UNCHECKED, reason=page.unsigned)
        else:
            decision = self._judged(txn, page, judge, visit, now)
        if decision.verdict in (Verdict.NEW, Verdict.CHANGED):
            decision = replace(decision, claim=self._file(txn, page, judge, visit, now))
        if decision.verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) and decision.reason != BEING_HANDLED:
            judge.learn(page)
        return decision

    def _judged(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge, visit: Visit, now: int) -> Decision:
        oldest = now - visit.max_age if visit.max_age else 0
        own = self._known(txn, page.scope, page.key, judge, oldest)
        if own is not None:
            number, record = own
            found = judge.choose(page, [record.page])
            if found is not None:
                return self._visited_again(txn, page, number, record, found[1], visit, now)
            if record.page.key == page.key:
                self._catalogue.unfile(txn, number, record, judge)
                return _decision(page, Verdict.CHANGED)
            # The address led to another page once, which may still be there.
            records = self._catalogue.records
            records.replace(txn, number, records.without_alias(txn, record, page.key))
        elif page.alias:
            first = self._known(txn, page.scope, page.alias, judge, oldest)
            found = first and judge.choose(page, [first[1].page])
            if first and found:
                return self._visited_again(txn, page, *first, found[1], visit, now)
        return self._compared(txn, page, judge, oldest)

    def _known(
        self, txn: lmdb.Transaction, scope: str, key: str, filing: Filing, oldest: int
    ) -> tuple[int, Record] | None:
        """What is recorded of a page, if it still counts."""
        own = self._catalogue.records.find(txn, scope, key)
        if own is not None and self._fate(txn, own[1], oldest) is Fate.RELEASED:
            self._catalogue.unfile(txn, *own, filing)
            return None
        return own

    def _visited_again(
        self,
        txn: lmdb.Transaction,
        page: SignedPage,
        number: int,
        record: Record,
        match: Match,
        visit: Visit,
        now: int,
    ) -> Decision:
        """The page is what it was. Its record stays, so that many small changes do not carry it away."""
        stored = self._catalogue.runs.fate(txn, record) is Fate.STANDS
        decision = _decision(page, Verdict.UNCHANGED, match=match, from_earlier_run=stored and record.run != visit.run)
        for key in (page.key, page.alias):
            if key not in ("", record.page.key):
                record = self._catalogue.records.with_alias(txn, number, record, key)
        self._catalogue.records.replace(txn, number, msgspec.structs.replace(record, seen=now))
        return decision

    def _compared(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge, oldest: int) -> Decision:
        """The answer for a page that is not recorded."""
        met = _Met()
        found = judge.choose(page, self._candidates(txn, page, judge, oldest, met))
        for number, record in met.gone:
            self._catalogue.unfile(txn, number, record, judge)
        if found is not None:
            return _decision(page, Verdict.DUPLICATE, duplicate_of=found[0].url, match=found[1])
        found = judge.choose(page, met.open)
        if found is not None:
            fields = {"reason": BEING_HANDLED, "duplicate_of": found[0].url, "match": found[1]}
            return _decision(page, Verdict.UNCHECKED, **fields)
        return _decision(page, Verdict.NEW)

    def _candidates(
        self, txn: lmdb.Transaction, page: SignedPage, judge: Judge, oldest: int, met: _Met
    ) -> Iterator[SignedPage]:
        """The pages that stand near *page*, nearest first; what does not stand is put into *met*."""
        filed = self._catalogue.filed(txn, page.scope, judge.probes(page.signature))
        left = MAX_COMPARED
        for _, signature in judge.near(page.signature, filed):
            if not left:
                return
            for number, record in islice(self._catalogue.standing(txn, page.scope, signature), left):
                left -= 1
                fate = self._fate(txn, record, oldest)
                if fate is Fate.RELEASED:
                    met.gone.append((number, record))
                elif fate is Fate.OPEN:
                    met.open.append(record.page)
                else:
                    yield record.page

    def _fate(self, txn: lmdb.Transaction, record: Record, oldest: int) -> Fate:
        return Fate.RELEASED if record.seen < oldest else self._catalogue.runs.fate(txn, record)

    def _file(self, txn: lmdb.Transaction, page: SignedPage, judge: Judge, visit: Visit, now: int) -> int:
        """File *page*; returns the number of its claim."""
        claim = next(self._claims) if visit.claims else 0
        self._open_claims += visit.claims
        aliases = (name_of(page.scope, page.alias),) if page.alias else ()
        kept = msgspec.structs.replace(judge.to_keep(page), alias="")
        record = Record(
            kept, visit.run, claim, filed=now, seen=now, settled=0 if visit.claims else now, aliases=aliases
        )
        self._catalogue.file(txn, record, judge)
        return claim

    def _end_claim(
        self, txn: lmdb.Transaction, decision: Decision, filing: Filing, visit: Visit, *, settled: bool
    ) -> bool:
        own = self._catalogue.records.find(txn, decision.scope, decision.key)
        if own is None:
            return False
        number, record = own
        if decision.claim and (record.run, record.claim) != (visit.run, decision.claim):
            return False
        self._open_claims -= bool(decision.claim) and not record.settled
        if not settled:
            self._catalogue.unfile(txn, number, record, filing)
        elif decision.claim and not record.settled:
            record = msgspec.structs.replace(record, settled=self._now(txn, visit))
            self._catalogue.records.replace(txn, number, record)
        return True

    def _forget(
        self, txn: lmdb.Transaction, numbers: Iterable[int], select: Callable[[Record], bool], filing: Filing
    ) -> int:
        forgotten = 0
        for number in numbers:
            record = self._catalogue.records.get(txn, number)
            if record is not None and select(record):
                self._catalogue.unfile(txn, number, record, filing)
                forgotten += 1
        return forgotten

    def _merge(self, txn: lmdb.Transaction, records: Sequence[Record], filing: Filing) -> int:
        new = 0
        for record in records:
            if not self._catalogue.records.has(txn, record.page.scope, record.page.key):
                self._catalogue.file(txn, record, filing)
                new += 1
        return new


def _decision(page: SignedPage, verdict: Verdict, **fields: Any) -> Decision:
    return Decision(verdict, page.url, page.key, page.scope, **fields)
