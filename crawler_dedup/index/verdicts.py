"""What becomes of the pages that are offered: answered and filed, one after the other, within one write transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any, Protocol

import lmdb
import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_dedup.decision import BEING_HANDLED, Decision, Match, Verdict
from crawler_dedup.index.catalogue import Catalogue, Filing
from crawler_dedup.index.records import Record, name_of
from crawler_dedup.index.runs import Fate, wall_clock
from crawler_dedup.signedpage import SignedPage

MAX_COMPARED = 256
"""Kept pages that are compared with one new page, nearest first."""

_claims = count(1)


class Judge(Filing, Protocol):
    """What the index asks about signatures and pages; it knows neither scheme nor rules."""

    def learn(self, page: SignedPage) -> None:
        """*page* passes: it shows what its site is like."""

    def to_keep(self, page: SignedPage) -> SignedPage:
        """Of *page* what later pages are compared with."""

    @property
    def bucket_limit(self) -> int | None:
        """How many of the pages under one key are looked at; ``None``: all."""

    def probes(self, page: SignedPage) -> Iterable[int]:
        """The buckets in which its candidates stand."""

    def near(self, page: SignedPage, filed: NDArray[np.uint64]) -> Sequence[int]:
        """Those signatures of *filed* that are candidates, each once, nearest first."""

    def choose(self, new: SignedPage, kept: Iterable[SignedPage]) -> tuple[SignedPage, Match] | None:
        """The first of the *kept* pages that covers *new*, with the match. Nearest first."""


@dataclass(frozen=True)
class Visit:
    """By whom and on what terms pages are offered.

    Attributes:
        run: number of the run; 0: none, so that its pages are settled whatever happens.
        grace: seconds for which what the run settles may not be stored, if it dies.
        claims: whether what passes is settled later, not at once.
        max_age: seconds after which a page that was not visited counts no more; 0: never.
        clock: says the time, in seconds since 1970.
        stored_until: says the time from which on what the run has settled is not stored yet; ``None``: the grace covers it.
    """

    run: int = 0
    grace: int = 0
    claims: bool = False
    max_age: int = 0
    clock: Callable[[], int] = wall_clock
    stored_until: Callable[[], int | None] = lambda: None


@dataclass
class _Met:
    """Pages that were met on the way and do not stand: those that are being handled, and those that are no more."""

    open: list[SignedPage] = field(default_factory=list)
    gone: list[tuple[int, Record]] = field(default_factory=list)


class Answering:
    """Answers the pages of one visit in one transaction.

    Args:
        now: time of the transaction, in seconds since 1970.
    """

    def __init__(self, catalogue: Catalogue, txn: lmdb.Transaction, judge: Judge, visit: Visit, now: int) -> None:
        self._catalogue = catalogue
        self._records = catalogue.records
        self._runs = catalogue.runs.states(txn)
        self._txn = txn
        self._judge = judge
        self._visit = visit
        self._now = now
        self._oldest = now - visit.max_age if visit.max_age else 0

    def answer(self, page: SignedPage) -> Decision:
        """The decision for *page*, which is filed if it passes.

        A page alike to one that is being handled gets :data:`~crawler_dedup.decision.BEING_HANDLED`, and is not filed; it
        can be offered again.
        """
        if page.unsigned:
            decision = _decision(page, Verdict.UNCHECKED, reason=page.unsigned)
        else:
            decision = self._visited_again(page) or self._compared(page)
        if decision.verdict in (Verdict.NEW, Verdict.CHANGED):
            decision = replace(decision, claim=self._file(page))
        return decision

    def _visited_again(self, page: SignedPage) -> Decision | None:
        """The answer for a page that is recorded, under its key or as what its first address led to; else ``None``."""
        for key in (page.key, page.alias) if page.alias else (page.key,):
            own = self._known(page.scope, key)
            if own is None:
                continue
            number, record = own
            match = self._covered(page, record)
            if match is not None:
                return self._unchanged(page, number, record, match)
            if record.page.key == page.key:
                self._catalogue.unfile(self._txn, number, record, self._judge)
                return _decision(page, Verdict.CHANGED)
            if record.page.key != key:
                # The address led to another page once, which may still be there.
                record = self._records.without_alias(self._txn, record, key)
                self._records.replace(self._txn, number, record)
        return None

    def _known(self, scope: str, key: str) -> tuple[int, Record] | None:
        """What is recorded of a page, if it still counts."""
        own = self._records.find(self._txn, scope, key)
        if own is not None and self._fate(own[1]) is Fate.RELEASED:
            self._catalogue.unfile(self._txn, *own, self._judge)
            return None
        return own

    def _covered(self, page: SignedPage, record: Record) -> Match | None:
        found = self._judge.choose(page, [record.page])
        return None if found is None else found[1]

    def _unchanged(self, page: SignedPage, number: int, record: Record, match: Match) -> Decision:
        """The page is what it was. Its record stays, so that many small changes do not carry it away.

        One that is being handled is not kept yet: what is handled now takes its place, whatever becomes of the other.
        """
        fate = self._fate(record)
        if fate is Fate.OPEN and self._visit.claims:
            self._catalogue.unfile(self._txn, number, record, self._judge)
            return _decision(page, Verdict.UNCHANGED, match=match, claim=self._file(page))
        earlier = record.run != self._visit.run and fate is Fate.STANDS and self._runs.has_finished(record.run)
        if self._visit.run and not earlier and self._runs.is_over(record.run):
            # Its links may not have been followed. This run does so, and if it finishes too, they were.
            record = msgspec.structs.replace(record, run=self._visit.run, claim=0)
        for key in (page.key, page.alias):
            if key not in ("", record.page.key):
                record = self._records.with_alias(self._txn, number, record, key)
        self._records.replace(self._txn, number, msgspec.structs.replace(record, seen=self._now))
        return _decision(page, Verdict.UNCHANGED, match=match, from_earlier_run=earlier)

    def _compared(self, page: SignedPage) -> Decision:
        """The answer for a page that is not recorded."""
        met = _Met()
        found = self._judge.choose(page, self._candidates(page, met))
        for number, record in met.gone:
            self._catalogue.unfile(self._txn, number, record, self._judge)
        if found is not None:
            return _decision(page, Verdict.DUPLICATE, duplicate_of=found[0].url, match=found[1])
        found = self._judge.choose(page, met.open)
        if found is not None:
            return _decision(page, Verdict.UNCHECKED, reason=BEING_HANDLED, duplicate_of=found[0].url, match=found[1])
        return _decision(page, Verdict.NEW)

    def _candidates(self, page: SignedPage, met: _Met) -> Iterator[SignedPage]:
        """The pages that stand near *page*, nearest first; what does not stand is put into *met*."""
        filed = self._catalogue.filed(self._txn, page.scope, self._judge.probes(page), self._judge.bucket_limit)
        left = MAX_COMPARED
        for signature in self._judge.near(page, filed):
            if not left:
                return
            for number, record in islice(self._catalogue.standing(self._txn, page.scope, signature), left):
                left -= 1
                fate = self._fate(record)
                if fate is Fate.RELEASED:
                    met.gone.append((number, record))
                elif fate is Fate.OPEN:
                    met.open.append(record.page)
                else:
                    yield record.page

    def _fate(self, record: Record) -> Fate:
        return Fate.RELEASED if record.seen < self._oldest else self._runs.fate(record)

    def _file(self, page: SignedPage) -> int:
        """File *page*; returns the number of its claim."""
        claim = next(_claims) if self._visit.claims else 0
        record = Record(
            page=msgspec.structs.replace(self._judge.to_keep(page), alias=""),
            run=self._visit.run,
            claim=claim,
            filed=self._now,
            seen=self._now,
            settled=0 if claim else self._now,
            aliases=(name_of(page.scope, page.alias),) if page.alias else (),
        )
        self._catalogue.file(self._txn, record, self._judge)
        return claim


def shows_its_site(decision: Decision) -> bool:
    """Whether the page of *decision* has come by for the first time, or changed: what it looks like is learned once."""
    return decision.verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) and decision.reason != BEING_HANDLED


def _decision(page: SignedPage, verdict: Verdict, **fields: Any) -> Decision:
    return Decision(verdict, page.url, page.key, page.scope, **fields)
