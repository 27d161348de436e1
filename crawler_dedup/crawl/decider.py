"""From a response to its final decision: gate, signature, answer of the index, and how the crawl changes it.

Every error in these steps lets the page pass: the filter may miss a duplicate, it never loses a page.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Any

from scrapy.http import Request, Response

from crawler_dedup.config import Config
from crawler_dedup.crawl.background import signing_thread
from crawler_dedup.crawl.forms import MAX_BYTES, Forms
from crawler_dedup.crawl.gate import Gate, Identity, action_of
from crawler_dedup.crawl.session import Session
from crawler_dedup.crawl.text import remember, tree_of
from crawler_dedup.crawl.watchdog import Watchdog
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.loading import NotLoaded

_TOO_MANY_DUPLICATES = "too many duplicates"
_DROPPED_TOO_OFTEN = "asked for again and again"


@dataclass(frozen=True)
class CheckedResponse:
    """A response that was checked.

    Attributes:
        response: the response that goes on to the spider, if it is not dropped.
        page: the signed page; ``None`` if signing failed.
        decision: the decision.
        drops: whether the page is dropped because of the decision.
        follows: whether a page that is dropped reaches its callback, so that its links are followed.
    """

    response: Response
    page: SignedPage | None
    decision: Decision
    drops: bool
    follows: bool


class Decider:
    """Checks the responses of one crawl. Decisions of the index are changed here only."""

    def __init__(self, session: Session, gate: Gate, config: Config) -> None:
        self._session = session
        self._monitor = session.monitor
        self._gate = gate
        self._config = config
        self._watchdog = Watchdog(config.max_duplicates)
        self._forms = Forms()

    async def check(self, request: Request, response: Response) -> CheckedResponse | None:
        """Decide about *response*; return ``None`` if it is not checked. Errors let it pass."""
        action: str = self._config.action
        page = None
        try:
            self._gate.take_scheduled_mark(request)  # a middleware may have answered before ours saw the request
            reason = self._gate.skip_reason(request, response)
            if reason:
                self._monitor.report_skipped(reason, response)
                return None
            action = action_of(request, action)
            identity = self._gate.identity_of(request, response)
            page = await self._sign(response, identity)
            decision = await self._ask_index(page, identity.alias, is_dry=self._config.is_dry and action == "mark")
        except Exception as error:
            decision = self._failed(response, error)
            if isinstance(error, asyncio.TimeoutError) and page is None:
                # The thread may still read the tree: the spider, which may change it, gets a tree of its own.
                response = response.copy()
        decision = self._watch(decision)
        drops = action != "mark" and is_unwanted(decision, response, self._config)
        if drops and self._watchdog.dropped_too_often(decision):
            drops, decision = False, replace(decision, verdict=Verdict.UNCHECKED, reason=_DROPPED_TOO_OFTEN)
        if page is not None and decision.verdict is Verdict.NEW:
            self._watch_form(response, page, decision)
        return CheckedResponse(response, page, decision, drops, follows=drops and action == "follow")

    async def _sign(self, response: Response, identity: Identity) -> SignedPage:
        while True:
            try:
                return await self._sign_with_loaded(response, identity)
            except NotLoaded as missing:  # noqa: PERF203  (twice at most)
                await self._session.loading.wait_for(missing.resource)

    async def _sign_with_loaded(self, response: Response, identity: Identity) -> SignedPage:
        # A small page takes a few milliseconds, and is signed on the event loop.
        if len(response.body) <= self._session.deduplicator.quick_bytes:
            return self._sign_now(response, identity)
        return await asyncio.wait_for(signing_thread.run(self._sign_now, response, identity), self._config.timeout)

    def _sign_now(self, response: Any, identity: Identity) -> SignedPage:
        page, text = self._session.deduplicator.sign_with_text(
            response.url,
            response.body,
            tree_of(response, self._config),
            key=identity.key,
            scope=identity.scope,
            anchors=identity.anchors,
        )
        if text is not None and self._config.extractor == "trafilatura":
            remember(response, text)
        return page

    async def _ask_index(self, page: SignedPage, alias: str, *, is_dry: bool) -> Decision:
        with self._monitor.count_waiting():
            answer = await self._session.claims.decide(page, alias, is_dry=is_dry)
        self._session.note_answer()
        return replace(answer.decision, reason=answer.reason) if answer.reason else answer.decision

    def _failed(self, response: Response, error: Exception) -> Decision:
        """Report *error*; the page passes unchecked."""
        decision = Decision(Verdict.UNCHECKED, response.url, "", "", reason="error")
        name = type(error).__name__
        self._monitor.count(f"error/{name}")
        self._monitor.log_throttled(
            name,
            logging.WARNING,
            "<%d %s> passes unchecked: %s: %s",
            response.status,
            decision.url,
            name,
            (str(error) or "no answer within DEDUP_TIMEOUT") if isinstance(error, asyncio.TimeoutError) else error,
            exc_info=None if isinstance(error, (DedupError, asyncio.TimeoutError)) else error,
        )
        self._session.note_error(error)
        return decision

    def _watch_form(self, response: Any, page: SignedPage, decision: Decision) -> None:
        """Warn about kept pages that differ by nothing but facts. The decision stays as it is."""
        try:
            if len(response.body) > MAX_BYTES or not self._forms.should_read(page):
                return
            tree = tree_of(response, self._config)
            form = None if tree is None else self._forms.add(page.url, tree)
        except Exception as error:
            self._monitor.log_throttled(
                "form", logging.WARNING, "The form of %s could not be read: %s", page.url, error
            )
            return
        if form is not None:
            self._monitor.report_form(form, decision, page)

    def _watch(self, decision: Decision) -> Decision:
        """Warn about a kept page that stands for too many; further duplicates of it pass, if the settings say so."""
        usage = self._watchdog.count_duplicate(decision)
        if usage.is_beyond_limit and self._config.pass_beyond_max_duplicates:
            watched = replace(
                decision, verdict=Verdict.UNCHECKED, reason=_TOO_MANY_DUPLICATES, duplicate_of="", match=None
            )
        else:
            watched = decision
        if usage.warning is not None:
            self._monitor.report_overused_page(decision, usage.warning)
        return watched


def is_unwanted(decision: Decision, response: Response, config: Config) -> bool:
    """Return whether the page of *decision* is dropped where duplicates are dropped."""
    if decision.verdict is Verdict.UNCHANGED and config.revisit == "drop":
        # A page that is requested again in the same run, or that a cache replays, is no new visit.
        return decision.from_earlier_run and "cached" not in response.flags
    return not decision.passes
