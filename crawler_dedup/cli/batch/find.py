"""``crawler-dedup batch find``: find the near-duplicates among signed pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.batch.options import (
    Search,
    finding_options,
    output_option,
    require_batch,
)
from crawler_dedup.cli.batch.sign import print_counts
from crawler_dedup.cli.options import settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import quantity
from crawler_dedup.config import Config
from crawler_dedup.system.callbacks import Start

if TYPE_CHECKING:
    from crawler_dedup.batch.find import Report


@click.command()
@click.argument("signed", metavar="SIGNED", type=click.Path(exists=True, file_okay=False, path_type=Path))
@output_option("DECISIONS", "Directory for kept.parquet, clusters.parquet and report.json.")
@finding_options
@settings_option
def find(signed: Path, output: Path, search: Search, settings: Sequence[str]) -> None:
    """Find the near-duplicates among signed pages.

    SIGNED is a directory that `crawler-dedup batch sign` has written. The command first learns what the pages of each
    site have in common. Then it decides about the pages one after the other, as a crawl does.

    \b
    Examples:
      crawler-dedup batch find signed -o decisions
      crawler-dedup batch find signed --order -size --max-distance 3 -o decisions
    """
    require_batch()
    config = search.limit_distance(read_config(settings))
    with progress_bars() as start:
        report = find_in(signed, output, config, search, start)
    print_report(report, output)


def find_in(signed: Path, output: Path, config: Config, search: Search, start: Start) -> Report:
    """Find the near-duplicates in a collection, with the values of the options."""
    from crawler_dedup.batch.find import find_duplicates  # noqa: PLC0415  (needs an extra)

    return find_duplicates(
        signed,
        output,
        config,
        start,
        order=search.order,
        profiles=search.profiles,
        against=search.against,
        memory=search.memory,
    )


def print_report(report: Report, output: Path) -> None:
    """Print what was found."""
    click.echo(
        f"{output}: {quantity(report.pages, 'page')}, {report.kept:,} kept, {report.pages - report.kept:,} left out."
    )
    print_counts("Left out by rule", report.rules)
    print_counts("Not checked", report.unsigned)
