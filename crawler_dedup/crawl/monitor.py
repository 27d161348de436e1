"""Reports of the filter while a crawl runs: statistics, log lines, the journal."""

from __future__ import annotations

import asyncio
import logging
import shlex
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawler_dedup.config import Config
from crawler_dedup.crawl.counting import DuplicateCounts
from crawler_dedup.crawl.formcounts import FormCounts, FormUse
from crawler_dedup.crawl.gate import JOURNAL_REASONS, SKIP_REASONS, Question, find_cause
from crawler_dedup.crawl.requests import describe_request
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.journal.entry import Event, entry_of, form_of, index_emptied, run_started
from crawler_dedup.journal.paths import journal_path
from crawler_dedup.journal.writer import JournalWriter
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.logs import LogThrottle, logger_without_credentials
from crawler_dedup.worker.messages import Checked, LogLine, Ready

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

logger = logger_without_credentials("crawler_dedup.middleware")


_COUNTS = ("checked", "kept", "dropped", "marked", "unchanged", "changed", "unchecked")
_STATISTIC = {
    Verdict.NEW: "kept",
    Verdict.UNCHANGED: "unchanged",
    Verdict.CHANGED: "changed",
    Verdict.UNCHECKED: "unchecked",
}

# For each verdict: the event of a page that passes, and of one that is dropped.
_EVENTS: dict[Verdict, tuple[Event, Event]] = {
    Verdict.DUPLICATE: ("mark", "drop"),
    Verdict.UNCHANGED: ("unchanged", "unchanged_dropped"),
    Verdict.UNCHECKED: ("unchecked", "unchecked"),
}


