"""Show what a crawl would decide about the page of ``scrapy shell``, ``fetch``, ``view`` or ``parse``, without filing it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import finalize

from scrapy.http import Request, Response
from scrapy.utils.spider import DefaultSpider

from crawler_dedup.config import Config
from crawler_dedup.crawl.checker import CheckedResponse, is_unwanted
from crawler_dedup.crawl.configuration import data_directory
from crawler_dedup.crawl.gate import SKIP_REASONS, Gate
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.serveroutages import Outages
from crawler_dedup.crawl.workerprocess import discard_ahead
from crawler_dedup.crawl.workers import Workers
from crawler_dedup.decision import BEING_HANDLED, Decision, Verdict
from crawler_dedup.system.logs import logger_without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logger_without_credentials("crawler_dedup.middleware")

_INTERNAL_REQUESTS = ("inline", "no_callback")
"""Reasons why responses that Scrapy, a middleware or a callback has requested, such as ``robots.txt``, are not checked."""


class Preview:
    """Checks responses as a :class:`~crawler_dedup.crawl.checker.Checker` does, but records nothing, and lets all pass."""

    def __init__(self, crawler: Crawler, config: Config, gate: Gate) -> None:
        self._crawler = crawler
        self._config = config
        self._gate = gate
        self._monitor = Monitor(crawler, config)
        location = config.index or str(data_directory(config))
        outages = Outages(0, self._monitor, lambda: True)
        self._workers = Workers(location, config, self._monitor, outages, is_preview=True)
        discard_ahead()
        finalize(self, self._workers.kill)

    async def check(self, request: Request, response: Response) -> CheckedResponse | None:
        """Return and log what a crawl would decide now; return ``None`` if it would not check *response*."""
        decision = Decision(Verdict.UNCHECKED, response.url, "", "", reason="error")
        try:
            if reason := self._gate.skip_reason(request, response):
                if reason not in _INTERNAL_REQUESTS:
                    self._log(logging.INFO, "a crawl would not check %s: %s", response, SKIP_REASONS[reason])
                return None
            question = self._gate.ask_about(request, response)
            checked = await self._workers.ask(question.job, question.body)
            assert isinstance(checked.decision, Decision)  # a preview that fails has no answer
            decision = checked.decision
            self._report(decision, question.action if is_unwanted(decision, response, self._config) else "")
        except Exception as error:
            self._log(logging.WARNING, "no decision about %s: %s: %s", response, type(error).__name__, error)
        return CheckedResponse(decision, drops=False, follows=False)

    def _report(self, decision: Decision, action: str) -> None:
        """Log *decision*. *action*: the action for an unwanted page, or ``""``."""
        has_no_spider = self._config.scope == "spider" and isinstance(self._crawler.spider, DefaultSpider)
        self._log(
            logging.INFO,
            "%s: a crawl would %s. Nothing was recorded. The page was compared with pages of scope %r%s",
            decision,
            _outcome(decision, action),
            decision.scope,
            ", because no spider was named. --spider NAME compares with the pages of that spider"
            if has_no_spider
            else "",
        )

    def _log(self, level: int, message: str, *args: object) -> None:
        logger.log(level, f"Near-duplicate filter: {message}", *args, extra={"spider": self._crawler.spider})


def _outcome(decision: Decision, action: str) -> str:
    """Return in words what a crawl would do with the page of *decision*. *action*: ``""`` unless the page is unwanted."""
    if action == "drop":
        return "drop it"
    if action == "follow":
        return "discard its items and follow its links"
    if decision.verdict is Verdict.DUPLICATE:
        return "mark it"
    if decision.reason == BEING_HANDLED:
        return "wait until that page was handled"
    return "let it pass"
