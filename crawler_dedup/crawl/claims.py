"""The claims of a crawl: a page that passed holds its place in the index until its handling has ended.

A page that is similar to a page which is still being handled waits for the end of that page's claim. Whether a claim ends
settled or released, :mod:`crawler_dedup.settling` decides by what becomes of the page's items.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from scrapy.http import Request, Response

from crawler_dedup.crawl.gate import Question
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.serveroutages import Outages
from crawler_dedup.crawl.workers import Workers, find_workers
from crawler_dedup.decision import BEING_HANDLED, Decision, Verdict
from crawler_dedup.errors import ConnectionLost, DedupError
from crawler_dedup.urls import hash_page_key
from crawler_dedup.worker.messages import DecideAgain, Failure

TOO_MANY_WAIT = "too many pages wait for similar pages"
"""Reason of an ``unchecked`` page that was similar to a page which is being handled, when no more pages may wait."""

_FIRST_INTERVAL_SECONDS = 0.1
"""The time until the index is asked again about a page that another process is handling. It doubles each time."""
WAIT_SECONDS = 10.0
"""The time for which a page waits for the outcome of a similar page that is being handled. After that it passes as
``unchecked``: most callbacks and pipelines take less, and the page holds a place among Scrapy's concurrent requests."""
_SHORT_WAIT_SECONDS = 3.0
"""The time that every page may wait: similar pages in flight at the same time are decided once the first was handled. On a
busy machine with two crawls that takes more than a second."""
_MAX_REMEMBERED = 1000
_NAMED = 10  # pages that a warning names


class Claim:
    """The claim of one page, from its callback on. It ends once; a page that was settled can still be released by hand."""

    def __init__(self, decision: Decision, claims: Claims) -> None:
        self._decision = decision
        self._owner = claims
        self._is_open = True
        self._is_released = False

    @property
    def workers(self) -> Workers:
        """The workers of its crawl."""
        return self._owner.workers

    @property
    def was_granted(self) -> bool:
        """Whether the index gave the page a claim in this crawl; stays true once the claim has ended."""
        return bool(self._decision.claim)

    def end(self, *, settled: bool) -> bool:
        """End the claim, if it is open. Return whether this call has ended it. *settled*: whether the page was handled.

        A page that did not claim a place (an unchanged one, or a duplicate that passes because it is marked) has no claim to
        end.
        """
        if not self._is_open:
            return False
        if not self.was_granted:
            self._owner.on_end(self._decision, settled)
            return False
        self._is_open, self._is_released = False, not settled
        return self._owner.end(self._decision, settled=settled)

    def release(self) -> bool:
        """Forget the page, even if it was settled before. Return whether there was a page to forget."""
        is_kept = self._decision.verdict in (Verdict.NEW, Verdict.CHANGED, Verdict.UNCHANGED)
        if self._is_released or not is_kept:
            return False
        self._is_open, self._is_released = False, True
        return self._owner.end(self._decision, settled=False)


_claims_by_request: WeakKeyDictionary[Request, Claim] = WeakKeyDictionary()
"""The claim of each request whose response is being handled: :func:`settle` and :func:`release` get the response only. A
callback may replace the response; its request is still the same object."""


def settle(response: Response) -> bool:
    """Settle the page of *response*, in a callback or pipeline: it was handled, and may represent duplicates from now on.

    With ``DEDUP_SETTLE = "manual"`` nothing else settles pages. Returns whether there was a claim to settle: ``False`` for
    a page that the filter did not check, that did not claim a place, or whose claim has ended.

    >>> from scrapy.http import HtmlResponse
    >>> def parse(response):
    ...     print("stored:", response.css("title::text").get())
    ...     return settle(response)
    >>> parse(HtmlResponse("https://example.com/", body=b"<title>Rain"))  # not a response that a crawl has received
    stored: Rain
    False
    """
    claim = _claim_of(response)
    return claim is not None and claim.end(settled=True)


