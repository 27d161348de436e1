"""The contents of a report: plain data, independent of how they are collected and drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from crawler_dedup.inspection.journals import RunPeriod


@dataclass(frozen=True)
class PageCounts:
    """Numbers of pages by their outcome.

    Attributes:
        kept: pages that the index holds.
        dropped: duplicates that were dropped.
        marked: duplicates that passed, because the action was "mark".
        unchanged: pages that were fetched again unchanged, whether they were dropped then or passed.
        unchecked: pages that could not be judged.
    """

    kept: int = 0
    dropped: int = 0
    marked: int = 0
    unchanged: int = 0
    unchecked: int = 0

    @property
    def duplicates(self) -> int:
        """Duplicates, dropped or marked."""
        return self.dropped + self.marked

    @property
    def all_pages(self) -> int:
        """All pages, whatever their outcome."""
        return self.kept + self.duplicates + self.unchanged + self.unchecked

    @property
    def duplicate_share(self) -> float:
        """The share of duplicates among all pages."""
        return self.duplicates / self.all_pages if self.all_pages else 0.0


@dataclass
class RunSummary(RunPeriod):
    """The period of a run and its numbers of pages."""

    pages: PageCounts = field(default_factory=PageCounts)


@dataclass(frozen=True)
class DuplicateGroup:
    """The duplicates of a kept page.

    Attributes:
        size: number of duplicates.
        examples: addresses of some of them.
        title: the title of the kept page, as the index has it.
        is_kept: whether the index still has the kept page.
    """

    size: int
    examples: Sequence[str]
    title: str
    is_kept: bool


class CrossHostDuplicates(NamedTuple):
    """Duplicates on a host that are represented by pages of another host.

    Attributes:
        number: how many there are.
        share: their share of all pages of the host.
        example: the address of the first.
    """

    host: str
    kept_host: str
    number: int
    share: float
    example: str


class WatchdogCase(NamedTuple):
    """A kept page with suspiciously many duplicates: time, run, address of its latest duplicate, and its own address."""

    time: str
    run: str
    url: str
    duplicate_of: str


class FormCase(NamedTuple):
    """Kept pages of a run that have one form: time, run, what their addresses begin with, a title, number."""

    time: str
    run: str
    path: str
    title: str
    pages: int


@dataclass(frozen=True)
class Savings:
    """The saved cost of duplicates: bytes of their bodies, and outlinks."""

    bytes: int = 0
    links: int = 0


@dataclass(frozen=True)
class IndexInfo:
    """The index itself: its name, the contents of its header, and its size on disk in bytes, if it is a directory."""

    name: str
    spec: Mapping[str, str]
    libraries: Mapping[str, str]
    bytes: int | None

    @property
    def scheme(self) -> str:
        """The name of the scheme."""
        return self.spec.get("scheme", "").split(" ")[0]


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows.

    Attributes:
        index: the index itself.
        run: the only run that is reported, 8 hexadecimal digits; ``""``: all runs.
        is_dry: whether these runs dropped nothing, because the action was "mark".
        total: all pages.
        open_claims: kept pages that are not settled.
        dropped: the cost saved by dropping duplicates.
        marked: the cost that dropping the marked duplicates would have saved.
        hosts: the hosts with most pages.
        other_hosts: the pages of all other hosts.
        host_count: how many hosts there are in all.
        distances: duplicates by the distance of the signatures.
        rules: duplicates by the rule that decided.
        reasons: unchecked pages by reason.
        groups: (address, duplicates) of the kept pages with several duplicates, largest first.
        group_count: how many kept pages have duplicates.
        several_count: how many kept pages have more than one duplicate.
        host_pairs: the pairs of hosts with most duplicates between them: those on one of the hosts, and those on the other.
        watchdog_cases: the latest cases of the watchdog.
        watchdog_count: how many cases of the watchdog there are.
        forms: the largest groups of passed pages that differ only in numbers, dates or parts of their address.
        runs: (number, summary) of the latest runs.
        run_count: how many runs the figures cover.
        emptied: when the index was emptied last (ISO 8601, UTC), if this was after a run of the journal; else ``""``.
        earlier_runs: (number, summary) of the latest runs before that, which are not in the figures, unless one of them is
            the only run that is reported. The pages that they kept are not known.
        earlier_run_count: how many such runs there are.
        dry_runs: (number, summary) of the latest runs that dropped nothing, which are not in the figures; empty if all runs
            are such runs, or one of them is the only run that is reported.
        dry_run_count: how many such runs there are.
        span: the first and the last known time of these runs, in seconds since 1970; 0: no time is known.
        files: the files of the journal.
        entries: how many journal entries were read, of all runs.
        damaged: how many lines could not be read, by file.
    """

    index: IndexInfo
    run: str
    is_dry: bool
    total: PageCounts
    open_claims: int
    dropped: Savings
    marked: Savings
    hosts: Sequence[tuple[str, PageCounts]]
    other_hosts: PageCounts
    host_count: int
    distances: Counter[int]
    rules: Sequence[tuple[str, int]]
    reasons: Sequence[tuple[str, int]]
    groups: Sequence[tuple[str, DuplicateGroup]]
    group_count: int
    several_count: int
    host_pairs: Sequence[Sequence[CrossHostDuplicates]]
    watchdog_cases: Sequence[WatchdogCase]
    watchdog_count: int
    forms: Sequence[FormCase]
    runs: Sequence[tuple[str, RunSummary]]
    run_count: int
    emptied: str
    earlier_runs: Sequence[tuple[str, RunSummary]]
    earlier_run_count: int
    dry_runs: Sequence[tuple[str, RunSummary]]
    dry_run_count: int
    span: tuple[float, float]
    files: Sequence[Path]
    entries: int
    damaged: Mapping[Path, int]
