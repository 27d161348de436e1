"""What the filter tells of itself while a crawl runs: statistics, log lines, the journal."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.journal import Event, Journal, entry_of
from crawler_dedup.seldom import Seldom
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.watchdog import Swallowed

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
    """Statistics, log lines and journal of one crawl. Belongs to its event loop."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seldom = Seldom()
        self._journal: Journal | None = None
        self._run = 0

    def open_journal(self, directory: Path, config: Config, run: int) -> None:
        """From here on decisions go into the journal, if there is to be one."""
        if config.journal:
            began = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H-%M-%S")
            self._run = run
            self._journal = Journal(
                directory / (config.journal % {"time": began, "name": self._spider}), config.journal_bytes
            )

    def close_journal(self) -> None:
        """Write what waits. Takes a few seconds at most."""
        if self._journal is not None:
            self._journal.close()

    @property
    def _spider(self) -> str:
        return self._crawler.spider.name if self._crawler.spider else ""

    def _record(self, event: Event, decision: Decision, page: SignedPage | None) -> None:
        if self._journal is not None:
            self._journal.write(entry_of(event, decision, page, run=self._run, spider=self._spider))

    def decision(self, decision: Decision, page: SignedPage | None, *, drops: bool) -> None:
        if drops:
            self._record("drop", decision, page)
        elif decision.verdict is Verdict.DUPLICATE:
            self._record("mark", decision, page)
        elif decision.verdict is Verdict.UNCHANGED:
            self._record("unchanged", decision, page)
        elif decision.verdict is Verdict.UNCHECKED:
            self._record("unchecked", decision, page)
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

    def dropped(self, decision: Decision, page: SignedPage) -> None:
        self.count("bytes_dropped", page.size)
        self.count("links_dropped", page.link_count)
        self.log(logging.DEBUG, "Dropped %s", decision)

    def swallowed(self, decision: Decision, swallowed: Swallowed, config: Config) -> None:
        """The page of which *decision* is a duplicate stands for suspiciously many."""
        self._record("watchdog", decision, None)
        self.count("watchdog")
        self.log(
            logging.WARNING,
            "%s stands for more than %d pages of one site%s. Is it an error page or a form? Some of them: %s",
            decision.duplicate_of,
            config.max_duplicates,
            "; further ones pass" if config.pass_beyond_max_duplicates else "",
            ", ".join(swallowed.examples),
        )

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