def release(response: Response) -> bool:
    """Forget the page of *response*, even if it was settled before: its content is useless (a captcha, an error page).

    Works with every ``DEDUP_SETTLE``. Returns whether there was a page to forget.

    >>> from scrapy.http import HtmlResponse
    >>> def parse(response):
    ...     return release(response) if response.css("#captcha") else {"url": response.url}
    >>> parse(HtmlResponse("https://example.com/", body=b"<p id=captcha>"))  # not a response that a crawl has received
    False
    """
    claim = _claim_of(response)
    return claim is not None and claim.release()


def release_claimed(response: Response | None) -> bool:
    """Forget the page of *response*, but only if this crawl has claimed it, not if an earlier run has kept it."""
    claim = None if response is None else _claim_of(response)
    return claim is not None and claim.was_granted and claim.release()


def workers_of(response: Any) -> Workers | None:
    """Return the workers of the crawl that has received *response*; ``None`` if there is none."""
    claim = _claim_of(response)
    return find_workers() if claim is None else claim.workers


def _claim_of(response: Response) -> Claim | None:
    return _claims_by_request.get(response.request) if response.request is not None else None


class Claims:
    """Asks the index about the pages of one crawl, and ends their claims. Belongs to one event loop.

    Args:
        limit: maximum number of pages that wait for longer than a moment at the same time. Each takes one of Scrapy's
            concurrent requests.
        outages: lets pages wait while the server of the index is unavailable. These pages do not count for *limit*.
        on_end: called with the decision of a page whose handling ends, and whether it was handled.
    """

    def __init__(
        self,
        workers: Workers,
        monitor: Monitor,
        limit: int,
        *,
        outages: Outages,
        on_end: Callable[[Decision, bool], object],
    ) -> None:
        self.workers = workers
        self.on_end = on_end
        self._monitor = monitor
        self._outages = outages
        self._limit = limit
        self._awaited: dict[bytes, asyncio.Event] = {}
        self._not_awaited: OrderedDict[bytes, str] = OrderedDict()
        self._waiting = 0
        self._unwritten: deque[tuple[Decision, bool]] = deque()
        self._ending: set[asyncio.Future[bool]] = set()  # the ends that are being written

    async def decide(self, question: Question) -> Decision:
        """Ask the index about a page. If the page passes, it claims its place, and the claim must be ended.

        Raises:
            NotSigned, SigningError: the page was not signed (:meth:`Workers.ask`).
            IndexUnusable: the index cannot be used.
            TimeoutError: the index does not answer.
        """
        decision = await self._ask(question)
        if decision.reason != BEING_HANDLED:
            return decision
        is_beyond_limit = self._waiting >= self._limit
        reason = self._not_awaited.get(_place(decision))
        if reason == BEING_HANDLED or (reason == TOO_MANY_WAIT and is_beyond_limit):
            return replace(decision, reason=reason)
        self._waiting += 1
        try:
            if is_beyond_limit:
                return await self._wait(question, decision, _SHORT_WAIT_SECONDS, TOO_MANY_WAIT)
            return await self._wait(question, decision, WAIT_SECONDS, BEING_HANDLED)
        finally:
            self._waiting -= 1

    def begin(self, request: Request, decision: Decision) -> Claim:
        """Return the claim of the page of *decision*, the answer to *request*, whose callback begins."""
        claim = _claims_by_request[request] = Claim(decision, self)
        return claim

    def end(self, decision: Decision, *, settled: bool) -> bool:
        """End the claim of *decision* in the index. Pages that wait for its end ask the index again.

        Returns whether the index accepts this. It is written a moment later.

        Args:
            settled: whether the page was handled.
        """
        try:
            self._write_end(decision, settled=settled)
        except DedupError as error:
            message = "The index could not be written (%s): %s does not count as handled, and is new in the next crawl"
            self._monitor.warn(message, error, decision.url)
            return False
        place = hash_page_key(decision.scope, decision.url)
        self._not_awaited.pop(place, None)
        event = self._awaited.pop(place, None)
        if event is not None:
            event.set()
        self._monitor.report_claim_end(decision, settled=settled)
        self.on_end(decision, settled)
        return True

    def write_again(self) -> None:
        """Write again the ends of claims that could not be written (a full disk, a server that did not answer).

        Called when the index can be written again, or will be closed. Those that fail again wait for the next call.
        """
        with suppress(DedupError):
            for _ in range(len(self._unwritten)):  # others may fail meanwhile
                decision, settled = self._unwritten[0]
                self._write_end(decision, settled=settled)
                self._unwritten.popleft()

    async def write_rest(self) -> None:
        """Write the ends of claims that are not written yet. If the server is unavailable, they wait for it as pages do."""
        self.write_again()
        if not self._outages.seconds or not self._ending:
            return
        with suppress(ConnectionLost):
            await self._outages.ask(self._wait_for_ends, self.write_again, pages=0)

    async def _wait_for_ends(self) -> None:
        for result in await asyncio.gather(*self._ending, return_exceptions=True):
            if isinstance(result, ConnectionLost):
                raise result

    def report_unwritten(self) -> None:
        """Log the pages whose release could not be written before the index was closed."""
        released = [decision for decision, settled in self._unwritten if not settled]
        if released:
            self._monitor.log(
                logging.WARNING,
                "%d pages were not handled to the end, but the index still has them as kept, because it could not be"
                " written: other pages may wrongly be dropped as their duplicates. Remove each with `crawler-dedup"
                ' forget --url URL`. They are the pages with "event":"released" in the journal, such as %s',
                len(released),
                ", ".join(decision.url for decision in released[:_NAMED]),
            )

    def _write_end(self, decision: Decision, *, settled: bool) -> None:
        def keep_unwritten(future: asyncio.Future[bool]) -> None:
            self._ending.remove(future)
            if not future.cancelled() and future.exception():
                self._unwritten.append((decision, settled))

        future = self.workers.end_claim(decision, settled=settled)
        self._ending.add(future)
        future.add_done_callback(keep_unwritten)

    async def _wait(self, question: Question, decision: Decision, seconds: float, reason: str) -> Decision:
        """Ask again until the page need not wait, for *seconds* seconds at most; then stop waiting for *reason*."""
        deadline = time.monotonic() + seconds
        interval = _FIRST_INTERVAL_SECONDS
        while decision.reason == BEING_HANDLED:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                self._stop_waiting(decision, reason)
                return replace(decision, reason=reason)
            await self._wait_for_end(decision, min(seconds_left, interval))
            interval *= 2
            asked = time.monotonic()
            decision = await self._ask(question)
            deadline += time.monotonic() - asked  # the server may have been unavailable
        return decision

    async def _wait_for_end(self, decision: Decision, timeout: float) -> None:
        """Wait for the end of the claim that *decision* names, at most *timeout* seconds.

        Ends in other processes are not announced.
        """
        place = _place(decision)
        event = self._awaited.setdefault(place, asyncio.Event())
        try:
            await asyncio.wait_for(event.wait(), timeout)
        except TimeoutError:
            # Other pages that wait for it ask the index again by themselves.
            if self._awaited.get(place) is event:
                del self._awaited[place]

    def _stop_waiting(self, decision: Decision, reason: str) -> None:
        """Let further pages that are similar to the same page pass at once: one slow callback must not hold up the crawl."""
        self._not_awaited[_place(decision)] = reason
        if len(self._not_awaited) > _MAX_REMEMBERED:
            self._not_awaited.popitem(last=False)

    async def _ask(self, question: Question) -> Decision:
        if self._outages.seconds:
            decision = await self._outages.ask(partial(self._ask_once, question), self.write_again, pages=1)
        else:
            decision = await self._ask_once(question)
        if self._unwritten:
            self.write_again()
        return decision

    async def _ask_once(self, question: Question) -> Decision:
        job, sent = question.job, time.monotonic()
        if question.checked:
            again = DecideAgain(question.checked.page, job.alias, job.is_dry)
            checked = await self.workers.ask(again)
        else:
            checked = question.checked = await self.workers.ask(job, question.body)
            question.waited = checked.began - sent
        if isinstance(checked.decision, Failure):
            raise checked.decision.to_error()
        return checked.decision


def _place(decision: Decision) -> bytes:
    """Return a hash of scope and address of the page for which *decision* waits: addresses may be long."""
    return hash_page_key(decision.scope, decision.duplicate_of)
