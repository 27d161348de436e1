"""What commands that read a journal have in common: the choice of runs and drops, and descriptions of entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.options import gather_options, last_option, parse_time, run_option
from crawler_dedup.cli.terminal import printable, quantity
from crawler_dedup.decision import describe_figures
from crawler_dedup.errors import DedupError
from crawler_dedup.inspection.journals import RunPeriods, Selection, describe_runs, format_period
from crawler_dedup.journal.entry import DUPLICATES, Entry
from crawler_dedup.urls import host_of

if TYPE_CHECKING:
    from crawler_dedup.inspection.journaltable import JournalTable


@dataclass(frozen=True)
class WantedDrops:
    """The values of :data:`drop_options`, which select the drops that a command is about; ``""``: all."""

    last: bool
    run: str
    since: str
    host: str
    rule: str

    def select(self, table: JournalTable) -> Selection:
        """Return the selection of these drops in *table*: without a chosen run, those since the index was emptied.

        Raises:
            click.BadParameter: an option has a wrong value.
            DedupError: no run is known.
        """
        from crawler_dedup.inspection.history import DROPPING  # noqa: PLC0415  (loads numpy, which --help does not need)

        if self.rule and self.rule not in DROPPING:
            raise click.BadParameter(f"No rule {self.rule!r} drops pages; {', '.join(map(repr, DROPPING))} do.")
        since = f"{parse_time(self.since):%Y-%m-%dT%H:%M:%S}" if self.since else ""
        host = host_of(self.host) if "//" in self.host else self.host
        run = choose_run(self.run, self.last, table.find_runs)
        return Selection(DUPLICATES, host, self.rule, since, run, "" if run else table.emptied)


drop_options = gather_options(
    "wanted",
    WantedDrops,
    last_option,
    run_option,
    click.option(
        "--since",
        metavar="TIME",
        default="",
        help="Only drops since TIME: a time in UTC (2026-11-21T18:00), or an age (2h, 3d, 1w).",
    ),
    click.option("--host", metavar="HOST", default="", help="Only pages of this host."),
    click.option(
        "--rule",
        metavar="NAME",
        default="",
        help="Only drops by this rule: 'alike', 'same bytes' or 'too many variants of a list'.",
    ),
)
"""Decorator that gives a command the options that select drops: the argument ``wanted``, :class:`WantedDrops`."""


def choose_run(run: str, last: bool, find_runs: Callable[[], RunPeriods]) -> str:
    """Return the number of the run that ``--run`` or ``--last`` asks for; ``""``: all runs.

    Raises:
        click.BadParameter: *run* is no number of a run.
        click.UsageError: both options are given.
        DedupError: no run is known.
    """
    if run and last:
        raise click.UsageError("--run and --last cannot be combined.")
    if not last:
        return _parse_run(run) if run else ""
    if latest := find_runs().latest:
        return latest
    raise DedupError(
        "No journal says which run is the latest. Choose with --run a run whose pages are kept; `crawler-dedup index stats`"
        " lists these."
    )


def _parse_run(text: str) -> str:
    """Return the number of a run as the journal writes it, 8 hexadecimal digits.

    Raises:
        click.BadParameter: *text* is no such number.
    """
    if not re.fullmatch("[0-9a-fA-F]{1,8}", text):
        raise click.BadParameter(
            f"{text!r} is not the number of a run; `crawler-dedup drops --summary` lists the runs."
        )
    return text.lower().zfill(8)


def describe_earlier(runs: RunPeriods) -> str:
    """Return a sentence about the *runs* before the index was emptied; ``""`` if there are none."""
    if not len(runs):
        return ""
    if len(runs) == 1:
        which, them = f"Run {printable(runs.latest)}, {format_period(*runs.span)}, is", "it"
    else:
        which, them = f"{describe_runs(len(runs), *runs.span)}, are", "them"
    return f" {which} not counted, because the index was emptied after {them}; --run selects a run."


def describe_coverage(runs: RunPeriods) -> str:
    """Return which runs the figures of a command cover, with the number of the run if there is only one."""
    if len(runs) == 1:
        return f"run {printable(runs.latest)}, {format_period(*runs.span)}"
    hint = "; --last counts the latest run only" if len(runs) else ""
    return f"{describe_runs(len(runs), *runs.span)}{hint}"


def describe_decision(entry: Entry) -> str:
    """Return the rule that decided, and what it measured; ``""`` where nothing was compared."""
    if not entry.rule:
        return ""
    figures = describe_figures(entry.distance, entry.resemblance, entry.coverage)
    return printable(f"rule “{entry.rule}”{', ' if figures else ''}{figures}")


def describe_time(entry: Entry) -> str:
    """Return ``2026-11-21 23:10:02 UTC``."""
    return printable(f"{entry.time[:19].replace('T', ' ')} UTC")


def describe_crawl(entry: Entry) -> str:
    """Return ``run 3c6f8078, spider site, scope “spider site”``."""
    crawl = f"run {entry.run}, spider {entry.spider}, " if entry.run else ""
    return printable(f"{crawl}scope {f'“{entry.scope}”' if entry.scope else '(unknown)'}")


def describe_duplicate(entry: Entry) -> str:
    """Return three lines: the page, its representative, and the reason of the decision."""
    passed = ", passed (mark)" if entry.event == "mark" else ""
    return "\n".join(
        (
            f"{printable(entry.url)}  “{printable(entry.title)}”",
            f"  ← {printable(entry.duplicate_of)}",
            f"    {describe_decision(entry)}; {describe_time(entry)}, run {printable(entry.run)}{passed}",
        )
    )


def describe_drops(drops: int, marked: int) -> str:
    """Return ``12 drops``, or another noun if some of them were *marked* and passed, as in a dry run."""
    return quantity(drops, "drop" if not marked else "marked page" if marked == drops else "dropped or marked page")


def print_damage(damaged: Mapping[Path, int]) -> None:
    """Print on stderr how many lines of each file could not be read."""
    for path, count in damaged.items():
        are = "1 line is" if count == 1 else f"{count:,} lines are"
        click.echo(f"{path}: {are} damaged or cut off; the rest was read.", err=True)
