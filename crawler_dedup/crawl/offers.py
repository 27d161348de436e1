"""Offer pages to the index together, and resume them a few per turn of the event loop.

A transaction for each page would cost more processor time than the decision: a commit, and a turn of the writing thread and
of the event loop. So pages that are ready at nearly the same time share one job of the index, and one wake-up; each gets
its own decision, or its own error. But if all callbacks of pages that were offered together ran in one turn of the event
loop, nothing else would happen meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from crawler_dedup.crawl.deciding import DecidingProcess
from crawler_dedup.decision import Decision
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import ConnectionLost, DedupError
from crawler_dedup.signedpage import SignedPage

DecidingIndex = Deduplicator | DecidingProcess
"""What decides about pages: the open index, or the process that has joined its run."""

_T = TypeVar("_T")
_SECONDS = 0.01
_TURN_SECONDS = 0.02
_WEIGHT = 1 / 16
"""Weight of the latest turn in the average."""


class Gathering(Generic[_T]):
    """Lets pages wait for each other. Belongs to one event loop.

    Args:
        count_coming: returns how many pages may come, including those that wait already.
        pass_on: called with the pages that have waited together.
    """

    def __init__(self, count_coming: Callable[[], int], pass_on: Callable[[list[_T]], None]) -> None:
        self._count_coming = count_coming
        self._pass_on = pass_on
        self._waiting: list[_T] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, page: _T) -> None:
        """Let *page* wait for other pages: for a hundredth of a second, or until no other page may come."""
        coming = self._count_coming()
        self._waiting.append(page)
        if len(self._waiting) >= coming:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        self._pass_on(waiting)


class Turns(Generic[_T]):
    """Gives pages their answers in order, a few in each turn of the event loop. Belongs to one event loop.

    Few pages in a turn keep the loop responsive. Several make the crawl faster: the code and the data of each step of their
    handling stay in the caches of the processor. So a turn resumes pages for about 20 ms of processor time, estimated from
    the latest pages, but at least one.

    Args:
        release_abandoned: called with an answer whose page does not wait any more.
        clock: returns the processor time of the event loop's thread, in seconds.
    """

    def __init__(self, release_abandoned: Callable[[_T], None], clock: Callable[[], float] = time.thread_time) -> None:
        self._release_abandoned = release_abandoned
        self._clock = clock
        self._waiting: deque[tuple[asyncio.Future[_T], _T]] = deque()
        self._is_running = False
        self._page_seconds = _TURN_SECONDS
        self._turn_began = 0.0
        self._pages_of_turn = 0
        self._most_of_turn = 1

    def resume(self, page: asyncio.Future[_T], answer: _T) -> None:
        """Resume *page* with its *answer* in its turn, after the pages that wait already."""
        self._waiting.append((page, answer))
        loop = asyncio.get_running_loop()
        if self._is_running:
            self._answer(loop)
        else:
            self._is_running = True
            self._begin_turn(loop)

    def _begin_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._waiting:
            self._is_running = False
            return
        now = self._clock()
        if self._pages_of_turn:  # what the loop has done since the last turn, it has done for the pages of that turn
            page_seconds = (now - self._turn_began) / self._pages_of_turn
            self._page_seconds += (page_seconds - self._page_seconds) * _WEIGHT
        self._turn_began, self._pages_of_turn = now, 0
        self._most_of_turn = max(1, int(_TURN_SECONDS / max(self._page_seconds, 1e-6)))
        loop.call_soon(self._begin_turn, loop)
        self._answer(loop)

    def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give as many answers as this turn has left."""
        while self._waiting and self._pages_of_turn < self._most_of_turn:
            page, answer = self._waiting.popleft()
            if page.done():
                loop.call_soon(self._release_abandoned, answer)  # the page was abandoned
            else:
                page.set_result(answer)
                self._pages_of_turn += 1


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
        self, index: DecidingIndex, *, timeout: float, count_coming: Callable[[], int], claim: bool = True
    ) -> None:
        self._index = index
        self._timeout = timeout
        self._claim = claim
        self._gathering: Gathering[_Offer] = Gathering(count_coming, self._submit_all)
        self._turns: Turns[Decision] = Turns(self._release_abandoned)

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
            # The page was abandoned in the turn of its answer.
            if not answer.cancelled() and answer.exception() is None:
                self._release_abandoned(answer.result())
            raise

    def _submit_all(self, gathered: Sequence[_Offer]) -> None:
        """Offer pages of one scope, alias and ``is_dry`` together: another scope may be on a server that does not answer."""
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
            future = self._index.submit(
                [offer.page for offer in batch], claim=self._claim, aliases=aliases, is_dry=batch[0].is_dry
            )
        except Exception as error:
            _fail(batch, error)
            return
        timer = loop.call_at(deadline, _cancel, future, batch)

        thread = threading.get_ident()

        def wake_up(future: Future[list[Decision]]) -> None:  # called in the thread that sets the future
            if threading.get_ident() == thread:
                self._answer(batch, future, timer)
                return
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._answer, batch, future, timer)

        future.add_done_callback(wake_up)

    def _answer(self, batch: Sequence[_Offer], future: Future[list[Decision]], timer: asyncio.TimerHandle) -> None:
        if future.cancelled():  # by the timer
            return
        error = future.exception()
        if error is None:
            for offer, decision in zip(batch, future.result(), strict=True):
                self._turns.resume(offer.answer, decision)
        elif len(batch) == 1 or isinstance(error, ConnectionLost):
            _fail(batch, error)
        else:  # the fault may be that of one page
            for offer in batch:
                if not offer.answer.done():
                    self._submit([offer], timer.when())
        timer.cancel()  # last: no page may wait for ever, whatever goes wrong above

    def _release_abandoned(self, decision: Decision) -> None:
        """Release the claim of a page that will not be handled, because nothing waits for its *decision*."""
        if decision.claim:
            with suppress(DedupError):  # the index was closed meanwhile, which releases the claim too
                self._index.end_claim(decision, settled=False)


def _cancel(future: Future[list[Decision]], batch: Sequence[_Offer]) -> None:
    future.cancel()
    _fail(batch, TimeoutError())


def _fail(batch: Sequence[_Offer], error: BaseException) -> None:
    for offer in batch:
        if not offer.answer.done():
            offer.answer.set_exception(error)
