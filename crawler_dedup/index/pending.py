"""What an opening of an index has begun: the claims that are open, and what is written with one of its next transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

import msgspec

from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexDamaged, IndexUnusable
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.limits import MAX_ADDRESS_CHARS, MAX_ALSO_AT, MAX_DROPPED, MAX_OPEN_CLAIMS
from crawler_dedup.index.protocols import Matcher
from crawler_dedup.index.storage import Needs
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.signedpage import SignedPage


class OpenClaims:
    """The open claims of an opening, and addresses that are not stored yet.

    Attributes:
        has_unknown_claims: whether there may be claims of this run that are not remembered: the next run searches for them.
    """

    def __init__(self) -> None:
        self.has_unknown_claims = False
        self._numbers: set[int] = set()
        self._dropped: list[tuple[SignedPage, str]] = []  # kept pages, and the addresses of their duplicates

    @property
    def may_have_claims(self) -> bool:
        """Whether a claim may be open."""
        return self.has_unknown_claims or bool(self._numbers)

    def write_addresses(self, txn: Transaction) -> bool:
        """Store all addresses, and return ``True``."""
        _add_addresses(txn, self._dropped)
        return True

    def remember(self, offer: Future[list[Decision]], decided: Sequence[Decision]) -> None:
        """Remember which claims this run has made. Called in the writing thread.

        A claim stays open for ever if another middleware discards the page. The claims are not remembered if there are too
        many, or if it is not known whether the offer was stored: its pages pass without them.
        """
        claims = [] if offer.cancelled() else [decision.claim for decision in decided if decision.claim]
        if claims and (offer.exception() or len(self._numbers) + len(claims) > MAX_OPEN_CLAIMS):
            self.has_unknown_claims = True
        else:
            self._numbers.update(claims)

    def forget(self, end: Future[bool], claim: int) -> None:
        """Forget a claim if it has ended."""
        if not end.cancelled() and end.exception() is None:
            self._numbers.discard(claim)

    def add_addresses(self, dropped: Sequence[tuple[SignedPage, str]], submit: Callable[..., object]) -> None:
        """Remember the addresses of duplicates. They are stored together, so that a duplicate costs no commit of its own.

        Those that are not stored yet are lost if the process dies.

        Args:
            submit: runs a job in the next write transaction.
        """
        self._dropped += dropped
        if len(self._dropped) >= MAX_DROPPED:
            dropped, self._dropped = self._dropped, []
            with suppress(IndexUnusable):  # it is being closed
                needs = Needs(names=[(kept.scope, kept.key) for kept, _ in dropped])
                submit(partial(_add_addresses, dropped=dropped), urgent=False, needs=needs)


def end_claim(txn: Transaction, decision: Decision, matcher: Matcher, context: RunContext, *, settled: bool) -> bool:
    """Settle or release the claim of *decision*; return whether its page is recorded with this claim."""
    recorded = txn.find(decision.scope, decision.key)
    if recorded is None:
        return False
    number, record = recorded
    if decision.claim and (record.run, record.claim) != (context.run, decision.claim):
        return False
    if not settled:
        txn.remove(number, record, matcher)
    elif decision.claim and not record.settled:
        now = touch_run(txn, context)
        txn.sites.count_page(record.page, matcher, now)
        txn.replace(number, msgspec.structs.replace(record, settled=now, page=matcher.trim(record.page)))
    return True


def _add_addresses(txn: Transaction, dropped: Sequence[tuple[SignedPage, str]]) -> None:
    """Add the address of each duplicate to the record of its representative, up to a limit, if that can be read."""
    for kept, url in dropped:
        with suppress(msgspec.DecodeError, IndexDamaged):
            recorded = txn.find(kept.scope, kept.key)
            if recorded is None:
                continue
            number, record = recorded
            if len(record.also_at) < MAX_ALSO_AT and url not in record.also_at and len(url) <= MAX_ADDRESS_CHARS:
                txn.replace(number, msgspec.structs.replace(record, also_at=(*record.also_at, url)))


def touch_run(txn: Transaction, context: RunContext) -> int:
    """Record that the run is alive, and return the time of the transaction."""
    now = context.clock()
    if not context.run:
        return now
    return txn.runs.touch(context.run, context.grace, now, stored_until=context.stored_until())
