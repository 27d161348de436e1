"""``crawler-dedup report``: write a report of what the filter did, as a page for the browser."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.filesize import decimal

from crawler_dedup.cli.journals import choose_run
from crawler_dedup.cli.options import last_option, output_file_option, run_option
from crawler_dedup.cli.project import TargetOptions, target_options
from crawler_dedup.cli.terminal import progress_bars, quantity
from crawler_dedup.index.opening import open_index
from crawler_dedup.inspection.journals import describe_runs
from crawler_dedup.system.extras import require_extra
from crawler_dedup.system.files import open_replacement

if TYPE_CHECKING:
    from crawler_dedup.report.data import ReportData


@click.command()
@output_file_option("report.html", "HTML file to write.")
@last_option
@run_option
@target_options
def report(output: Path, last: bool, run: str, options: TargetOptions) -> None:
    """Write a report of what the filter did, as one HTML file.

    The report has totals, hosts, rules, the largest groups of duplicates, and how near decisions came to the thresholds. It
    adds up and lists all runs since a crawl last emptied the index (DEDUP_FRESH); with --last or --run, it covers one.
    It needs no network and no other file. Its figures come from the index and its journal, the record of drops. INDEX is
    the directory of the index, or its address on a server; without it, the index of this project or directory is used. The
    command needs Jinja: pip install "crawler-dedup[report]".

    \b
    Examples:
      crawler-dedup report
      crawler-dedup report --last -o last-run.html
    """
    require_extra("report", "crawler-dedup report")
    from crawler_dedup.inspection.journaltable import JournalTable  # noqa: PLC0415  (slow to load)
    from crawler_dedup.report.collector import collect  # noqa: PLC0415  (it needs the extra)
    from crawler_dedup.report.rendering import render  # noqa: PLC0415

    target = options.find()
    with closing(open_index(target.index)) as pages, closing(JournalTable()) as table:
        with progress_bars() as start:
            table.read(pages, target.journals, start)
        figures = collect(pages, target.journals, table, choose_run(run, last, table.find_runs))
        content = render(figures, target.config.max_distance, datetime.now(UTC)).encode()
        with open_replacement(output) as file:
            file.write(content)
    hint = "; --last shows the latest run only" if figures.run_count > 1 else ""
    runs = describe_runs(figures.run_count, *figures.span)
    dry = f" {quantity(figures.dry_run_count, 'dry run')} reported separately." if figures.dry_run_count else ""
    click.echo(f"{output}: {decimal(len(content))}, {runs}{hint}.{dry}{_describe_emptying(figures)}")


def _describe_emptying(figures: ReportData) -> str:
    """Return a sentence about runs before the index was emptied; ``""`` if there are none."""
    if not figures.emptied:
        return ""
    if figures.run:
        return " The index was emptied after this run, so the pages that it kept are not counted."
    earlier = quantity(figures.earlier_run_count, "earlier run")
    return f" The index was emptied after {earlier}, reported separately."
