"""Count the drops in a journal by rule, by host, by representative, and by run."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from crawler_dedup.counting import HeavyHitters
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Selection
from crawler_dedup.journal.runperiods import RunPeriod, RunPeriods
from crawler_dedup.urls import host_of

_COUNTERS = 100_000  # up to this number of hosts, pages and runs, all are counted exactly

DropCounts = Sequence[tuple[str, int]]
"""(property, number of drops that have it), most frequent first."""


@dataclass(frozen=True)
class RunDrops:
    """A run: its number, its period, its number of drops, and whether it is a dry run (``DEDUP_ACTION = "mark"``)."""

    run: str
    period: RunPeriod
    drops: int
    is_dry: bool


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
        earlier_runs: the runs before the index was emptied, whose drops are not in the other numbers.
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
    earlier_runs: Sequence[RunDrops]
    is_incomplete: bool


@dataclass
class DropTally:
    """The number of drops in a journal, and the runs in which they happened.

    Attributes:
        selection: the drops and runs that are counted.
        dry_runs: numbers of the dry runs.
        outdated: marks that no longer count, except for their runs.
        runs: the runs, including runs without drops.
        by_run: drops by the number of the run.
        drops: how many drops there are, including pages that were marked and passed.
        marked: how many of these pages were marked and passed.
    """

    selection: Selection
    dry_runs: Set[str] = frozenset()
    outdated: Container[Entry] = ()
    runs: RunPeriods = field(default_factory=RunPeriods)
    by_run: HeavyHitters[str, None] = field(default_factory=lambda: HeavyHitters(_COUNTERS, lambda: None))
    drops: int = 0
    marked: int = 0

    def add(self, entry: Entry) -> bool:
        """Count *entry*, whose run and time are selected; return whether it is a selected drop that counts."""
        self.runs.note(entry.run, entry.seconds, entry.spider)
        if entry not in self.selection:
            return False
        self.by_run.add(entry.run)
        if entry in self.outdated:
            return False
        self.drops += 1
        self.marked += entry.event == "mark"
        return True

    def runs_in_order(self) -> list[RunDrops]:
        """Return the runs in the order in which they began."""
        drops = {run: count for run, count, _ in self.by_run.top(len(self.by_run))}
        return [RunDrops(run, period, drops.get(run, 0), run in self.dry_runs) for run, period in self.runs.in_order()]


class DropReader:
    """Reads the drops in a journal, and counts them.

    Args:
        selection: the drops and runs to select.
        outdated: marks that no longer count.

    Attributes:
        selected: the selected drops that were read so far.
        earlier: those that would be selected if the index had not been emptied after them.
    """

    def __init__(self, selection: Selection, outdated: Container[Entry] = ()) -> None:
        self._dry_runs: set[str] = set()
        self.selected = DropTally(selection, self._dry_runs, outdated)
        self.earlier = DropTally(replace(selection, emptied=""), self._dry_runs)

    def select(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the selected drops of *entries*."""
        for entry in entries:
            if entry.event == "dry_run":  # its start, perhaps before the selected time
                self._dry_runs.add(entry.run)
            if self.selected.selection.covers(entry):
                if self.selected.add(entry):
                    yield entry
            elif self.earlier.selection.covers(entry):
                self.earlier.add(entry)


def summarise_drops(reader: DropReader, entries: Iterable[Entry], size: int) -> DropSummary:
    """Count the drops of *entries* that *reader* selects, in bounded memory.

    Args:
        size: how many of the hosts and representatives with most drops are returned.
    """
    rules, hosts, representatives = (HeavyHitters[str, None](_COUNTERS, lambda: None) for _ in range(3))
    for entry in reader.select(entries):
        rules.add(entry.rule)
        hosts.add(host_of(entry.url))
        representatives.add(entry.duplicate_of)
    selected, earlier = reader.selected, reader.earlier
    return DropSummary(
        drops=selected.drops,
        marked=selected.marked,
        rules=_top(rules, len(rules)),
        hosts=_top(hosts, size),
        representatives=_top(representatives, size),
        host_count=len(hosts),
        representative_count=len(representatives),
        runs=selected.runs_in_order(),
        earlier_runs=earlier.runs_in_order(),
        is_incomplete=any(counted.has_forgotten for counted in (rules, hosts, representatives, selected.by_run)),
    )


def _top(hitters: HeavyHitters[str, None], size: int) -> DropCounts:
    return [(name, count) for name, count, _ in hitters.top(size)]
