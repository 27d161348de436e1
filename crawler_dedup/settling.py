"""The spider middleware: settles or releases the claim of a page when its callback and its items have ended.

Only a spider middleware learns how a callback ended, and only the item signals say how its items ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from scrapy import Spider, signals
from scrapy.http import Request, Response

from crawler_dedup.crawl import gate
from crawler_dedup.crawl.claims import Claim
from crawler_dedup.crawl.configuration import FilterOff, config_of, is_preview, refusal_logged, require_companion
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.restorations import META_RESTORED
from crawler_dedup.crawl.signals import META_DECISION, page_handled
from crawler_dedup.decision import Decision
from crawler_dedup.middleware import DedupMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_META_RETRIES = "retry_times"
_MARKS = frozenset((_META_RETRIES, gate.META_REDIRECTIONS, gate.META_INHERITED, META_RESTORED))
"""A request with one of these keys in its ``meta`` may be a repetition, or has a mark to note or remove."""


def is_repetition(output: Request, response: Response, crawler: Crawler) -> bool:
    """Return whether *output*, which the callback of *response* yields, asks for the same page again; mark it if so.

    It was made by Scrapy's ``get_retry_request``; or it has ``dont_filter`` and asks for the page's address or for the one
    that redirected to it. Without ``dont_filter`` it is a link of the page to itself, which the scheduler filters out.
    """
    page = response.request
    if page is None:
        return False
    asks_again = _retries(output) > _retries(page) or (
        output.dont_filter and gate.fingerprint_of(output, crawler) in _keys(page, crawler)
    )
    if asks_again:
        output.meta[gate.META_REPEATED] = gate.fingerprint_of(output, crawler)
    return asks_again


def was_repeated(response: Response, crawler: Crawler) -> bool:
    """Return whether *response* answers a request that :func:`is_repetition` has marked."""
    page = response.request
    if page is None or gate.META_REPEATED not in page.meta:
        return False
    # Requests whose meta is a copy of the page's have another address.
    return page.meta[gate.META_REPEATED] in _keys(page, crawler)


def _keys(page: Request, crawler: Crawler) -> set[str]:
    """Return the fingerprints of *page* and of the address that redirected to it, if one did."""
    first = gate.first_address(page)
    requests = (page, page.replace(url=first)) if first else (page,)
    return {gate.fingerprint_of(request, crawler) for request in requests}


def _retries(request: Request) -> int:
    times = request.meta.get(_META_RETRIES)
    return times if isinstance(times, int) else 0


@dataclass(frozen=True)
class Outcome:
    """The outcome of the handling of one page.

    Attributes:
        callback: whether the callback ran to its end without an unhandled exception.
        scraped: items that came out of the pipelines.
        dropped: items that a pipeline dropped.
        failed: items at which a pipeline raised an error.
        asked_again: whether the callback asked for the page again, or the page answers such a request.
    """

    callback: bool = True
    scraped: int = 0
    dropped: int = 0
    failed: int = 0
    asked_again: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether the callback ended well, and one of its items came out of the pipelines.

        A callback that yields no item has ended well, too, unless the page was asked for again, as after a ban.
        """
        return self.callback and (self.scraped > 0 or not (self.dropped or self.failed or self.asked_again))


def _is_settled(mode: str, outcome: Outcome, *, ended: bool) -> bool | None:
    """Return whether a page is settled (``True``) or released (``False``); ``None`` while this is open."""
    if mode == "manual":
        return None
    if mode == "callback":
        # A page whose items were all dropped is stored nowhere: if it represented others, its content would be lost.
        return outcome.succeeded and not outcome.failed if ended else None
    if outcome.scraped:
        return True
    return outcome.succeeded if ended else None


@dataclass
class _Handling:
    """The handling of one page.

    Attributes:
        discards_items: whether the items of the page are discarded, because it is an unwanted page whose links are followed.
        open_outputs: outputs of the callback, or of a middleware in its place, that are being read.
        pending: items that have not come out of the pipelines.
    """

    claim: Claim
    monitor: Monitor
    discards_items: bool
    outcome: Outcome = Outcome()
    open_outputs: int = 0
    pending: int = 0
    callback_ended: bool = False


