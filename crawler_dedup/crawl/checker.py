"""From a response to its final decision: gate, signature, answer of the index, and how the crawl changes it.

Every error in these steps lets the page pass: the filter may miss a duplicate, it never loses a page.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from scrapy.http import Request, Response

from crawler_dedup.config import Config
from crawler_dedup.crawl.gate import Gate
from crawler_dedup.crawl.restorations import META_RESTORED
from crawler_dedup.crawl.session import Session
from crawler_dedup.crawl.supervision import NotSigned
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.worker.messages import SigningError

_DROPPED_TOO_OFTEN = "requested again after each drop"


@dataclass(frozen=True)
class CheckedResponse:
    """A response that was checked.

    Attributes:
        decision: the decision.
        drops: whether the page is dropped because of the decision.
        follows: whether a page that is dropped reaches its callback, so that its links are followed.
    """

    decision: Decision
    drops: bool
    follows: bool


class Checker:
    """Checks the responses of one crawl. Decisions of the index are changed here only."""

    def __init__(self, session: Session, gate: Gate, config: Config) -> None:
        self._session = session
        self._monitor = session.monitor
        self._gate = gate
        self._config = config

    async def check(self, request: Request, response: Response) -> CheckedResponse | None:
        """Decide about *response*, and report it; return ``None`` if it is not checked. Errors let it pass."""
        self._session.followed.discard(request)  # the callback may have yielded the same object again
        question = visit = None
        try:
            if reason := self._gate.skip_reason(request, response):
                self._monitor.report_skipped(reason, response)
                return None
            question = self._gate.ask_about(request, response)
            if META_RESTORED in request.meta:
                await self._session.restorations.keep_redirected(request, response)
            elif not question.asks_again:
                visit = await self._session.repetitions.begin(question)
            self._monitor.waiting += 1
            try:
                decision = await self._session.claims.decide(question)
            finally:
                self._monitor.waiting -= 1
            if self._session.is_unusable:
                self._session.report_recovery()
        except Exception as error:
            decision = self._failed(response, error)
        # A repeated visit adds nothing if a settled record represents the same content.
        is_settled = decision.verdict is Verdict.UNCHANGED and not decision.claim
        repeats = visit is not None and visit.repeats and is_settled
        action = question.action if question else self._config.action
        drops = action != "mark" and (repeats or is_unwanted(decision, response, self._config))
        self._monitor.watch_use(decision)
        if question and drops and self._session.repetitions.is_dropped_too_often(question, decision.scope):
            drops, decision = False, replace(decision, verdict=Verdict.UNCHECKED, reason=_DROPPED_TOO_OFTEN)
        if visit is not None:
            self._session.repetitions.record_decision(visit, decision, drops=drops)
        follows = drops and action == "follow"
        self._monitor.report_decision(decision, question, request, drops=drops, follows=follows, repeats=repeats)
        return CheckedResponse(decision, drops, follows)

    def _failed(self, response: Response, error: Exception) -> Decision:
        """Report *error*; the page passes unchecked."""
        reason = str(error) if isinstance(error, NotSigned) else "error"
        decision = Decision(Verdict.UNCHECKED, response.url, "", "", reason=reason)
        name = error.name if isinstance(error, SigningError) else type(error).__name__
        self._monitor.count(f"error/{name}")
        self._monitor.log_throttled(
            reason if isinstance(error, NotSigned) else name,  # for a reason, the decision is not logged again
            logging.WARNING,
            "<%d %s> passes unchecked: %s%s%s",
            response.status,
            decision.url,
            "" if isinstance(error, NotSigned) else f"{name}: ",
            error,
            f"\n{error.trace}" if isinstance(error, SigningError) else "",
            exc_info=None if isinstance(error, (DedupError, TimeoutError)) else error,
        )
        self._session.react_to(error)
        return decision


def is_unwanted(decision: Decision, response: Response, config: Config) -> bool:
    """Return whether the page of *decision* is dropped where duplicates are dropped."""
    if decision.verdict is Verdict.UNCHANGED and config.revisit == "drop":
        # A page whose address is requested again in the same run, or that a cache replays, passes.
        return decision.from_earlier_run and "cached" not in response.flags
    return decision.verdict is Verdict.DUPLICATE
