"""``crawler-dedup report``: what the filter did, as a page for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import click
from rich.filesize import decimal

from crawler_dedup.cli.options import index_argument, journal_option, parse_run, settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_target
from crawler_dedup.cli.terminal import errors_as_messages
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.system.extras import require_extra


@click.command()
@index_argument
@journal_option
@click.option("--run", default="", help="Only this run: 8 hexadecimal digits, as `index stats` lists it.")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="HTML file to write.",
)
@settings_option
def report(index: Path | None, journal: Sequence[Path], run: str, output: Path, settings: Sequence[str]) -> None:
    """Write a report of what the filter did, as one HTML file.

    The report has totals, hosts, rules, the largest groups of duplicates, and how near decisions came to the thresholds. It
    needs no network and no other file. Its figures come from the index and its journal (docs/journal.md). INDEX is the
    directory of the index; without it, the index of this Scrapy project is used. The command needs matplotlib and Jinja:
    pip install 'crawler-dedup[report]'.
    """
    run = parse_run(run) if run else ""
    with errors_as_messages(), progress_bars() as start:
        require_extra("report", "crawler-dedup report")
        from crawler_dedup import report  # noqa: PLC0415  (loading what draws charts takes a second)

        target = find_target(index, journal, settings)
        with closing(open_pages(target.directory)) as pages:
            read_records, read_journals = start("index", len(pages)), start("journal", target.journals.size)
            figures = report.collect(pages, target.journals, run, read_records, read_journals)
        content = report.render(figures, target.config, datetime.now(timezone.utc)).encode()
        output.write_bytes(content)
    click.echo(f"{output}: {decimal(len(content))}.")
