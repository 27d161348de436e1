"""The claims of a crawl: a page that passed holds its place in the index until its handling has ended.

A page that is similar to a page which is still being handled waits for the end of that page's claim.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from scrapy.http import Request, Response

from crawler_dedup.crawl.background import run_in_own_thread
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.offers import DecidingIndex, Offers
from crawler_dedup.crawl.outages import Outages
from crawler_dedup.decision import BEING_HANDLED, Decision, Verdict
from crawler_dedup.errors import ConnectionLost, DedupError, IndexUnusable
from crawler_dedup.index.profiles import site_key
from crawler_dedup.index.records import hash_page_key
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.owntext import RepeatedBlocks

TOO_MANY_WAIT = "too many pages waiting"
"""Reason of an ``unchecked`` page that was similar to a page which is being handled, when no more pages may wait."""

_FIRST_INTERVAL_SECONDS = 0.1
"""The time until the index is asked again about a page that another process is handling. It doubles each time."""
PATIENCE_SECONDS = 10.0
"""The time for which a page waits for the outcome of a similar page that is being handled. After that it passes as
``unchecked``: most callbacks and pipelines take less, and the page holds a place among Scrapy's concurrent requests."""
_SHORT_PATIENCE_SECONDS = 3.0
"""The time that every page may wait: similar pages in flight at the same time are decided once the first was handled. On a
busy machine with two crawls that takes more than a second."""
_ANSWER_SECONDS = 6.0
"""A page waits for the index for this time or a fifth of ``DEDUP_TIMEOUT``, whichever is longer, but never longer
than ``DEDUP_TIMEOUT``: most of that time is meant for signing."""
_MAX_REMEMBERED = 1000
_MAX_SITES = 256  # whose repeated blocks are remembered: at most 20 KB each


class IndexAnswer(NamedTuple):
    """The answer of the index about a page.

    Attributes:
        decision: the last decision that it made for the page.
        reason: why the page no longer waits for a similar page that is being handled; ``""`` if it need not wait.
    """

    decision: Decision
    reason: str = ""


class Claim:
    """The claim of one page, from its callback on. It ends once; a page that was settled can still be released by hand."""

    def __init__(self, decision: Decision, claims: Claims) -> None:
        self._decision = decision
        self._owner = claims
        self._is_open = True
        self._is_released = False

    async def find_repeated(self) -> RepeatedBlocks:
        """Return what the site of the page repeats (:meth:`Claims.find_repeated`)."""
        return await self._owner.find_repeated(self._decision)

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
            self._owner.note_end(self._decision, settled)
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


async def find_repeated(response: Response) -> RepeatedBlocks:
    """Return what the site of *response* repeats, as far as the crawl knows; nothing for a page that was not checked."""
    claim = _claim_of(response)
    return RepeatedBlocks() if claim is None else await claim.find_repeated()


def _claim_of(response: Response) -> Claim | None:
    return _claims_by_request.get(response.request) if response.request is not None else None