class SettlingMiddleware:
    """Watches each page that has a decision, from its callback to the end of its last item.

    Its order is 10, the outermost: everything that it sees goes to the engine.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._mode = config_of(crawler).settle
        self._handlings: WeakKeyDictionary[Response, _Handling] = WeakKeyDictionary()

    @classmethod
    @refusal_logged()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect the signals of items.

        Raises:
            ConfigError: the downloader middleware is not installed.
            FilterOff: no page is claimed, because a Scrapy command only shows pages.
        """
        if is_preview(crawler):
            raise FilterOff
        middleware = cls(crawler)
        require_companion(crawler.settings, "DOWNLOADER_MIDDLEWARES", "crawler_dedup.middleware.DedupMiddleware")
        crawler.signals.connect(middleware.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(middleware.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(middleware.item_error, signal=signals.item_error)
        return middleware

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:  # noqa: ARG002
        """Begin to watch a page that has a decision, and whose callback is called next."""
        decision = response.meta.get(META_DECISION)
        if not isinstance(decision, Decision) or response.request is None:
            return
        filtering = self.crawler.get_downloader_middleware(DedupMiddleware)
        if filtering is not None:
            session = filtering.session
            claim = session.claims.begin(response.request, decision)
            self._handlings[response] = _Handling(claim, session.monitor, response.request in session.followed)

    async def process_spider_output_async(
        self,
        response: Response,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002
    ) -> AsyncIterator[Any]:
        """Count the items that a callback yields, and note that it ended well. Discard the items of an unwanted page."""
        handling = self._begin_output(response)
        async for output in result:
            if self._count_output(output, response, handling):
                yield output
        self._end_output(response, handling)

    def process_spider_output(
        self,
        response: Response,
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002
    ) -> Iterable[Any]:
        """Do the same for a callback that is not asynchronous, for which Scrapy before 2.16 calls this method.

        With an asynchronous method alone, these versions lose the output of a middleware that handles an exception of the
        callback.
        """
        handling = self._begin_output(response)
        for output in result:
            if self._count_output(output, response, handling):
                yield output
        self._end_output(response, handling)

    def _count_output(self, output: Any, response: Response, handling: _Handling | None) -> bool:
        """Count an *output* of a callback, and return whether to pass it on to the engine."""
        if isinstance(output, Request):
            if output.dont_filter or not _MARKS.isdisjoint(output.meta):  # not so for nearly all links
                gate.mark_inherited_redirections(output)
                if handling is not None and is_repetition(output, response, self.crawler):
                    handling.outcome = replace(handling.outcome, asked_again=True)
                else:
                    output.meta.pop(META_RESTORED, None)  # ``meta=response.meta`` has copied it from the parent page
        elif output is not None and handling is not None:
            if handling.discards_items:
                handling.monitor.count("items_discarded")
                return False
            handling.pending += 1
        return True

    def _begin_output(self, response: Response) -> _Handling | None:
        handling = self._handlings.get(response)
        if handling is not None:
            handling.open_outputs += 1
        return handling

    def _end_output(self, response: Response, handling: _Handling | None) -> None:
        if handling is None:
            return
        handling.open_outputs -= 1
        # A middleware's output for an exception of the callback is another output, which begins at once.
        asyncio.get_running_loop().call_soon(self._output_ended, response, handling)

    def _output_ended(self, response: Response, handling: _Handling) -> None:
        if not handling.open_outputs:
            self._callback_ended(response, succeeded=True)

    def process_spider_exception(self, response: Response, exception: Exception, spider: Spider | None = None) -> None:  # noqa: ARG002
        """Note that a callback has failed: this middleware is the outermost, and no other has handled *exception*."""
        self._callback_ended(response, succeeded=False)

    def item_scraped(self, response: Response | None) -> None:
        """Count an item that came out of the pipelines."""
        self._item_ended(response, "scraped")

    def item_dropped(self, response: Response | None) -> None:
        """Count an item that a pipeline dropped."""
        self._item_ended(response, "dropped")

    def item_error(self, response: Response | None) -> None:
        """Count an item at which a pipeline raised an error."""
        self._item_ended(response, "failed")

    def _item_ended(self, response: Response | None, counter: str) -> None:
        handling = self._handlings.get(response) if isinstance(response, Response) else None
        if handling is None or response is None:
            return
        handling.pending -= 1
        handling.outcome = replace(handling.outcome, **{counter: getattr(handling.outcome, counter) + 1})
        self._update(response, handling)

    def _callback_ended(self, response: Response, *, succeeded: bool) -> None:
        handling = self._handlings.get(response)
        if handling is not None and not handling.callback_ended:
            handling.callback_ended = True
            asked_again = handling.outcome.asked_again or was_repeated(response, self.crawler)
            handling.outcome = replace(handling.outcome, callback=succeeded, asked_again=asked_again)
            self._update(response, handling)

    def _update(self, response: Response, handling: _Handling) -> None:
        """End the claim as soon as the outcome so far decides about it, and the handling after its last item."""
        ended = handling.callback_ended and not handling.pending
        settled = _is_settled(self._mode, handling.outcome, ended=ended)
        if settled is not None:
            handling.claim.end(settled=settled)
        if not ended:
            return
        del self._handlings[response]
        handling.monitor.count(f"handled/{'well' if handling.outcome.succeeded else 'badly'}")
        self.crawler.signals.send_catch_log(
            page_handled, outcome=handling.outcome, response=response, spider=self.crawler.spider
        )
