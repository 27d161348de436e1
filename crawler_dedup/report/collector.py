"""Collect the contents of a report from an index and its journals, in bounded memory."""

from __future__ import annotations

from collections import Counter, deque

from crawler_dedup.counting import HeavyHitters
from crawler_dedup.errors import DedupError
from crawler_dedup.hamming import BITS
from crawler_dedup.index.index import Index
from crawler_dedup.index.records import Record
from crawler_dedup.journal.entry import Entry, Event
from crawler_dedup.journal.reader import Journals, Past
from crawler_dedup.report.data import (
    CrossHostDuplicates,
    DuplicateGroup,
    FormCase,
    IndexInfo,
    PageCounts,
    ReportData,
    RunSummary,
    Savings,
    WatchdogCase,
)
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.urls import host_of

MAX_HOSTS = 25
"""Largest number of hosts that are shown by name."""
MAX_ROWS = 20
"""Largest number of rows of every other table."""
MAX_CASES = 10
"""Largest number of watchdog cases that are shown."""
MAX_EXAMPLES = 3
"""Largest number of addresses that are shown of a group."""

JOURNAL_PASSES = 2
"""Number of times the journals are read."""
_WITHOUT_OUTCOME: tuple[Event, ...] = ("started", "dry_run", "emptied", "skipped", "released", "watchdog", "form")
_COUNTERS = 100_000  # up to this number of hosts, groups and so on, all are counted exactly
_FORMS = 1000
_BLOCK = 10_000
# The events whose pages count as savings, and whether the cost was saved ("drop") or could have been ("mark").
_SAVING: dict[Event, str] = {"drop": "drop", "unchanged_dropped": "drop", "mark": "mark"}


def collect(
    pages: Index, journals: Journals, run: str = "", advance: Advance = ignore_progress, read: Advance = ignore_progress
) -> ReportData:
    """Read *journals*, twice, and then the index.

    Args:
        run: the only run to report, 8 hexadecimal digits; ``""``: all runs.
        advance: called with the number of records that were read since the last call.
        read: called with numbers of bytes that were read: :data:`JOURNAL_PASSES` times those of the journals.

    Raises:
        DedupError: a journal cannot be read, or neither the journals nor the index contain *run*.
    """
    index = IndexInfo(pages.name, pages.header.spec, pages.header.libraries, pages.stored_bytes)
    collector = _Collector(index, run, journals.find_past(read))
    for entry in journals.entries(read):
        collector.add_entry(entry)
    collector.choose_groups()
    for block in pages.records(_BLOCK):
        collector.add_records(block)
        advance(len(block))
    if run and not collector.run_count:
        raise DedupError(f"Nothing is known of a run {run}: `crawler-dedup index stats` names those of the index.")
    return collector.data(journals)


