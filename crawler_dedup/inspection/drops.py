"""Select the drops in a journal, and count them by run, and by any of their properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from crawler_dedup.inspection.droptable import Search, conditions_of
from crawler_dedup.inspection.journaltable import IS_DUPLICATE, IS_OUTDATED, JournalTable
from crawler_dedup.journal.reader import RunPeriod, RunPeriods, Selection

DropCounts = Sequence[tuple[str, int]]
"""(value of a property, number of drops that have it), most frequent first."""


@dataclass(frozen=True)
class RunDrops:
    """A run: its number, its period, its number of drops, and whether it is a dry run (``DEDUP_ACTION = "mark"``)."""

    run: str
    period: RunPeriod
    drops: int
    is_dry: bool


class SelectedDrops:
    """The selected drops in a table. Without a selected run, marks that no longer count are left out.

    Attributes:
        selection: the drops and runs that are selected.
        runs: the runs, including runs without drops.
        earlier_runs: the runs that would be selected if the index had not been emptied after them.
        drops: how many drops there are, including pages that were marked and passed.
        marked: how many of these pages were marked and passed.
        damaged: how many lines of each file of the journal could not be read.
    """

    def __init__(self, table: JournalTable, selection: Selection) -> None:
        self.selection = selection
        self.damaged = table.damaged
        self._table = table
        earliest = max(selection.since, selection.emptied)
        self._time: Search = {"since": earliest, "run": selection.run}
        self._time_before: Search = {"since": selection.since, "before": selection.emptied}
        self.runs = self._find_runs(self._time)
        self.earlier_runs = self._find_runs(self._time_before) if selection.emptied else RunPeriods()
        self._where, self._values = self._drops_in(self._time)
        self._where += "" if selection.run else f" AND NOT {IS_OUTDATED}"
        self.drops = table.count(self._where, self._values)
        self.marked = table.count(f"{self._where} AND event = 'mark'", self._values)

    def _find_runs(self, time: Search) -> RunPeriods:
        where, values = conditions_of(time)
        runs = RunPeriods()
        for run, spider, first, last in self._table.select(
            "SELECT run, spider, coalesce(min(nullif(seconds, 0)), 0), max(seconds) FROM entries"  # noqa: S608
            f" WHERE {where} GROUP BY run, spider ORDER BY min(id)",
            values,
        ):
            runs.note(run, first, spider)
            runs.note(run, last)
        return runs

    def _drops_in(self, time: Search) -> tuple[str, list[str]]:
        where, values = conditions_of({**time, "of_host": self.selection.host, "rule": self.selection.rule})
        return f"{where} AND {IS_DUPLICATE}", values

    def places(self, is_left_out: Callable[[str, str], bool] | None = None) -> Iterator[tuple[str, int]]:
        """Yield the places of the drops in journals (file, byte), in their order.

        Args:
            is_left_out: returns whether a drop is left out, by the addresses of the page and of its representative.
        """
        where = self._where + self._table.unless(is_left_out)
        return self._table.select(f"SELECT file, place FROM entries WHERE {where} ORDER BY id", self._values)  # noqa: S608

    def count_by(self, column: str, size: int) -> tuple[DropCounts, int]:
        """Return the *size* most frequent values of a column with their numbers of drops, and how many values there are."""
        counts = self._table.select(
            f"SELECT {column}, count(*) AS number FROM entries WHERE {self._where}"  # noqa: S608
            f" GROUP BY {column} ORDER BY number DESC, {column} LIMIT {size}",
            self._values,
        )
        total = self._table.select(f"SELECT count(DISTINCT {column}) FROM entries WHERE {self._where}", self._values)  # noqa: S608
        return list(counts), next(total)[0]

    def count_by_run(self, *, earlier: bool = False) -> list[RunDrops]:
        """Return the runs, or the earlier runs, in the order in which they began, with all their drops."""
        where, values = self._drops_in(self._time_before if earlier else self._time)
        drops = dict(self._table.select(f"SELECT run, count(*) FROM entries WHERE {where} GROUP BY run", values))  # noqa: S608
        dry_runs = {run for (run,) in self._table.select("SELECT run FROM entries WHERE event = 'dry_run'")}
        runs = self.earlier_runs if earlier else self.runs
        return [RunDrops(run, period, drops.get(run, 0), run in dry_runs) for run, period in runs.in_order()]
