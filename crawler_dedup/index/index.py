"""An open index: its runs, the decisions about pages that are offered, and the ends of claims."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

import msgspec

from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.contents import Contents
from crawler_dedup.index.decider import Decider, RunContext
from crawler_dedup.index.header import other_header_error
from crawler_dedup.index.limits import MAX_ADDRESS_CHARS, MAX_ALSO_AT
from crawler_dedup.index.protocols import Filing, Matcher
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import Run, RunEntry
from crawler_dedup.index.storage import Needs
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance, ignore_progress

_END_TIMEOUT = 5.0


class Index(Contents):
    """The pages of one open index, which are only read and changed in transactions.

    A backend (:mod:`crawler_dedup.index.lmdb`, :mod:`crawler_dedup.index.redis`) defines how transactions are made.
    """

    @property
    def stored_bytes(self) -> int | None:
        """Size of the index on disk, in bytes; ``None`` if it is on a server."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Close this opening of the index."""

    def begin_run(self) -> Run:
        """Begin a new run of this index, and keep it alive. Raises :class:`IndexUnusable`."""
        try:
            run = self.join_run(secrets.randbits(32) or 1)
            run.hold()
        except OSError as error:
            raise IndexUnusable(f"The index in {self.name} cannot be written: {error}.") from error
        return run

    @abstractmethod
    def join_run(self, number: int, offset: float | None = None) -> Run:
        """Join a run that several processes share. Raises :class:`IndexUnusable`.

        Args:
            offset: the offset of its clock; a server has a clock of its own. ``None``: by the clock of this machine.
        """

    def end_run(self, context: RunContext, *, finished: bool) -> None:
        """End the run of *context*: the pages that it settled are stored, except those settled after its ``stored_until``.

        Args:
            finished: whether the links of all its pages were followed.

        Raises:
            IndexUnusable: the index is still locked after a few seconds.
        """
        now = self._now()

        def job(txn: Transaction) -> None:
            txn.runs.end(context.run, now, has_finished=finished, stored_until=context.stored_until())

        self._write(job, _END_TIMEOUT)

    def offer(
        self,
        pages: Sequence[SignedPage],
        matcher: Matcher,
        context: RunContext = RunContext(),
        *,
        aliases: Mapping[str, str] | None = None,
    ) -> Future[list[Decision]]:
        """Decide about *pages* in their order, also against each other, and file those that pass.

        All offers that wait share one transaction. See :class:`~crawler_dedup.index.decider.Decider`.

        Args:
            aliases: page key → another key by which the page can be found from then on.
        """
        dropped: list[tuple[SignedPage, str]] = []

        def job(txn: Transaction) -> list[Decision]:
            header = txn.header()
            if header is None or not header.has_spec_of(self.header):
                raise other_header_error(self.name)
            # Nothing is written for pages that cannot be judged.
            now = context.clock() if all(page.unsigned for page in pages) else _touch_run(txn, context)
            decider = Decider(txn, matcher, context, now=now)
            decided = [decider.decide(page, (aliases or {}).get(page.key, "")) for page in pages]
            dropped[:] = decider.dropped  # a job may run more than once
            return decided

        def store_addresses(offer: Future[list[Decision]]) -> None:  # not urgent: it may wait for other jobs
            if dropped and not offer.cancelled() and offer.exception() is None:
                names = [(kept.scope, kept.key) for kept, _ in dropped]
                with suppress(IndexUnusable):  # it is being closed
                    self._submit(partial(_add_addresses, dropped=dropped), urgent=False, needs=Needs(names=names))

        needs = Needs(matcher, pages, matcher, with_counts=context.next_claim is None)
        future = self._submit(job, needs=needs)
        future.add_done_callback(store_addresses)
        return future

    def preview(
        self, page: SignedPage, matcher: Matcher, context: RunContext = RunContext(), *, alias: str = ""
    ) -> Decision:
        """Return the decision that an offer of *page* would get now, by what is committed; change nothing."""
        dead = self._find_dead()
        with self._read() as txn:
            txn.runs.dead = dead
            return Decider(txn, matcher, context, now=context.clock()).preview(page, alias)

    def end_claim(
        self, decision: Decision, matcher: Matcher, context: RunContext, *, settled: bool, urgent: bool = False
    ) -> Future[bool]:
        """Settle the claim of *decision*, so that its page may represent others, or release it and forget the page.

        A page that is settled is counted for its site.

        The result is ``False`` if the page is not recorded, or is recorded with another claim. A decision without a claim
        applies to the record of the page, whatever its claim. Unless *urgent*, this waits a moment, to be written together
        with another change.

        Args:
            settled: whether the page was handled, so that the claim is settled; if not, it is released.
        """
        job = partial(_end_claim, decision=decision, matcher=matcher, context=context, settled=settled)
        needs = Needs(matcher, names=[(decision.scope, decision.key)], with_counts=settled)
        return self._submit(job, urgent=urgent, needs=needs)

    def tidy(self, filing: Filing, max_age: int, advance: Advance = ignore_progress) -> int:
        """Forget the pages that no longer count, and return their number.

        They are pages that were not visited for *max_age* seconds (0: no limit), and pages that a dead run may have lost.
        """
        dead = self._write(lambda txn: txn.runs.find_dead())
        left = {number: run for number, run in dead.items() if not run.is_tidy}
        if not left and not max_age:
            return 0
        oldest = self._now() - max_age if max_age else 0

        def is_gone(record: Record) -> bool:
            return record.seen < oldest or (record.run in left and left[record.run].may_have_lost(record))

        def job(txn: Transaction) -> None:
            for number, run in left.items():
                txn.runs.write(number, RunEntry(run.last, 0, run.has_finished))

        forgotten = self.forget(is_gone, filing, advance)
        self._write(job)
        return forgotten


def _touch_run(txn: Transaction, context: RunContext) -> int:
    """Record that the run is alive, and return the time of the transaction."""
    now = context.clock()
    if not context.run:
        return now
    return txn.runs.touch(context.run, context.grace, now, stored_until=context.stored_until())


def _end_claim(txn: Transaction, decision: Decision, matcher: Matcher, context: RunContext, *, settled: bool) -> bool:
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
        now = _touch_run(txn, context)
        txn.sites.count_page(record.page, matcher, now)
        txn.runs.count_claims(record, -1)
        txn.replace(number, msgspec.structs.replace(record, settled=now, page=matcher.trim(record.page)))
    return True


def _add_addresses(txn: Transaction, dropped: Sequence[tuple[SignedPage, str]]) -> None:
    """Add the address of each duplicate to the record of its representative, up to a limit, if that can be read."""
    for kept, url in dropped:
        with suppress(msgspec.DecodeError):
            recorded = txn.find(kept.scope, kept.key)
            if recorded is None:
                continue
            number, record = recorded
            if len(record.also_at) < MAX_ALSO_AT and url not in record.also_at and len(url) <= MAX_ADDRESS_CHARS:
                txn.replace(number, msgspec.structs.replace(record, also_at=(*record.also_at, url)))