class Claims:
    """Asks the index about the pages of one crawl, and ends their claims. Belongs to one event loop.

    Args:
        limit: maximum number of pages that wait for longer than a moment at the same time. Each takes one of Scrapy's
            concurrent requests.
        outages: lets pages wait while the server of the index is unavailable. These pages do not count for *limit*.
        timeout: seconds that a page has for its decision. It waits for the index for a fifth of them or
            for six seconds, whichever is longer, but never longer than *timeout*.
        count_coming: returns how many pages may be offered soon, including those that are being offered.
        note_end: called with the decision of a page whose handling ends, and whether it was handled.
    """

    def __init__(
        self,
        index: DecidingIndex,
        monitor: Monitor,
        limit: int,
        *,
        outages: Outages,
        timeout: float,
        count_coming: Callable[[], int],
        note_end: Callable[[Decision, bool], object],
    ) -> None:
        self._index = index
        self.note_end = note_end
        self._monitor = monitor
        self._outages = outages
        self._limit = limit
        seconds = min(timeout, max(_ANSWER_SECONDS, timeout / 5))
        self.offers = Offers(index, timeout=seconds, count_coming=count_coming)
        self._awaited: dict[bytes, asyncio.Event] = {}
        self._not_awaited: OrderedDict[bytes, str] = OrderedDict()
        self._waiting = 0
        self._unwritten: deque[tuple[Decision, bool]] = deque()
        self._ending: set[Future[bool]] = set()  # the ends that are being written
        self._sites: OrderedDict[bytes, RepeatedBlocks] = OrderedDict()

    async def decide(self, page: SignedPage, alias: str = "", *, is_dry: bool = False) -> IndexAnswer:
        """Ask the index about *page*. If the page passes, it claims its place, and the claim must be ended.

        Args:
            alias: another key of the page; ``""`` if it has none.
            is_dry: whether the page passes in any case. It then represents no page in crawls that drop duplicates.

        Raises:
            IndexUnusable: the index cannot be used.
            TimeoutError: the index does not answer.
        """
        offer = partial(self._offer, page, alias, is_dry=is_dry)
        decision = await offer()
        if decision.reason != BEING_HANDLED:
            return IndexAnswer(decision)
        is_beyond_limit = self._waiting >= self._limit
        reason = self._not_awaited.get(_place(decision))
        if reason == BEING_HANDLED or (reason == TOO_MANY_WAIT and is_beyond_limit):
            return IndexAnswer(decision, reason)
        self._waiting += 1
        try:
            if is_beyond_limit:
                return await self._wait(offer, decision, _SHORT_PATIENCE_SECONDS, TOO_MANY_WAIT)
            return await self._wait(offer, decision, PATIENCE_SECONDS, BEING_HANDLED)
        finally:
            self._waiting -= 1

    async def find_repeated(self, decision: Decision) -> RepeatedBlocks:
        """Return what the site of a page repeats. The index is read only if *decision* names another snapshot."""
        key = site_key(decision.scope, decision.url)
        known = self._sites.get(key)
        if known is None or decision.snapshot not in (0, known.snapshot):
            try:
                known = await run_in_own_thread(self._index.repeated_blocks, decision.url, decision.scope)
            except DedupError:
                return known or RepeatedBlocks()
            self._sites[key] = known
            if len(self._sites) > _MAX_SITES:
                self._sites.popitem(last=False)
        return known

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
            message = "%s counts as not handled, and is new when it is crawled again: %s"
            self._monitor.log_throttled(message, logging.WARNING, message, decision.url, error)
            return False
        place = hash_page_key(decision.scope, decision.url)
        self._not_awaited.pop(place, None)
        event = self._awaited.pop(place, None)
        if event is not None:
            event.set()
        self._monitor.report_claim_end(decision, settled=settled)
        self.note_end(decision, settled)
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
        ends = tuple(self._ending)  # another thread changes it
        for outcome in await asyncio.gather(*map(asyncio.wrap_future, ends), return_exceptions=True):
            if isinstance(outcome, ConnectionLost):
                raise outcome

    def report_unwritten(self) -> None:
        """Log the pages whose release could not be written before the index was closed."""
        released = [decision for decision, settled in self._unwritten if not settled]
        if released:
            self._monitor.log(
                logging.WARNING,
                "Could not write the release of %d pages to the index (first: %s); they may wrongly represent duplicates."
                " Remove each with `crawler-dedup forget --url`: the journal has them as `released`",
                len(released),
                released[0].url,
            )

    def _write_end(self, decision: Decision, *, settled: bool) -> None:
        def note_outcome(future: Future[bool]) -> None:  # called in the thread that sets the future
            if not future.cancelled() and isinstance(future.exception(), IndexUnusable):
                self._unwritten.append((decision, settled))
            self._ending.remove(future)

        future = self._index.end_claim(decision, settled=settled)
        self._ending.add(future)
        future.add_done_callback(note_outcome)

    async def _wait(
        self, offer: Callable[[], Awaitable[Decision]], decision: Decision, patience: float, reason: str
    ) -> IndexAnswer:
        """Repeat *offer* until the page need not wait, for *patience* seconds at most; then stop waiting for *reason*."""
        deadline = time.monotonic() + patience
        interval = _FIRST_INTERVAL_SECONDS
        while decision.reason == BEING_HANDLED:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                self._stop_waiting(decision, reason)
                return IndexAnswer(decision, reason)
            await self._wait_for_end(decision, min(seconds_left, interval))
            interval *= 2
            asked = time.monotonic()
            decision = await offer()
            deadline += time.monotonic() - asked  # the server may have been unavailable
        return IndexAnswer(decision)

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

    async def _offer(self, page: SignedPage, alias: str, *, is_dry: bool) -> Decision:
        offer = partial(self.offers.decide, page, alias, is_dry=is_dry)
        decision = await self._outages.ask(offer, self.write_again, pages=1)
        self.write_again()
        return decision


def _place(decision: Decision) -> bytes:
    """Return a hash of scope and address of the page for which *decision* waits: addresses may be long."""
    return hash_page_key(decision.scope, decision.duplicate_of)
