"""Offer pages to the index. Pages that are ready at nearly the same time share one job of the index, and one wake-up.

Each page gets its own decision, or its own error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import NamedTuple

from crawler_dedup.crawl.gathering import Gathering, Turns
from crawler_dedup.decision import Decision
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import ConnectionLost, DedupError
from crawler_dedup.signedpage import SignedPage


class _Offer(NamedTuple):
    """A page that is offered, another key of it (``""``: none), whether it passes in any case, and the decision to come."""

    page: SignedPage
    alias: str
    is_dry: bool
    answer: asyncio.Future[Decision]


class Offers:
    """Offers pages to the index. Belongs to one event loop.

    Args:
        timeout: seconds that a page waits for the index.
        count_coming: returns how many pages may be offered soon, including those that are being offered.
        claim: whether a page that passes claims its place; this claim must be ended.
    """

    def __init__(
        self, deduplicator: Deduplicator, *, timeout: float, count_coming: Callable[[], int], claim: bool = True
    ) -> None:
        self._deduplicator = deduplicator
        self._timeout = timeout
        self._claim = claim
        self._gathering: Gathering[_Offer] = Gathering(count_coming, self._submit_all)
        self._turns: Turns[Decision] = Turns(self._give_back)

    async def decide(self, page: SignedPage, alias: str = "", *, is_dry: bool = False) -> Decision:
        """Return the decision about *page*, which the index has stored.

        Args:
            is_dry: whether the page passes in any case, so that it represents nothing where duplicates are dropped.

        Raises:
            IndexUnusable: the index cannot be used.
            TimeoutError: the index does not answer.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._gathering.add(_Offer(page, alias, is_dry, answer))
        try:
            return await answer
        except asyncio.CancelledError:
            if not answer.cancelled() and answer.exception() is None:  # the page was given up in the turn of its answer
                self._give_back(answer.result())
            raise

    def _submit_all(self, gathered: Sequence[_Offer]) -> None:
        """Offer the pages of a scope together: another scope may be on another server, which may not answer."""
        deadline = asyncio.get_running_loop().time() + self._timeout
        batches: dict[tuple[str, str, bool], list[_Offer]] = {}
        for offer in gathered:
            if not offer.answer.done():
                batches.setdefault((offer.page.scope, offer.alias, offer.is_dry), []).append(offer)
        for batch in batches.values():
            self._submit(batch, deadline)

    def _submit(self, batch: Sequence[_Offer], deadline: float) -> None:
        loop = asyncio.get_running_loop()
        aliases = {offer.page.key: offer.alias for offer in batch if offer.alias}
        try:
            future = self._deduplicator.submit(
                [offer.page for offer in batch], claim=self._claim, aliases=aliases, is_dry=batch[0].is_dry
            )
        except Exception as error:
            _fail(batch, error)
            return
        timer = loop.call_at(deadline, _give_up, future, batch)

        def wake_up(future: Future[list[Decision]]) -> None:  # called in the index's thread
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._answer, batch, future, timer)

        future.add_done_callback(wake_up)

    def _answer(self, batch: Sequence[_Offer], future: Future[list[Decision]], timer: asyncio.TimerHandle) -> None:
        if future.cancelled():  # by the timer
            return
        error = future.exception()
        if error is None:
            for offer, decision in zip(batch, future.result(), strict=True):
                self._turns.give(offer.answer, decision)
        elif len(batch) == 1 or isinstance(error, ConnectionLost):
            _fail(batch, error)
        else:  # the fault may be that of one page
            for offer in batch:
                if not offer.answer.done():
                    self._submit([offer], timer.when())
        timer.cancel()  # last: no page may wait for ever, whatever goes wrong above

    def _give_back(self, decision: Decision) -> None:
        """Release the claim of a page that will not be handled, because nothing waits for its *decision*."""
        if decision.claim:
            with suppress(DedupError):  # the index was closed meanwhile, which releases the claim too
                self._deduplicator.end_claim(decision, settled=False)


def _give_up(future: Future[list[Decision]], batch: Sequence[_Offer]) -> None:
    future.cancel()
    _fail(batch, TimeoutError())


def _fail(batch: Sequence[_Offer], error: BaseException) -> None:
    for offer in batch:
        if not offer.answer.done():
            offer.answer.set_exception(error)
