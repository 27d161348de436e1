"""Recognise pages that this crawl has handled, and to which another address redirects, or that it drops again and again.

Many addresses may redirect to one page, which is to be stored once. But an address (or a ``dedup_key``) that is requested
again, as by a retry or by a spider that watches a page, is a visit. A page that is requested again and again after it was
dropped is requested by an errback that does not stop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass, field

from crawler_dedup.crawl.counting import MAX_WATCHED, HeavyHitters, Use
from crawler_dedup.crawl.gate import Question
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.urls import hash_page_key

_MAX_PAGES = 10_000  # that are remembered
_MAX_ADDRESSES = 16  # of a page that are remembered
_MAX_DROPS = 5
"""Maximum number of drops at one address in a run. An errback that requests it again each time would never end."""
_WAIT_SECONDS = 3.0
"""Seconds for which a visit waits for the end of another one, as every page may wait (:mod:`crawler_dedup.crawl.claims`)."""


@dataclass(eq=False)
class Visit:
    """One visit of a page.

    Attributes:
        page: the page that is visited.
        repeats: whether the crawl has handled the page before, at another address.
        decision: the decision about it; ``None``: it is not known yet.
        ended: set when its handling has ended.
    """

    page: _Page
    repeats: bool
    decision: Decision | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class _Page:
    """A page that was visited: hashes of the latest addresses that have led to it, and the visit that is being handled."""

    addresses: deque[bytes] = field(default_factory=lambda: deque(maxlen=_MAX_ADDRESSES))
    visit: Visit | None = None
    is_handled: bool = False


class Repetitions:
    """The latest pages that a crawl has visited. Belongs to its event loop."""

    def __init__(self) -> None:
        self._pages: OrderedDict[bytes, _Page] = OrderedDict()
        self._drops = HeavyHitters[bytes, Use](MAX_WATCHED, Use)

    async def begin(self, question: Question) -> Visit:
        """Begin a visit of a page. While it is being handled at another address, wait for the outcome for a moment."""
        known = self._remember(question.page, self._pages.get(question.page) or _Page())
        if question.address not in known.addresses:
            with suppress(TimeoutError):
                async with asyncio.timeout(_WAIT_SECONDS):
                    while known.visit is not None:  # several visits may wait
                        await known.visit.ended.wait()
        visit = known.visit = Visit(known, known.is_handled and question.address not in known.addresses)
        if question.address not in known.addresses:
            known.addresses.append(question.address)
        return visit

    def is_dropped_too_often(self, question: Question, scope: str) -> bool:
        """Count a drop. Return whether the page was dropped so often at the requested address that it should pass.

        Args:
            scope: the scope of the page; drops in other scopes do not count.
        """
        drops = self._drops.add(hash_page_key(scope, question.job.alias or question.job.key))
        drops.count += 1
        return drops.count > _MAX_DROPS

    def record_decision(self, visit: Visit, decision: Decision, *, drops: bool) -> None:
        """Record the *decision* about a visit, which ends the visit unless the page is kept and goes on to its callback."""
        visit.decision = decision
        if drops or decision.verdict in (Verdict.DUPLICATE, Verdict.UNCHECKED):
            _end(visit)
        else:  # its scope may be the language of the page, which is only known now
            self._remember(hash_page_key(decision.scope, decision.key), visit.page)

    def record_end(self, decision: Decision, *, settled: bool) -> None:
        """Record the end of the handling of the page of *decision*, and whether the page was handled."""
        known = self._pages.get(hash_page_key(decision.scope, decision.key))
        if known is None:
            return
        known.is_handled |= settled
        if known.visit is not None and known.visit.decision is decision:
            _end(known.visit)

    def _remember(self, name: bytes, page: _Page) -> _Page:
        self._pages[name] = page
        self._pages.move_to_end(name)
        if len(self._pages) > _MAX_PAGES:
            self._pages.popitem(last=False)
        return page


def _end(visit: Visit) -> None:
    visit.ended.set()
    if visit.page.visit is visit:
        visit.page.visit = None
