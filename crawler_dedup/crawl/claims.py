"""The claims of a crawl: a page alike to one that is being handled waits for what becomes of that."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

from crawler_dedup.decision import BEING_HANDLED, Decision
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import DedupError, IndexUnusable
from crawler_dedup.index.records import name_of
from crawler_dedup.signedpage import SignedPage

TOO_MANY_WAIT = "too many pages waiting"
"""Reason of an ``unchecked`` page that was alike to one that is being handled, when no more pages may wait."""

_FIRST_LOOK = 0.1
"""Seconds until a second look at what another process is handling; each further look after twice the time."""
_MOMENT = 0.5
"""Seconds that every page may wait: alike pages in flight together are told apart once the first was handled."""
_ANSWER = 6.0
_ANSWER_SHARE = 5
"""A page waits for the index for these seconds or this part of ``DEDUP_TIMEOUT``, whichever is longer, and never for more
than that: what takes long is signing."""
_MAX_REMEMBERED = 1000


class Claims:
    """Asks the index for one crawl, and tells it what was handled. Belongs to one event loop.

    Args:
        limit: how many pages may wait for longer than a moment at a time. They hold a place among Scrapy's concurrent
            requests.
        patience: seconds that they wait.
        timeout: seconds that a page has for its decision. It waits for the index for a fifth of them, or six.
    """

    def __init__(self, deduplicator: Deduplicator, limit: int, *, patience: float, timeout: float) -> None:
        self._deduplicator = deduplicator
        self._limit = limit
        self._patience = patience
        self._timeout = min(timeout, max(_ANSWER, timeout / _ANSWER_SHARE))
        self._awaited: dict[bytes, asyncio.Event] = {}
        self._given_up: OrderedDict[bytes, str] = OrderedDict()
        self._waiting = 0
        self._unwritten: deque[tuple[Decision, bool]] = deque()

    async def decide(self, page: SignedPage) -> Decision:
        """The decision for *page*, which claims its place if it passes; then :meth:`end` must be called.

        Raises:
            IndexUnusable: the index cannot be used.
            TimeoutError: of asyncio; it does not answer.
        """
        decision = await self._offer(page)
        if decision.reason != BEING_HANDLED:
            return decision
        is_one_too_many = self._waiting >= self._limit
        given_up = self._given_up.get(_place(decision))
        if given_up == BEING_HANDLED or (given_up == TOO_MANY_WAIT and is_one_too_many):
            return replace(decision, reason=given_up)
        self._waiting += 1
        try:
            if is_one_too_many:
                return await self._wait(page, decision, min(_MOMENT, self._patience), TOO_MANY_WAIT)
            return await self._wait(page, decision, self._patience, BEING_HANDLED)
        finally:
            self._waiting -= 1

    def end(self, decision: Decision, *, settled: bool) -> None:
        """The page of *decision* was handled, or was not. Whoever waits for that asks again.

        Raises:
            IndexUnusable: the index is closed.
        """
        self._write_end(decision, settled=settled, again=True)
        place = name_of(decision.scope, decision.url)
        self._given_up.pop(place, None)
        ended = self._awaited.pop(place, None)
        if ended is not None:
            ended.set()

    def _write_end(self, decision: Decision, *, settled: bool, again: bool) -> None:
        def written(future: Future[bool]) -> None:  # called in the index's thread
            if again and not future.cancelled() and isinstance(future.exception(), IndexUnusable):
                self._unwritten.append((decision, settled))

        self._deduplicator.end_claim(decision, settled=settled).add_done_callback(written)

    def _write_again(self) -> None:
        """The index can be written: write the ends of claims for which it could not (a full disk), once more."""
        with suppress(DedupError):
            while self._unwritten:
                decision, settled = self._unwritten.popleft()
                self._write_end(decision, settled=settled, again=False)

    async def _wait(self, page: SignedPage, decision: Decision, patience: float, reason: str) -> Decision:
        """Offer *page* until it need not wait, for *patience* seconds; then it passes for *reason*."""
        give_up = time.monotonic() + patience
        look = _FIRST_LOOK
        while decision.reason == BEING_HANDLED:
            left = give_up - time.monotonic()
            if left <= 0:
                self._give_up(decision, reason)
                return replace(decision, reason=reason)
            await self._ended(decision, min(left, look))
            look *= 2
            decision = await self._offer(page)
        return decision

    async def _ended(self, decision: Decision, timeout: float) -> None:
        """Wait until the page for which *decision* waits is handled, or a moment: another process does not tell."""
        place = _place(decision)
        ended = self._awaited.setdefault(place, asyncio.Event())
        try:
            await asyncio.wait_for(ended.wait(), timeout)
        except asyncio.TimeoutError:
            # Others that wait for it look again by themselves.
            if self._awaited.get(place) is ended:
                del self._awaited[place]

    def _give_up(self, decision: Decision, reason: str) -> None:
        """Further pages that are alike to it need not wait: one slow callback must not hold up the crawl."""
        self._given_up[_place(decision)] = reason
        if len(self._given_up) > _MAX_REMEMBERED:
            self._given_up.popitem(last=False)

    async def _offer(self, page: SignedPage) -> Decision:
        future = self._deduplicator.submit([page], claim=True)
        try:
            (decision,) = await asyncio.wait_for(asyncio.wrap_future(future), self._timeout)
        except BaseException:
            # Nobody will handle the page on the strength of this answer, if there is one yet.
            future.add_done_callback(self._give_back)
            raise
        self._write_again()
        return decision

    def _give_back(self, future: Future[list[Decision]]) -> None:
        if future.cancelled() or future.exception() is not None:
            return
        for decision in future.result():
            if decision.claim:
                with suppress(DedupError):  # closed meanwhile, which releases it too
                    self._deduplicator.end_claim(decision, settled=False)


def _place(decision: Decision) -> bytes:
    """Return what stands for scope and address of the page for which *decision* waits: addresses may be long."""
    return name_of(decision.scope, decision.duplicate_of)
