"""The filter of a crawl with a log of its decisions, from which the order of several processes on one index is known."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.http import Request, Response

from crawler_dedup import Config, Decision, SignedPage
from crawler_dedup.crawl.signals import META_DECISION
from crawler_dedup.index.decider import Decider
from crawler_dedup.middleware import DedupMiddleware

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

SETTINGS = {
    "ADDONS": "{}",
    "DOWNLOADER_MIDDLEWARES": '{"benchmarks.decisionlog.LoggingMiddleware": 40}',
    "SPIDER_MIDDLEWARES": '{"crawler_dedup.settling.SettlingMiddleware": 10}',
}
"""Scrapy settings, as on its command line, that replace the filter by this one. ``DECISION_LOG`` names the file."""


class LoggedDecision(NamedTuple):
    """A final decision of a crawl.

    Attributes:
        time: when the index decided, in nanoseconds since 1970; the time is taken in the write transaction, so that times
            of several processes on one index are in the order of their decisions.
        body: the page.
        encoding: its encoding, as Scrapy knows it.
        drops: whether the page was dropped.
    """

    time: int
    body: bytes
    encoding: str
    decision: Decision
    drops: bool


def read_log(file: Path) -> Iterator[LoggedDecision]:
    """Yield the decisions of one crawl."""
    with file.open("rb") as log:
        while log.peek(1):
            yield pickle.load(log)


class LoggingMiddleware(DedupMiddleware):
    """The same middleware with the log. It notes decisions of this process only."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        super().__init__(crawler, config)
        self._file = Path(crawler.settings["DECISION_LOG"])
        self._times: dict[str, int] = {}
        decide = Decider.decide

        def decide_timed(decider: Decider, page: SignedPage, alias: str = "") -> Decision:
            self._times[page.key] = time.time_ns()
            return decide(decider, page, alias)

        Decider.decide = decide_timed  # type: ignore[assignment, method-assign]

    async def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:
        """Pass *response*, or raise, as the filter does, after the decision is logged."""
        drops = True
        try:
            passed = await super().process_response(request, response, spider)
            drops = False
        finally:
            decision: Decision | None = request.meta.get(META_DECISION)
            if decision is not None:
                self._log(decision, response, drops=drops)
        return passed

    def _log(self, decision: Decision, response: Any, *, drops: bool) -> None:
        moment = self._times.get(decision.key) or time.time_ns()  # a page that could not be signed has no time
        with self._file.open("ab") as log:
            pickle.dump(LoggedDecision(moment, response.body, response.encoding, decision, drops), log)