class _Collector:
    """Counts journal entries, and then records of the index.

    Dry runs are counted apart from runs that drop pages: for these the pages that dry runs have kept represent nothing.

    Args:
        run: the only run to report; ``""``: all runs.
    """

    def __init__(self, index: IndexInfo, run: str, past: Past) -> None:
        self._index = index
        self._run = run
        self._emptied = past.emptied
        self._is_dry = run in past.dry_runs if run else past.only_dry and bool(past.dry_runs)
        self._apart = frozenset[str]() if run or past.only_dry else past.dry_runs
        self._entries = 0
        self._total = PageCounts()
        self._open_claims = 0
        self._saved = {"drop": Savings(), "mark": Savings()}
        self._hosts: HeavyHitters[str, PageCounts] = HeavyHitters(_COUNTERS, PageCounts)
        self._distances: Counter[int] = Counter()
        self._resemblances: Counter[int] = Counter()
        self._coverages: Counter[int] = Counter()
        self._rules: HeavyHitters[str, None] = HeavyHitters(_COUNTERS, lambda: None)
        self._reasons: HeavyHitters[str, None] = HeavyHitters(_COUNTERS, lambda: None)
        self._groups: HeavyHitters[tuple[str, str], DuplicateGroup] = HeavyHitters(_COUNTERS, DuplicateGroup)
        self._largest: dict[tuple[str, str], DuplicateGroup] = {}
        self._cross_host: HeavyHitters[tuple[str, str], CrossHostDuplicates] = HeavyHitters(
            _COUNTERS, CrossHostDuplicates
        )
        self._watchdog_cases: deque[WatchdogCase] = deque(maxlen=MAX_CASES)
        self._watchdog_count = 0
        self._forms: HeavyHitters[tuple[str, str, str], deque[FormCase]] = HeavyHitters(_FORMS, lambda: deque(maxlen=1))
        self._runs: HeavyHitters[str, RunSummary] = HeavyHitters(_COUNTERS, RunSummary)
        self._earlier_runs: HeavyHitters[str, RunSummary] = HeavyHitters(_COUNTERS, RunSummary)
        self._dry_runs: HeavyHitters[str, RunSummary] = HeavyHitters(_COUNTERS, RunSummary)

    @property
    def run_count(self) -> int:
        """Number of runs."""
        return len(self._runs)

    # The journal

    def add_entry(self, entry: Entry) -> None:
        """Count a journal entry."""
        self._entries += 1
        if entry.event == "forgotten":  # what is not in the index is not counted
            return
        if self._run and entry.run != self._run:
            return
        if entry.time < self._emptied:
            self._note_run(self._earlier_runs, entry)
            if not self._run:
                return
        if entry.run in self._apart:
            self._note_run(self._dry_runs, entry)
            return
        self._note_run(self._runs, entry)
        if entry.event == "watchdog":
            self._watchdog_cases.append(WatchdogCase(entry.time, entry.run, entry.url, entry.duplicate_of))
            self._watchdog_count += 1
        if entry.event == "form":
            case = FormCase(entry.time, entry.run, entry.url, entry.title, entry.count)
            self._forms.add((entry.run, entry.url, entry.title)).append(case)
        if entry.event in _WITHOUT_OUTCOME:
            return
        host = host_of(entry.url)
        outcome = self._outcome(entry)
        for pages in (self._total, self._hosts.add(host)):
            _count(pages, outcome)
        if entry.event == "unchecked":
            self._reasons.add(entry.reason)
        if action := _SAVING.get(entry.event):
            self._saved[action] = self._saved[action].plus(entry.bytes, entry.links)
        if outcome in ("dropped", "marked"):
            self._add_duplicate(entry, host)

    def _note_run(self, runs: HeavyHitters[str, RunSummary], entry: Entry) -> None:
        run = runs.add(entry.run)
        run.note(entry.seconds, entry.spider)
        if entry.event not in _WITHOUT_OUTCOME:
            _count(run.pages, self._outcome(entry))

    @staticmethod
    def _outcome(entry: Entry) -> str:
        """Return the attribute of :class:`PageCounts` that counts the page of *entry*."""
        if entry.event == "unchecked":
            return "unchecked"
        if entry.event in ("unchanged", "unchanged_dropped"):
            return "unchanged"
        return "dropped" if entry.event == "drop" else "marked"

    def _add_duplicate(self, entry: Entry, host: str) -> None:
        self._rules.add(entry.rule)
        if entry.distance is not None and 0 <= entry.distance <= BITS:  # a journal may be damaged
            self._distances[entry.distance] += 1
        for counts, share in ((self._resemblances, entry.resemblance), (self._coverages, entry.coverage)):
            if share is not None and 0 <= share <= 1:
                counts[int(share * 100)] += 1
        group = self._groups.add((entry.scope, entry.duplicate_of))
        group.size += 1
        if len(group.examples) < MAX_EXAMPLES and entry.url not in group.examples:
            group.examples.append(entry.url)
        if (kept_host := host_of(entry.duplicate_of)) != host:
            duplicates = self._cross_host.add((host, kept_host))
            duplicates.count += 1
            duplicates.example = duplicates.example or entry.url

    def choose_groups(self) -> None:
        """Choose the kept pages with most duplicates, to look for them in the index. Call it after the last entry."""
        self._largest = {kept: group for kept, size, group in self._groups.top(MAX_ROWS) if size > 1}

    # The index

    def add_records(self, records: list[Record]) -> None:
        """Count records of the index."""
        for record in records:
            page = record.page
            if group := self._largest.get((page.scope, page.url)):
                group.title, group.is_kept = page.title, True
            number = f"{record.run:08x}"
            if self._run and number != self._run:
                continue
            if number in self._apart:
                dry_run = self._dry_runs.add(number)
                dry_run.note(record.filed)
                dry_run.pages.kept += 1
                continue
            run = self._runs.add(number)
            run.note(record.filed)
            for pages in (self._total, run.pages, self._hosts.add(host_of(page.url))):
                pages.kept += 1
            self._open_claims += not record.settled

    # The end

    def data(self, journals: Journals) -> ReportData:
        """Return everything that was counted."""
        hosts = [(host, pages) for host, _, pages in self._hosts.top(MAX_HOSTS)]
        runs, earlier_runs, dry_runs = map(_in_order, (self._runs, self._earlier_runs, self._dry_runs))
        dated = [run for _, run in runs if run.first]
        return ReportData(
            index=self._index,
            run=self._run,
            is_dry=self._is_dry,
            total=self._total,
            open_claims=self._open_claims,
            dropped=self._saved["drop"],
            marked=self._saved["mark"],
            hosts=hosts,
            other_hosts=self._total - sum((pages for _, pages in hosts), PageCounts()),
            host_count=len(self._hosts),
            is_incomplete=any(counted.has_forgotten for counted in (self._hosts, self._groups, self._cross_host)),
            distances=self._distances,
            resemblances=self._resemblances,
            coverages=self._coverages,
            rules=_counts(self._rules),
            reasons=_counts(self._reasons),
            groups=[(url, group) for (_, url), group in self._largest.items()],
            group_count=len(self._groups),
            several_count=sum(group.size > 1 for group in self._groups.values()),
            host_pairs=self._host_pairs(),
            watchdog_cases=list(reversed(self._watchdog_cases)),
            watchdog_count=self._watchdog_count,
            forms=sorted((forms[-1] for forms in self._forms.values()), key=lambda form: -form.pages)[:MAX_CASES],
            runs=runs[:MAX_ROWS],
            run_count=len(runs),
            emptied=self._emptied if earlier_runs else "",
            earlier_runs=earlier_runs[:MAX_ROWS],
            earlier_run_count=len(earlier_runs),
            dry_runs=dry_runs[:MAX_ROWS],
            dry_run_count=len(dry_runs),
            span=(min((run.first for run in dated), default=0), max((run.last for run in dated), default=0)),
            files=journals.files,
            entries=self._entries,
            damaged=dict(journals.damaged),
        )

    def _host_pairs(self) -> list[list[CrossHostDuplicates]]:
        """Return the pairs of hosts with most duplicates between them, adding up both directions."""
        pairs: dict[tuple[str, str], list[CrossHostDuplicates]] = {}
        totals = Counter[tuple[str, str]]()
        for (host, kept_host), count, duplicates in self._cross_host.top(len(self._cross_host)):
            pages = self._hosts.get(host) or PageCounts()
            duplicates.host, duplicates.kept_host = host, kept_host
            duplicates.share = duplicates.count / max(1, pages.all_pages)
            pair = min(host, kept_host), max(host, kept_host)
            pairs.setdefault(pair, []).append(duplicates)
            totals[pair] += count
        largest = sorted(totals, key=lambda pair: (-totals[pair], pair))[:MAX_ROWS]
        return [sorted(pairs[pair], key=lambda duplicates: -duplicates.count) for pair in largest]


def _count(pages: PageCounts, outcome: str) -> None:
    setattr(pages, outcome, getattr(pages, outcome) + 1)


def _in_order(runs: HeavyHitters[str, RunSummary]) -> list[tuple[str, RunSummary]]:
    """Return the runs, the latest first."""
    counted = [(number, run) for number, _, run in runs.top(len(runs))]
    return sorted(counted, key=lambda run: (run[1].first, run[0]), reverse=True)


def _counts(hitters: HeavyHitters[str, None]) -> list[tuple[str, int]]:
    return [(name, count) for name, count, _ in hitters.top(MAX_ROWS)]
