"""The choice of runs for a command, and the description of the runs that its figures cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.options import parse_run
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.terminal import printable
from crawler_dedup.errors import DedupError
from crawler_dedup.journal.reader import Journals
from crawler_dedup.journal.runs import RunPeriods, describe_runs, format_period

if TYPE_CHECKING:
    from crawler_dedup.index.backend import Backend


def choose_run(run: str, last: bool, journals: Journals, pages: Backend | None = None) -> str:
    """Return the number of the run that ``--run`` or ``--last`` asks for; ``""``: all runs.

    Args:
        pages: the index, for commands that work on its records: the latest run may have left no journal.

    Raises:
        click.BadParameter: *run* is no number of a run.
        click.UsageError: both options are given.
        DedupError: the journals cannot be read, or no run is known.
    """
    if run and last:
        raise click.UsageError("--run and --last cannot be combined.")
    if not last:
        return parse_run(run) if run else ""
    with progress_bars() as start:
        runs = journals.runs(start("finding the latest run", journals.size))
        if pages is not None:
            from crawler_dedup.index.maintenance import read_records  # noqa: PLC0415  (loads numpy: --help needs none)

            for record in read_records(pages, start("finding the latest run", len(pages))):
                runs.note(f"{record.run:08x}", record.filed)
    if not runs.latest:
        raise DedupError(
            "No journal says which run is the latest. Choose a run of the index with --run; `crawler-dedup index stats`"
            " lists them."
        )
    return runs.latest


def find_emptying(journals: Journals) -> str:
    """Return when the index was emptied last (ISO 8601, UTC), with a progress bar; ``""``: never, or it is not known."""
    with progress_bars() as start:
        return journals.find_emptying(start("finding the runs", journals.size))


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
