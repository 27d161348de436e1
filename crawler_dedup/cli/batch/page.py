"""The report of a job as a page for the browser, which is written beside the decisions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.filesize import decimal

from crawler_dedup.config import Config
from crawler_dedup.system.extras import has_extra
from crawler_dedup.system.files import open_replacement

if TYPE_CHECKING:
    from crawler_dedup.batch.find import Report

PAGE = "report.html"


def write_page(signed: Path, output: Path, config: Config, report: Report) -> None:
    """Write the page, and print where it is.

    Args:
        signed: the directory of the signed pages.
        output: the directory of the decisions.
        report: the report of the search.
    """
    if not has_extra("report"):
        click.echo(
            f"There is no {PAGE}, which needs more packages: install crawler-dedup with the extra report", err=True
        )
        return
    from crawler_dedup.batch.summary import summarise_job  # noqa: PLC0415  (needs an extra)
    from crawler_dedup.report.job import render_job  # noqa: PLC0415  (it needs the extra)

    content = render_job(summarise_job(signed, output, report), config, datetime.now(UTC)).encode()
    with open_replacement(output / PAGE) as file:
        file.write(content)
    click.echo(f"{output / PAGE}: {decimal(len(content))}.")
