"""Decide about the pages that are offered and file those that pass, one after the other, within one write transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

import lmdb
import msgspec

from crawler_dedup.decision import BEING_HANDLED, Decision, Match, Verdict
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.catalogue import Catalogue, Filing
from crawler_dedup.index.records import Record, hash_page_key
from crawler_dedup.index.runs import Fate, wall_clock
from crawler_dedup.signedpage import SignedPage

MAX_COMPARED = 256
"""Kept pages that are compared with one new page, nearest first."""


class Matcher(Filing, Protocol):
    """Answers what the index has to know about signatures and pages; the index knows neither scheme nor rules."""

    def learn(self, page: SignedPage) -> None:
        """Learn from *page*, which passes, what its site is like."""

    def trim(self, page: SignedPage) -> SignedPage:
        """Return *page* without what no later page is compared with."""

    @property
    def bucket_limit(self) -> int | None:
        """The number of pages under one key that are looked at; ``None``: all."""

    def probes(self, page: SignedPage) -> Iterable[int]:
        """Return the buckets in which the candidates for *page* stand."""

    def near(self, page: SignedPage, filed: Numbers) -> Sequence[int]:
        """Return the signatures of *filed* that are candidates, each once, nearest first."""

    def choose(self, new: SignedPage, kept: Iterable[SignedPage]) -> tuple[SignedPage, Match] | None:
        """Return the first of the *kept* pages that covers *new*, with the match. They come nearest first."""


@dataclass(frozen=True)
class OfferTerms:
    """The terms on which a run offers pages.

    Attributes:
        run: number of the run; 0: none, so that its pages are settled whatever happens.
        grace: seconds for which what the run settles may not be stored, if it dies.
        next_claim: returns the number of the next claim; ``None``: a page that passes is settled at once.
        max_age: seconds after which a page that was not visited counts no more; 0: never.
        clock: returns the time, in seconds since 1970.
        stored_until: returns the time from which on what the run has settled is not stored yet; ``None``: the grace
            covers it.
    """

    run: int = 0
    grace: int = 0
    next_claim: Callable[[], int] | None = None
    max_age: int = 0
    clock: Callable[[], int] = wall_clock
    stored_until: Callable[[], int | None] = lambda: None

    @property
    def makes_claims(self) -> bool:
        """Whether a page that passes is settled later, not at once."""
        return self.next_claim is not None


@dataclass
class _NotStanding:
    """Candidates that stand for no other page: those that are being handled, and those that no longer count."""

    open: list[SignedPage] = field(default_factory=list)
    gone: list[tuple[int, Record]] = field(default_factory=list)


class Verdicts:
    """Decides about pages in one transaction.

    Args:
        terms: of all these pages.
        now: time of the transaction, in seconds since 1970.
    """

    def __init__(
        self, catalogue: Catalogue, txn: lmdb.Transaction, matcher: Matcher, terms: OfferTerms, now: int
    ) -> None:
        self._catalogue = catalogue
        self._records = catalogue.records
        self._runs = catalogue.runs.states(txn)
        self._txn = txn
        self._matcher = matcher
        self._terms = terms
        self._now = now
        self._oldest = now - terms.max_age if terms.max_age else 0

    def decide(self, page: SignedPage) -> Decision:
        """Decide about *page*, and file it if it passes.

        A page alike to one that is being handled gets :data:`~crawler_dedup.decision.BEING_HANDLED`, and is not filed; it
        can be offered again.
        """
        if page.unsigned:
            decision = _decision(page, Verdict.UNCHECKED, reason=page.unsigned)
        else:
            decision = self._compare_with_itself(page) or self._compare_with_others(page)
        if decision.verdict in (Verdict.NEW, Verdict.CHANGED):
            decision = replace(decision, claim=self._file(page))
        return decision

    def _compare_with_itself(self, page: SignedPage) -> Decision | None:
        """Decide about a page that is recorded, under its key or as what its first address led to; else ``None``."""
        for key in (page.key, page.alias) if page.alias else (page.key,):
            own = self._find_own(page.scope, key)
            if own is None:
                continue
            number, record = own
            chosen = self._matcher.choose(page, [record.page])
            if chosen is not None:
                return self._renew(page, number, record, chosen[1])
            if record.page.key == page.key:
                self._catalogue.remove(self._txn, number, record, self._matcher)
                return _decision(page, Verdict.CHANGED)
            if record.page.key != key:
                # The address led to another page once, which may still be there.
                record = self._records.remove_alias(self._txn, record, key)
                self._records.replace(self._txn, number, record)
        return None

    def _find_own(self, scope: str, key: str) -> tuple[int, Record] | None:
        """Return what is recorded of a page, if it still counts."""
        own = self._records.find(self._txn, scope, key)
        if own is not None and self._fate_of(own[1]) is Fate.RELEASED:
            self._catalogue.remove(self._txn, *own, self._matcher)
            return None
        return own

    def _renew(self, page: SignedPage, number: int, record: Record, match: Match) -> Decision:
        """Note a visit of an unchanged page. Its record stays, so that many small changes do not carry it away.

        A page that is being handled is not kept yet: what is handled now takes its place, whatever becomes of the other.
        """
        fate = self._fate_of(record)
        if fate is Fate.OPEN and self._terms.makes_claims:
            self._catalogue.remove(self._txn, number, record, self._matcher)
            return _decision(page, Verdict.UNCHANGED, match=match, claim=self._file(page))
        earlier = record.run != self._terms.run and fate is Fate.STANDS and self._runs.has_finished(record.run)
        if self._terms.run and not earlier and self._runs.is_over(record.run):
            # Its links may not have been followed. This run does so, and if it finishes too, they were.
            record = msgspec.structs.replace(record, run=self._terms.run, claim=0)
        for key in (page.key, page.alias):
            if key not in ("", record.page.key):
                record = self._records.add_alias(self._txn, number, record, key)
        self._records.replace(self._txn, number, msgspec.structs.replace(record, seen=self._now))
        return _decision(page, Verdict.UNCHANGED, match=match, from_earlier_run=earlier)

    def _compare_with_others(self, page: SignedPage) -> Decision:
        """Decide about a page that is not recorded."""
        others = _NotStanding()
        chosen = self._matcher.choose(page, self._candidates(page, others))
        for number, record in others.gone:
            self._catalogue.remove(self._txn, number, record, self._matcher)
        if chosen is not None:
            kept, match = chosen
            return _decision(page, Verdict.DUPLICATE, duplicate_of=kept.url, match=match)
        chosen = self._matcher.choose(page, others.open)
        if chosen is not None:
            kept, match = chosen
            return _decision(page, Verdict.UNCHECKED, reason=BEING_HANDLED, duplicate_of=kept.url, match=match)
        return _decision(page, Verdict.NEW)

    def _candidates(self, page: SignedPage, others: _NotStanding) -> Iterator[SignedPage]:
        """Yield the pages near *page* that stand for others, nearest first; put those that do not into *others*."""
        filed = self._catalogue.read_buckets(
            self._txn, page.scope, self._matcher.probes(page), self._matcher.bucket_limit
        )
        left = MAX_COMPARED
        for signature in self._matcher.near(page, filed):
            if not left:
                return
            for number, record in islice(self._catalogue.read_representatives(self._txn, page.scope, signature), left):
                left -= 1
                fate = self._fate_of(record)
                if fate is Fate.RELEASED:
                    others.gone.append((number, record))
                elif fate is Fate.OPEN:
                    others.open.append(record.page)
                else:
                    yield record.page

    def _fate_of(self, record: Record) -> Fate:
        return Fate.RELEASED if record.seen < self._oldest else self._runs.fate_of(record)

    def _file(self, page: SignedPage) -> int:
        """File *page* and return the number of its claim."""
        claim = self._terms.next_claim() if self._terms.next_claim else 0
        record = Record(
            page=msgspec.structs.replace(self._matcher.trim(page), alias=""),
            run=self._terms.run,
            claim=claim,
            filed=self._now,
            seen=self._now,
            settled=0 if claim else self._now,
            aliases=(hash_page_key(page.scope, page.alias),) if page.alias else (),
        )
        self._catalogue.add(self._txn, record, self._matcher)
        return claim


def should_learn(decision: Decision) -> bool:
    """Return whether the page of *decision* has content that was not seen before: its site is learned from it, once."""
    return decision.verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) and decision.reason != BEING_HANDLED


def _decision(page: SignedPage, verdict: Verdict, **fields: Any) -> Decision:
    return Decision(verdict, page.url, page.key, page.scope, **fields)
