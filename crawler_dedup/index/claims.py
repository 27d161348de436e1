"""What follows a decision, within a transaction: the end of the claim, or the address of the duplicate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexDamaged
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.limits import MAX_ADDRESS_CHARS, MAX_ALSO_AT
from crawler_dedup.index.protocols import Matcher
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.signedpage import SignedPage


def touch_run(txn: Transaction, context: RunContext) -> int:
    """Record that the run is alive, and return the time of the transaction."""
    now = context.clock()
    if not context.run:
        return now
    return txn.runs.touch(context.run, context.grace, now, stored_until=context.stored_until())


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
        txn.runs.count_claims(record, -1)
        txn.replace(number, msgspec.structs.replace(record, settled=now, page=matcher.trim(record.page)))
    return True


def add_addresses(txn: Transaction, dropped: Sequence[tuple[SignedPage, str]]) -> None:
    """Add the address of each duplicate to the record of its representative, up to a limit, if that can be read."""
    for kept, url in dropped:
        with suppress(msgspec.DecodeError, IndexDamaged):
            recorded = txn.find(kept.scope, kept.key)
            if recorded is None:
                continue
            number, record = recorded
            if len(record.also_at) < MAX_ALSO_AT and url not in record.also_at and len(url) <= MAX_ADDRESS_CHARS:
                txn.replace(number, msgspec.structs.replace(record, also_at=(*record.also_at, url)))
