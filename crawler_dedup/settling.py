"""The spider middleware: did a page's callback and its items go well? It settles or releases the page's claim.

Only a spider middleware learns how a callback ended, and only the item signals how the items did.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.http import Response

from crawler_dedup.crawl.gate import leave_callback
from crawler_dedup.crawl.signals import page_handled
from crawler_dedup.crawl.startup import config_of, require_companion
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.middleware import META_DECISION, DedupMiddleware
from crawler_dedup.system.logs import logger_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logger_of(__name__)

# Of a response that a callback has replaced, the request is still the same object.
_following: WeakKeyDictionary[Request, SettlingMiddleware] = WeakKeyDictionary()


def settle(response: Response) -> bool:
    """Say that the page was handled: it may stand for its duplicates from now on. In callbacks and pipelines.

    With ``DEDUP_SETTLE = "manual"`` nothing else does. Returns whether there was something to settle: ``False`` for a
    page that the filter left alone, that did not claim a place, or whose claim has ended.
    """
    return _end(response, settled=True)


def release(response: Response) -> bool:
    """Say that the page is worth nothing (a captcha, an error): it is forgotten, whatever was settled before.

    Works in every mode. Returns as :func:`settle`.
    """
    return _end(response, settled=False)


def _end(response: Response, *, settled: bool) -> bool:
    follower = _following.get(response.request) if response.request is not None else None
    return follower is not None and follower.end(response, settled=settled)


@dataclass(frozen=True)
class Outcome:
    """How the handling of one page ended.

    Attributes:
        callback: whether the callback ran to its end without an exception that nobody handled.
        scraped: items that came out of the pipelines.
        dropped: items that a pipeline dropped.
        failed: items at which a pipeline raised an error.
    """

    callback: bool = True
    scraped: int = 0
    dropped: int = 0
    failed: int = 0

    @property
    def well(self) -> bool:
        """The callback ended well, and at least one of its items came out, or it yielded none."""
        return self.callback and (self.scraped > 0 or not (self.dropped or self.failed))


def _fate(mode: str, outcome: Outcome, *, over: bool) -> bool | None:
    """Whether a page is settled (``True``) or released; ``None`` while that is open."""
    if mode == "manual":
        return None
    if mode == "callback":
        # A page whose items were all dropped is stored nowhere: if it stood for others, its content would be lost.
        return outcome.well and not outcome.failed if over else None
    if outcome.scraped:
        return True
    return outcome.well if over else None


@dataclass
class _Claim:
    decision: Decision
    is_open: bool = True
    is_released: bool = False


@dataclass
class _Handling:
    claim: _Claim
    outcome: Outcome = Outcome()
    passes: int = 0
    pending: int = 0
    ended: bool = False


class SettlingMiddleware:
    """Follows each page that the filter has decided on from its callback to the end of its last item.

    Stands outermost (order 10): what it sees leaves for the engine.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._mode = config_of(crawler).settle
        self._handlings: WeakKeyDictionary[Response, _Handling] = WeakKeyDictionary()
        self._claims: WeakKeyDictionary[Request, _Claim] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises :class:`crawler_dedup.ConfigError` when the downloader middleware is not installed."""
        middleware = cls(crawler)
        require_companion(crawler.settings, "DOWNLOADER_MIDDLEWARES", "crawler_dedup.middleware.DedupMiddleware")
        crawler.signals.connect(middleware.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(middleware.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(middleware.item_error, signal=signals.item_error)
        return middleware

    def process_spider_input(self, response: Response) -> None:
        """A page with a decision enters its callback."""
        decision = response.meta.get(META_DECISION)
        if isinstance(decision, Decision) and response.request is not None:
            claim = self._claims[response.request] = _Claim(decision)
            self._handlings[response] = _Handling(claim)
            _following[response.request] = self

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Count the items that leave; what ends here has ended well."""
        handling = self._handlings.get(response)
        if handling is not None:
            handling.passes += 1
        async for one in result:
            if isinstance(one, Request):
                leave_callback(one)
            elif one is not None and handling is not None:
                handling.pending += 1
            yield one
        if handling is None:
            return
        handling.passes -= 1
        # What another middleware makes of an exception in the callback comes in a pass of its own, which begins at once.
        asyncio.get_running_loop().call_soon(self._pass_ended, response, handling)

    def _pass_ended(self, response: Response, handling: _Handling) -> None:
        if not handling.passes:
            self._callback_ended(response, well=True)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:  # noqa: ARG002
        """Being outermost, this sees what nobody else has handled."""
        self._callback_ended(response, well=False)

    def item_scraped(self, response: Response | None) -> None:
        """An item came out of the pipelines."""
        self._item_ended(response, "scraped")

    def item_dropped(self, response: Response | None) -> None:
        """A pipeline dropped an item."""
        self._item_ended(response, "dropped")

    def item_error(self, response: Response | None) -> None:
        """A pipeline raised an error at an item."""
        self._item_ended(response, "failed")

    def end(self, response: Response, *, settled: bool) -> bool:
        """What :func:`settle` and :func:`release` do."""
        claim = self._claims.get(response.request) if response.request is not None else None
        if claim is None:
            return False
        if settled:
            return self._end_claim(claim, settled=True)
        if claim.is_released or claim.decision.verdict not in (Verdict.NEW, Verdict.CHANGED, Verdict.UNCHANGED):
            return False
        claim.is_open, claim.is_released = False, True
        return self._tell_index(claim.decision, settled=False)

    def _item_ended(self, response: Response | None, how: str) -> None:
        handling = self._handlings.get(response) if isinstance(response, Response) else None
        if handling is None or response is None:
            return
        handling.pending -= 1
        handling.outcome = replace(handling.outcome, **{how: getattr(handling.outcome, how) + 1})
        self._look_at(response, handling)

    def _callback_ended(self, response: Response, *, well: bool) -> None:
        handling = self._handlings.get(response)
        if handling is not None and not handling.ended:
            handling.ended = True
            handling.outcome = replace(handling.outcome, callback=well)
            self._look_at(response, handling)

    def _look_at(self, response: Response, handling: _Handling) -> None:
        """Something has ended: see whether the claim has, and whether the handling has."""
        over = handling.ended and not handling.pending
        fate = _fate(self._mode, handling.outcome, over=over)
        if fate is not None:
            self._end_claim(handling.claim, settled=fate)
        if not over:
            return
        del self._handlings[response]
        self.crawler.stats.inc_value(f"dedup/handled/{'well' if handling.outcome.well else 'badly'}")
        self.crawler.signals.send_catch_log(
            page_handled, outcome=handling.outcome, response=response, spider=self.crawler.spider
        )

    def _end_claim(self, claim: _Claim, *, settled: bool) -> bool:
        """End a claim that is open; what did not claim its place has none."""
        if not claim.is_open or not claim.decision.claim:
            return False
        claim.is_open, claim.is_released = False, not settled
        return self._tell_index(claim.decision, settled=settled)

    def _tell_index(self, decision: Decision, *, settled: bool) -> bool:
        filtering = self.crawler.get_downloader_middleware(DedupMiddleware)
        if filtering is None:
            return False
        try:
            filtering.end_claim(decision, settled=settled)
        except DedupError as error:
            logger.warning("%s counts as not handled: %s", decision.url, error, extra={"spider": self.crawler.spider})
            return False
        if decision.claim:
            self.crawler.stats.inc_value(f"dedup/handled/{'settled' if settled else 'released'}")
        return True
