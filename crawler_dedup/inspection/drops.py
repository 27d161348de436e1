"""Count the drops in a journal by rule, by host, by representative, and by run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crawler_dedup.counting.heavyhitters import HeavyHitters
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Selection
from crawler_dedup.journal.runs import RunPeriod, RunPeriods
from crawler_dedup.urls import host_of

_COUNTERS = 100_000  # up to this number of hosts, pages and runs, all are counted exactly

DropCounts = Sequence[tuple[str, int]]
"""(property, number of drops that have it), most frequent first."""


@dataclass(frozen=True)
class RunDrops:
    """A run: its number, its period, and its number of drops."""

    run: str
    period: RunPeriod
    drops: int


@dataclass(frozen=True)
class DropSummary:
    """Drops in numbers. Pages that were marked and passed are counted as drops, too.

    Attributes:
        drops: number of all drops.
        marked: number of pages that were marked and passed.
        rules: drops by the rule that decided.
        hosts: drops by the host of the dropped page.
        representatives: drops by the address of their representative.
        host_count: number of hosts.
        representative_count: number of representatives.
        runs: the runs, including runs without drops, in the order in which they began.
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


class DropReader:
    """Reads the drops in a journal, and notes the runs in which they happened.

    Args:
        selection: the drops and runs to select.

    Attributes:
        runs: the selected runs that were read so far, including runs without drops.
        drops: how many drops were read, including pages that were marked and passed.
        marked: how many of these pages were marked and passed.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.runs = RunPeriods()
        self.drops = 0
        self.marked = 0

    def select(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the selected drops of *entries*."""
        for entry in entries:
            if self._selection.covers(entry):
                self.runs.note(entry.run, entry.seconds, entry.spider)
                if entry in self._selection:
                    self.drops += 1
                    self.marked += entry.event == "mark"
                    yield entry


def summarise_drops(reader: DropReader, entries: Iterable[Entry], size: int) -> DropSummary:
    """Count the drops of *entries* that *reader* selects, in bounded memory.

    Args:
        size: how many of the hosts and representatives with most drops are returned.
    """
    rules, hosts, representatives, runs = (HeavyHitters[str, None](_COUNTERS, lambda: None) for _ in range(4))
    for entry in reader.select(entries):
        rules.add(entry.rule)
        hosts.add(host_of(entry.url))
        representatives.add(entry.duplicate_of)
        runs.add(entry.run)
    drops_of_runs = dict(_top(runs, len(runs)))
    return DropSummary(
        drops=reader.drops,
        marked=reader.marked,
        rules=_top(rules, len(rules)),
        hosts=_top(hosts, size),
        representatives=_top(representatives, size),
        host_count=len(hosts),
        representative_count=len(representatives),
        runs=[RunDrops(run, period, drops_of_runs.get(run, 0)) for run, period in reader.runs.in_order()],
        is_incomplete=any(counted.has_forgotten for counted in (rules, hosts, representatives, runs)),
    )


def _top(hitters: HeavyHitters[str, None], size: int) -> DropCounts:
    return [(name, count) for name, count, _ in hitters.top(size)]
