"""What the filter tells of itself while a crawl runs: statistics and log lines."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.seldom import Seldom

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger("crawler_dedup.middleware")

_STATISTIC = {
    Verdict.NEW: "kept",
    Verdict.UNCHANGED: "unchanged",
    Verdict.CHANGED: "changed",
    Verdict.UNCHECKED: "unchecked",
}


class Reports:
    """Statistics and log lines of one crawl. Belongs to its event loop."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seldom = Seldom()

    def decision(self, decision: Decision, *, drops: bool) -> None:
        self.count("checked")
        if decision.verdict is Verdict.DUPLICATE:
            assert decision.match is not None
            if decision.match.distance is not None:
                self.count(f"distance/{decision.match.distance}")
            self.count("dropped" if drops else "marked")
        else:
            self.count(_STATISTIC[decision.verdict])
            if drops:
                self.count("unchanged_dropped")
        if decision.reason:
            self.count(f"unchecked/{decision.reason.replace(' ', '_')}")
        if decision.reason not in ("", "error"):
            self.log_seldom(decision.reason, logging.INFO, "%s", decision)

    def count(self, name: str, by: int = 1) -> None:
        self._crawler.stats.inc_value(f"dedup/{name}", by)

    def log(self, level: int, message: str, *args: object, exc_info: Any = None) -> None:
        logger.log(level, message, *args, exc_info=exc_info, extra={"spider": self._crawler.spider})

    def log_seldom(self, kind: str, level: int, message: str, *args: object, exc_info: Any = None) -> None:
        """Log a line of *kind*, if none was for a minute; else at DEBUG."""
        held_back = self._seldom.due(kind)
        if held_back is None:
            self.log(logging.DEBUG, message, *args)
        elif held_back:
            self.log(level, f"{message} (and %d more since the last such line)", *args, held_back, exc_info=exc_info)
        else:
            self.log(level, message, *args, exc_info=exc_info)

    def log_summary(self) -> None:
        counts = {
            name: self._crawler.stats.get_value(f"dedup/{name}", 0)
            for name in ("checked", "kept", "dropped", "marked", "unchanged", "changed", "unchecked")
        }
        hits = counts["dropped"] + counts["marked"]
        self.log(
            logging.INFO,
            "Near-duplicate filter: %s; %.1f %% are duplicates",
            ", ".join(f"{name} {count}" for name, count in counts.items() if count or name in ("checked", "dropped")),
            100 * hits / max(1, counts["checked"]),
        )
