"""``crawler-dedup batch find``: find the near-duplicates among signed pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.batch.options import finding_options, require_batch
from crawler_dedup.cli.batch.sign import print_counts
from crawler_dedup.cli.options import settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import quantity
from crawler_dedup.config import Config

if TYPE_CHECKING:
    from crawler_dedup.batch.find import Report


@click.command()
@click.argument("signed", metavar="SIGNED", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--output",
    "-o",
    metavar="DECISIONS",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for kept.parquet, clusters.parquet and report.json.",
)
@finding_options
@settings_option
def find(
    signed: Path,
    output: Path,
    max_distance: int | None,
    order: str,
    profiles: Path | None,
    against: Path | None,
    memory: int,
    settings: Sequence[str],
) -> None:
    """Find the near-duplicates among signed pages.

    SIGNED is a directory that `crawler-dedup batch sign` has written. First it is learned what the pages of each site have
    in common. Then the pages are decided one after the other, as a crawl decides them.

    \b
    Examples:
      crawler-dedup batch find signed -o decisions
      crawler-dedup batch find signed --order -size --max-distance 3 -o decisions
    """
    require_batch()
    from crawler_dedup.batch.find import find_duplicates  # noqa: PLC0415  (needs an extra)

    config = config_of(settings, max_distance)
    with progress_bars() as start:
        report = find_duplicates(
            signed, output, config, start, order=order, profiles=profiles, against=against, memory=memory
        )
    print_report(report, output)


def config_of(settings: Sequence[str], max_distance: int | None) -> Config:
    """Return the settings of a command. Raises :class:`ConfigError`."""
    config = read_config(settings)
    return config if max_distance is None else replace(config, max_distance=max_distance)


def print_report(report: Report, output: Path) -> None:
    """Print what was found."""
    click.echo(
        f"{output}: {quantity(report.pages, 'page')}, {report.kept:,} kept, {report.pages - report.kept:,} left out."
    )
    print_counts("Left out by rule", report.rules)
    print_counts("Not checked", report.unsigned)
