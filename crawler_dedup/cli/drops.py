"""``crawler-dedup drops`` and ``groups``: list the pages that were dropped, or would have been; group them by content."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.journals import (
    WantedDrops,
    describe_coverage,
    describe_drops,
    describe_duplicate,
    describe_earlier,
    describe_time,
    drop_options,
    print_damage,
)
from crawler_dedup.cli.options import json_option
from crawler_dedup.cli.project import TargetOptions, read_config, target_options
from crawler_dedup.cli.terminal import (
    iso_time,
    make_console,
    make_table,
    print_json,
    printable,
    progress_bars,
    quantity,
)
from crawler_dedup.inspection.journals import Journals, format_period, read_entries, sample
from crawler_dedup.journal.entry import Entry

if TYPE_CHECKING:
    from crawler_dedup.inspection.droptable import RunDrops, SelectedDrops


@click.command()
@click.option("--summary", is_flag=True, help="Count the drops by run, rule, host and kept page.")
@click.option(
    "--top", metavar="N", type=click.IntRange(1), default=10, show_default=True, help="Rows per table of --summary."
)
@drop_options
@click.option("--sample", "size", type=click.IntRange(1), metavar="N", help="Draw N pages at random.")
@click.option("--seed", type=int, help="Seed of --sample: the same number draws the same pages.")
@click.option(
    "--explain", is_flag=True, help="Print three lines per page: its title, and what was measured (such as distance 3)."
)
@json_option
@target_options
def drops(
    options: TargetOptions,
    summary: bool,
    top: int,
    wanted: WantedDrops,
    size: int | None,
    seed: int | None,
    explain: bool,
    json: bool,
) -> None:
    """List dropped pages, each with the kept page that it duplicates.

    Each line has the time, the event ("drop", or "mark": the page is a duplicate, but passed), the address, the address
    of the kept page, and the rule that decided, separated by tabs. On a terminal, a drop takes two lines. INDEX is the
    directory of the index, or its address on a server; without it, the index of this project or directory is used. With
    --journal, INDEX can be left out even where there is no such index.

    With --run or --last, all drops of that run are listed. Without them, a page that a dry run (DEDUP_ACTION = "mark")
    has marked is listed only until a later run keeps or drops it.

    \b
    Examples:
      crawler-dedup drops --last
      crawler-dedup drops --summary
      crawler-dedup drops --host example.org --sample 20 --explain
      crawler-dedup drops --json | jq -r .duplicate_of
    """
    from crawler_dedup.index.opening import open_index  # noqa: PLC0415  (loads numpy, which --help does not need)
    from crawler_dedup.inspection.droptable import SelectedDrops  # noqa: PLC0415
    from crawler_dedup.inspection.journaltable import JournalTable  # noqa: PLC0415

    if summary and (size or explain):
        raise click.UsageError("--summary cannot be combined with --sample or --explain.")
    if options.journal and options.index is None:
        read_config(options.settings)  # raises for a wrong setting
        journals, index = Journals(options.journal), None
    else:
        target = options.find(needs_journal=True)
        journals, index = target.journals, target.index
    with closing(JournalTable()) as table:
        with progress_bars() as start:
            table.read_journals(journals, advance=start("reading the journal", journals.size))
            selection = wanted.select(table)
            if index and not selection.run and table.count("event = 'mark'"):
                with closing(open_index(index)) as kept:
                    table.read_index(kept, start("reading the index", len(kept)))
        selected = SelectedDrops(table, selection)
        if summary:
            print_damage(selected.damaged)
            click.echo(_describe_count(selected, None), err=json)
            if json:
                _print_json_summary(selected, top)
            elif len(selected.runs):
                _print_summary(selected, top)
            return
        positions = selected.positions()
        entries = read_entries(sample(positions, size, random.Random(seed)) if size else positions)  # noqa: S311  (no secret)
        if json:
            print_json("drop", entries)
        else:
            _print_entries(entries, explain=explain)
        print_damage(selected.damaged)
        click.echo(_describe_count(selected, size), err=True)


def _print_entries(entries: Iterable[Entry], *, explain: bool) -> None:
    describe = describe_duplicate if explain else _two_lines if sys.stdout.isatty() else _tabbed_line
    for entry in entries:
        sys.stdout.write(f"{describe(entry)}\n")  # flushed when the buffer is full; click.echo flushes each line
    sys.stdout.flush()


def _tabbed_line(entry: Entry) -> str:
    return "\t".join(map(printable, (entry.time, entry.event, entry.url, entry.duplicate_of, entry.rule)))


def _two_lines(entry: Entry) -> str:
    return (
        printable(f"{describe_time(entry)}  {entry.event}  {entry.url}")
        + f"\n  ← {printable(f'{entry.duplicate_of}  {entry.rule}')}"
    )


def _describe_count(selected: SelectedDrops, size: int | None) -> str:
    """Return in words how many drops there are, and which runs they come from."""
    selection = selected.selection
    runs, earlier = describe_coverage(selected.runs), describe_earlier(selected.earlier_runs)
    if not len(selected.runs):
        selects_runs = selection.run or selection.since
        return "The journal has no entry of the given run or time." if selects_runs else "The journal is empty."
    if not selected.drops:
        which = " with the given host or rule" if selection.host or selection.rule else ""
        return f"No page{which} was dropped or marked in {runs}.{earlier}"
    count = describe_drops(selected.drops, selected.marked)
    drawn = f"{min(size, selected.drops):,} of {count}" if size else count
    return f"{drawn} in {runs}.{earlier}"


def _print_summary(selected: SelectedDrops, size: int) -> None:
    """Print a table for each kind of count; of runs the latest *size*."""
    console = make_console()
    runs = selected.count_by_run()
    if len(runs) > size:
        console.print(f"The latest {size:,} of {len(runs):,} runs:")
    console.print(_runs_table(runs[-size:]))
    for name, noun, most in _counts(size) if selected.drops else ():
        counts, total = selected.count_by(name, most)
        if total > len(counts):
            console.print(f"The {len(counts):,} of {total:,} {noun} with the most duplicates:")
        table = make_table(name.replace("duplicate_of", "kept page"), right=("duplicates", "share"))
        for value, number in counts:
            table.add_row(Text(printable(value) or "(none)"), f"{number:,}", f"{number / selected.drops:.1%}")
        console.print(table)
    if selected.marked:
        console.print(f"Marked as duplicates, and passed: {quantity(selected.marked, 'page')}.")


def _counts(size: int) -> Sequence[tuple[str, str, int]]:
    """Return what drops are counted by, its name in the plural, and how many rows are printed; -1: all."""
    return ("rule", "rules", -1), ("host", "hosts", size), ("duplicate_of", "kept pages", size)


def _runs_table(runs: Iterable[RunDrops]) -> Table:
    table = make_table("run", "spider", "time", "note", right=("duplicates",))
    for run in runs:
        spiders, period = ", ".join(sorted(run.period.spiders)), format_period(run.period.first, run.period.last)
        notes = {"dry run": run.is_dry, "before the index was emptied, counted here only": run.is_before_emptying}
        note = "; ".join(text for text, holds in notes.items() if holds)
        table.add_row(Text(printable(run.run)), Text(printable(spiders)), period, note, f"{run.drops:,}")
    return table


def _print_json_summary(selected: SelectedDrops, size: int) -> None:
    """Print the JSON Lines of a summary."""
    print_json("run", map(_run_fields, selected.count_by_run()))
    for name, _, most in _counts(size):
        counts, _ = selected.count_by(name, most)
        print_json("drop_count", ({"by": name, "value": value, "drops": drops} for value, drops in counts))


def _run_fields(run: RunDrops) -> dict[str, Any]:
    return {
        "run": run.run,
        "first": iso_time(run.period.first),
        "last": iso_time(run.period.last),
        "spiders": sorted(run.period.spiders),
        "drops": run.drops,
        "is_dry": run.is_dry,
        "is_before_emptying": run.is_before_emptying,
    }


@click.command()
@json_option
@target_options
def groups(*, json: bool, options: TargetOptions) -> None:
    """List the pages that have the same content.

    The lines below a page are the addresses of the duplicates that were dropped because of it, even if that page is no
    longer kept. They come from the journal of all runs since a crawl last emptied the index (DEDUP_FRESH). A dropped page
    that was kept later is left out. INDEX is the directory of the index, or its address on a server; without it, the index
    of this project or directory is used.

    \b
    Examples:
      crawler-dedup groups
      crawler-dedup groups --json > groups.jsonl
    """
    from crawler_dedup.index.opening import open_index  # noqa: PLC0415  (loads numpy)
    from crawler_dedup.inspection.droptable import DropTable  # noqa: PLC0415

    target = options.find(needs_journal=True)
    with closing(DropTable(None)) as table:
        with progress_bars() as start, closing(open_index(target.index)) as pages:
            table.read(pages, target.journals, start)
        print_damage(table.damaged)
        if json:
            print_json("group", map(vars, table.groups()))
        else:
            for group in table.groups():
                click.echo(printable(group.url) + "  (no longer kept)" * (not group.is_kept))
                for each in group.duplicates:
                    click.echo(f"  ← {printable(each['url'])}  ({printable(each['rule'])})")