class Monitor:
    """Statistics, log lines and journal of one crawl. Belongs to its event loop. Made before the index is opened.

    Attributes:
        waiting: pages that wait for the answer of the index, or for the end of the claim of a similar page.
        settled: pages whose claims were settled.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._config = config
        self._throttle = LogThrottle()
        self._journal: JournalWriter | None = None
        self._duplicates = DuplicateCounts()
        self._shown_hosts: set[str] = set()
        self._forms = FormCounts()
        self._reported_forms: list[tuple[FormUse, Decision, SignedPage]] = []
        self._last_summary = time.monotonic(), 0
        self._made = datetime.now(UTC)
        self._warned: set[str] = set()
        self._signed = 0
        self._signing_waits = self._longest_signing_wait = 0.0
        self.waiting = 0
        self.settled = 0

    def open(self, journal_directory: Path | None, index: Ready, run: int) -> None:
        """Log which index and scheme are used, and open the journal.

        Args:
            journal_directory: the directory that contains a relative path of the journal; ``None``: none does.
            index: the open index.
            run: number of the run.
        """
        processes = self._config.processes
        self.log(
            logging.INFO,
            "Near-duplicate filter: index %s holds %s; run %08x, scheme %s, tokenizer %s, scope %s, action %s,"
            " signatures computed %s",
            index.name,
            "an unknown number of pages" if index.pages is None else f"{index.pages} pages",
            run,
            index.scheme,
            index.tokenizer,
            self._config.scope,
            self._config.action,
            f"in {processes} worker{'s' * (processes > 1)}" if processes else "on the event loop",
        )
        self._run = run
        began = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
        journal = journal_path(self._config.journal, journal_directory, began, self._spider)
        if journal is not None:
            self._journal = JournalWriter(journal)
            if index.is_emptied:
                # Other runs may have used the index since then.
                self._journal.write(index_emptied(self._run, self._spider, self._made))
            self._journal.write(run_started(self._run, self._spider, is_dry=self._config.is_dry))

    async def close_journal(self) -> None:
        """Write the forms and the waiting lines, in a few seconds at most."""
        if self._journal is None:
            return
        for form, decision, page in self._reported_forms:  # only now are their paths and numbers final
            entry = form_of(form.path, form.count, decision, page, run=self._run, spider=self._spider)
            self._journal.write(entry)
        await asyncio.to_thread(self._journal.close)

    @property
    def _spider(self) -> str:
        return self._crawler.spider.name if self._crawler.spider else ""

    def _record(
        self, event: Event, decision: Decision, page: SignedPage | None, request: Request | None = None
    ) -> None:
        if self._journal is not None:
            entry = entry_of(
                event,
                decision,
                page,
                run=self._run,
                spider=self._spider,
                request=describe_request(request, self._crawler.spider) if request and event == "drop" else None,
            )
            self._journal.write(entry)

    def report_skipped(self, reason: str, response: Response) -> None:
        """Report that *response* was not checked, for a *reason* of the gate."""
        self.count(f"skipped/{reason}")
        if reason in JOURNAL_REASONS:
            decision = Decision(Verdict.UNCHECKED, response.url, "", "", reason=SKIP_REASONS[reason])
            self._record("skipped", decision, None)

    def report_decision(
        self,
        decision: Decision,
        question: Question | None,
        request: Request,
        *,
        drops: bool,
        follows: bool,
        repeats: bool,
    ) -> None:
        """Report a decision about the response to *request*.

        Args:
            question: what the index was asked; ``None``: an error has prevented that.
            drops: whether the page is dropped because of it.
            follows: whether the links of a page that is dropped are followed.
            repeats: whether this crawl has handled the page before.
        """
        page = question.checked.page if question and question.checked else None
        is_unchecked = decision.verdict is Verdict.UNCHECKED
        self.count("checked")
        if decision.reason:
            self.count(f"unchecked/{decision.reason.replace(' ', '_')}" if is_unchecked else "overrides")
        if decision.reason not in ("", "error"):
            what = "passed unchecked" if is_unchecked else "passed"
            why = f"{decision.reason} {decision.duplicate_of}".rstrip()
            kind = decision.reason if is_unchecked else "override"
            self.log_throttled(kind, logging.INFO, "%s %s: %s", decision.url, what, why)
        if question and question.checked:
            self._signed += 1
            self._signing_waits += question.waited
            self._longest_signing_wait = max(self._longest_signing_wait, question.waited)
            if decision.verdict is Verdict.NEW or question.checked.page.unsigned:
                self._count_forms(decision, question.checked)
        if decision.verdict is Verdict.DUPLICATE:
            if decision.match and decision.match.distance is not None:
                self.count(f"distance/{decision.match.distance}")
            self.count(outcome := "dropped" if drops else "marked")
            self._duplicates.add_to_host(decision.url, outcome)
        else:
            self.count(_STATISTIC[decision.verdict])
            if drops:
                self.count("unchanged_dropped")
        if drops and page is not None:
            self.count("bytes_dropped", page.size)
            self.count("links_followed" if follows else "links_dropped", page.link_count)
            self.log(logging.DEBUG, "Dropped %s", decision)
            is_start = request.meta.get("is_start_request") and not request.meta.get("depth")
            if is_start and page.link_count and not (follows or repeats):
                self._warn_once(
                    "The start page %s was dropped, and its links are not followed: %s. To let it pass, give its request"
                    ' meta={"dedup_skip": True}. To drop it but follow its links: meta={"dedup_action": "follow"}, or'
                    ' DEDUP_ACTION = "follow" for all pages',
                    decision.url,
                    decision,
                )
        if decision.verdict in _EVENTS:
            self._record(_EVENTS[decision.verdict][drops], decision, page, request)

    def report_claim_end(self, decision: Decision, *, settled: bool) -> None:
        """Report that the page of *decision*, which had passed, was settled or released."""
        if settled:
            self.settled += 1
        else:
            self._record("released", decision, None)
        if decision.claim:
            self.count(f"handled/{'settled' if settled else 'released'}")

    def watch_use(self, decision: Decision) -> None:
        """Count a duplicate for its kept page; warn if that represents suspiciously many pages."""
        if decision.verdict is Verdict.DUPLICATE and (page := self._duplicates.add(decision)):
            self._record("watchdog", decision, None)
            self.count("watchdog")
            self.log(
                logging.WARNING,
                "%d pages of one site, such as %s, are duplicates of %s. If that is an error page or an empty form, "
                "`crawler-dedup forget --url %s` removes it, and lists the pages to crawl again",
                page.count,
                ", ".join(page.examples),
                decision.duplicate_of,
                shlex.quote(decision.duplicate_of),
            )

    def _count_forms(self, decision: Decision, checked: Checked) -> None:
        """Count the forms of a page that passes; warn if many pages have one of them."""
        form = self._forms.add(checked.page.url, checked.forms)
        if form is None:
            return
        self._reported_forms.append((form, decision, checked.page))
        self.count("forms")
        self.log(
            logging.WARNING,
            "%d pages below %s differ only in numbers, dates or parts of their own address. All of them pass."
            " Is this a calendar that never ends, or a form or an error page that answers every address? Examples: %s%s",
            form.count,
            form.path,
            ", ".join(form.examples),
            f'. To stop following them: LinkExtractor(deny=[r"{form.pattern}"]), which matches no other recent page'
            if form.pattern
            else "",
        )

    def report_unstored_pages(self, failures: Sequence[str], pages: int) -> None:
        """Report that some feeds failed, each with its reason. *pages*: how many pages may be missing in them."""
        self.count("not_stored", pages)
        self.log(
            logging.ERROR,
            "Not all feeds were stored: %s. Up to %d pages may be missing from them. The index does not count these as kept"
            " any more: remove the cause, and the next crawl on this index stores them",
            "; ".join(failures),
            pages,
        )

    def count(self, name: str, by: int = 1) -> None:
        self._crawler.stats.inc_value(f"dedup/{name}", by)

    def log(self, level: int, message: str, *args: object, exc_info: Any = None) -> None:
        logger.log(level, message, *args, exc_info=exc_info, extra={"spider": self._crawler.spider})

    def _warn_once(self, message: str, *args: object) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self.log(logging.WARNING, message, *args)

    def warn(self, message: str, *args: object) -> None:
        """Log a warning, or a line at DEBUG if the same was logged within the last minute."""
        self.log_throttled(message, logging.WARNING, message, *args)

    def log_throttled(self, kind: str, level: int, message: str, *args: object, exc_info: Any = None) -> None:
        """Log a line of *kind* at *level* if none was logged for a minute, otherwise at DEBUG."""
        self._throttle.log(self.log, kind, level, message, *args, exc_info=exc_info)

    def log_line(self, line: LogLine) -> None:
        """Log a line of a worker, as from its logger."""
        logging.getLogger(line.logger).log(line.level, "%s", line.text, extra={"spider": self._crawler.spider})

    def log_summary(self, size: str) -> None:
        """Log the counts and the *size* of the index, and bring the statistics by host up to date."""
        self._show_hosts()
        counts = {name: self._crawler.stats.get_value(f"dedup/{name}", 0) for name in _COUNTS}
        checked = counts["checked"]
        then, before = self._last_summary
        self._last_summary = now, _ = time.monotonic(), checked
        pace = 60 * (checked - before) / max(0.001, now - then)
        released = self._crawler.stats.get_value("dedup/handled/released", 0)
        kept = max(0, counts["kept"] - released)
        parts = [f"pages {checked} (at {pace:.0f} pages/min), kept {kept}"]
        usual = "marked" if self._config.is_dry else "dropped"
        parts += [
            f"duplicates {name} {counts[name]} ({100 * counts[name] / max(1, checked):.1f} %)"
            for name in ("dropped", "marked")
            if counts[name] or name == usual
        ]
        dropped = self._crawler.stats.get_value("dedup/unchanged_dropped", 0)
        parts.append(f"unchanged {counts['unchanged']}" + f" (of which {dropped} dropped)" * bool(dropped))
        parts += [f"changed {counts['changed']}", f"unchecked {counts['unchecked']}"]
        if released:
            parts.append(f"not handled to the end {released}")
        self.log(
            logging.INFO,
            "Near-duplicate filter: %s; %s; pages waited for a worker %.2f s on average, %.2f s at most;"
            " pages in progress: %d",
            ", ".join(parts),
            size,
            self._signing_waits / max(1, self._signed),
            self._longest_signing_wait,
            self.waiting,
        )
        skipped = {reason: self._crawler.stats.get_value(f"dedup/skipped/{reason}", 0) for reason in SKIP_REASONS}
        if warning := find_cause(checked, skipped):
            self._warn_once("%s", warning)

    def _show_hosts(self) -> None:
        """Write the statistics of the hosts with most duplicates, and remove those of other hosts."""
        stats = self._crawler.stats
        shown = {f"dedup/{name}": count for name, count in self._duplicates.by_host().items()}
        if outdated := self._shown_hosts - shown.keys():
            stats.set_stats({name: value for name, value in stats.get_stats().items() if name not in outdated})
        for name, count in shown.items():
            stats.set_value(name, count)
        self._shown_hosts = set(shown)
