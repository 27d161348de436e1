"""``crawler-dedup report``: what the filter did, as a page for the browser."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from crawler_dedup.cli.options import IndexArgument, JournalOption, SettingsOption, parse_run
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_target
from crawler_dedup.cli.terminal import errors_as_messages
from crawler_dedup.index.maintenance import open_pages


def report(
    index: IndexArgument = None,
    journal: JournalOption = None,
    run: Annotated[str, typer.Option(help="Only what this run did: 8 hexadecimal digits.")] = "",
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="HTML file to write.")] = Path(
        "report.html"
    ),
    settings: SettingsOption = None,
) -> None:
    """Show what the filter did: totals, hosts, rules, largest groups, how near the limits, as one HTML file.

    It needs no network and no other file. What is shown comes from the index and its journal (docs/journal.md).
    """
    run = parse_run(run) if run else ""
    with errors_as_messages(), progress_bars() as start:
        from crawler_dedup import report  # noqa: PLC0415  (loading what draws charts takes a second)

        target = find_target(index, journal, settings)
        with closing(open_pages(target.directory)) as pages:
            figures = report.collect(pages, target.journals, run, start("index", len(pages)), start("journal", None))
        content = report.render(figures, target.config, datetime.now(timezone.utc)).encode()
        output.write_bytes(content)
    typer.echo(f"{output}: {decimal(len(content))}.")
