"""``crawler-dedup report``: what the filter did, as a page for the browser."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from crawler_dedup.cli.place import Index, JournalFiles, place_of
from crawler_dedup.cli.settings import Settings
from crawler_dedup.cli.terminal import progress, told_errors
from crawler_dedup.cli.values import run_of
from crawler_dedup.index.maintenance import open_pages


def report(
    index: Index = None,
    journal: JournalFiles = None,
    run: Annotated[str, typer.Option(help="Only what this run did: 8 hexadecimal digits.")] = "",
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="HTML file to write.")] = Path(
        "report.html"
    ),
    settings: Settings = None,
) -> None:
    """Show what the filter did: totals, hosts, rules, largest groups, how near the limits, as one HTML file.

    It needs no network and no other file. What is shown comes from the index and its journal (docs/journal.md).
    """
    run = run_of(run) if run else ""
    with told_errors(), progress() as start:
        from crawler_dedup import report  # noqa: PLC0415  (loading what draws charts takes a second)

        place = place_of(index, journal, settings)
        with closing(open_pages(place.directory)) as pages:
            data = report.collect(pages, place.journals, run, start("index", len(pages)), start("journal", None))
        content = report.render(data, place.config, datetime.now(timezone.utc)).encode()
        output.write_bytes(content)
    typer.echo(f"{output}: {decimal(len(content))}.")
