"""What a journal says of drops: by rule, by host, by the page that stands for them, and by run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crawler_dedup.counting.heavyhitters import HeavyHitters
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Selection
from crawler_dedup.journal.runs import RunPeriod, RunPeriods
from crawler_dedup.urls import host_of

_COUNTERS = 100_000  # up to so many hosts, pages and runs are counted exactly

DropCounts = Sequence[tuple[str, int]]
"""What drops have in common, and how many have it, most first."""


@dataclass(frozen=True)
class RunDrops:
    """A run: its number, its time and its drops."""

    run: str
    period: RunPeriod
    drops: int


@dataclass(frozen=True)
class DropSummary:
    """Drops in numbers. Pages that were marked and passed are counted as drops, too.

    Attributes:
        drops: all of them.
        marked: those that passed.
        rules: by the rule that decided.
        hosts: by the host of the dropped page.
        representatives: by the address of the page that stands for them.
        host_count: how many hosts there are.
        representative_count: how many pages stand for others.
        runs: the runs, in the order in which they began, also those without drops.
        is_incomplete: whether there were too many hosts, pages or runs to count all of them.
    """

    drops: int
    marked: int
    rules: DropCounts
    hosts: DropCounts
    representatives: DropCounts
    host_count: int
    representative_count: int
    runs: Sequence[RunDrops]
    is_incomplete: bool


class DropCounter:
    """Counts the drops in a journal, in bounded memory.

    Args:
        selection: which drops are counted, and which runs are named.

    Attributes:
        runs: the runs that the selection is about.
        drops: how many drops there were so far.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.runs = RunPeriods()
        self.drops = 0
        self._marked = 0
        self._rules, self._hosts, self._representatives, self._drops_of_runs = (
            HeavyHitters[str, None](_COUNTERS, lambda: None) for _ in range(4)
        )

    def select(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        """Yield the drops among *entries*, and count them."""
        for entry in entries:
            if self._selection.covers(entry):
                self.runs.note(entry.run, entry.seconds, entry.spider)
                if entry in self._selection:
                    self._count(entry)
                    yield entry

    def _count(self, entry: Entry) -> None:
        self.drops += 1
        self._marked += entry.event == "mark"
        self._rules.add(entry.rule)
        self._hosts.add(host_of(entry.url))
        self._representatives.add(entry.duplicate_of)
        self._drops_of_runs.add(entry.run)

    def summary(self, size: int) -> DropSummary:
        """Return the counts; of hosts and representatives the *size* with most drops."""
        drops_of_runs = {run: count for run, count, _ in self._drops_of_runs.top(len(self._drops_of_runs))}
        counted = (self._rules, self._hosts, self._representatives, self._drops_of_runs)
        return DropSummary(
            drops=self.drops,
            marked=self._marked,
            rules=_top(self._rules, len(self._rules)),
            hosts=_top(self._hosts, size),
            representatives=_top(self._representatives, size),
            host_count=len(self._hosts),
            representative_count=len(self._representatives),
            runs=[RunDrops(run, period, drops_of_runs.get(run, 0)) for run, period in self.runs.in_order()],
            is_incomplete=any(hitters.has_forgotten for hitters in counted),
        )


def _top(hitters: HeavyHitters[str, None], size: int) -> DropCounts:
    return [(name, count) for name, count, _ in hitters.top(size)]
