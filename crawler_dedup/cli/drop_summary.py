"""The counts of drops that ``crawler-dedup drops --summary`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.terminal import iso_time, make_console, print_json, printable, quantity
from crawler_dedup.inspection.drops import DropCounts, DropSummary, RunDrops
from crawler_dedup.journal.runs import format_period


def print_summary(summary: DropSummary, size: int) -> None:
    """Print a table for each kind of count; of runs the latest *size*."""
    console = make_console()
    if len(summary.runs) > size:
        console.print(f"The latest {size:,} of {len(summary.runs):,} runs:")
    column = "drops" if not summary.marked else "marked" if summary.marked == summary.drops else "dropped or marked"
    console.print(_runs_table(summary.runs[-size:], column))
    if summary.earlier_runs:
        console.print("Runs before the index was emptied, which are not counted here:")
        console.print(_runs_table(summary.earlier_runs[-size:], "dropped or marked"))
    if not summary.drops:
        return
    pages = "drops" if not summary.marked else f"{column} pages"
    more = "more than " if summary.is_incomplete else ""
    for name, noun, counts, total in (
        ("rule", "rules", summary.rules, len(summary.rules)),
        ("host", "hosts", summary.hosts, summary.host_count),
        ("duplicate_of", "kept pages", summary.representatives, summary.representative_count),
    ):
        if total > len(counts):
            console.print(f"The {len(counts):,} of {more}{total:,} {noun} with most {pages}:")
        console.print(_table(name, column, counts, summary.drops))
    if summary.marked:
        console.print(f"Marked as duplicates, and passed: {quantity(summary.marked, 'page')}.")
    if summary.is_incomplete:
        console.print("There are too many hosts, pages or runs to count all of them: small numbers may be too low.")


def print_json_summary(summary: DropSummary) -> None:
    """Print the JSON Lines of a summary."""
    print_json("run", (_run_fields(run, is_before_emptying=True) for run in summary.earlier_runs))
    print_json("run", (_run_fields(run, is_before_emptying=False) for run in summary.runs))
    for name, counts in (
        ("rule", summary.rules),
        ("host", summary.hosts),
        ("duplicate_of", summary.representatives),
    ):
        print_json("drop_count", ({"by": name, "value": value, "drops": drops} for value, drops in counts))


def _run_fields(run: RunDrops, *, is_before_emptying: bool) -> dict[str, Any]:
    return {
        "run": run.run,
        "first": iso_time(run.period.first),
        "last": iso_time(run.period.last),
        "spiders": sorted(run.period.spiders),
        "drops": run.drops,
        "is_before_emptying": is_before_emptying,
    }


def _runs_table(runs: Sequence[RunDrops], column: str) -> Table:
    table = Table("run", "spider", "time")
    table.add_column(column, justify="right")
    for run in runs:
        spiders = ", ".join(sorted(run.period.spiders))
        period = format_period(run.period.first, run.period.last)
        table.add_row(Text(printable(run.run)), Text(printable(spiders)), period, f"{run.drops:,}")
    return table


def _table(name: str, column: str, counts: DropCounts, drops: int) -> Table:
    table = Table()
    table.add_column(name, overflow="fold")
    table.add_column(column, justify="right")
    table.add_column("share", justify="right")
    for value, number in counts:
        table.add_row(Text(printable(value) or "(none)"), f"{number:,}", f"{number / drops:.1%}")
    return table
