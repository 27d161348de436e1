"""``crawler-dedup batch apply``: write copies of files without near-duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.batch.options import inputs_argument, mark_option, output_option, require_batch, strict_option
from crawler_dedup.cli.options import jobs_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.terminal import quantity

if TYPE_CHECKING:
    from crawler_dedup.batch.apply import Applied

_NAMED = 20  # records that a message names


@click.command()
@inputs_argument
@click.option(
    "--decisions",
    metavar="DECISIONS",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory that `crawler-dedup batch find` has written.",
)
@output_option("CLEAN", "Directory for the copies.")
@mark_option
@strict_option
@jobs_option
def apply(inputs: Sequence[Path], decisions: Path, output: Path, mark: str, strict: bool, jobs: int) -> None:
    """Write copies of files without near-duplicates.

    Each INPUT is a file that was signed, or a folder of such files. Its copy has the same format. A copy of a WARC file
    has a metadata record for each page that is left out.

    \b
    Examples:
      crawler-dedup batch apply crawl.warc.gz --decisions decisions -o clean
      crawler-dedup batch apply pages --decisions decisions -o all --mark of
    """
    require_batch()
    from crawler_dedup.batch.apply import apply_decisions  # noqa: PLC0415  (needs an extra)

    with progress_bars() as start:
        applied = apply_decisions(inputs, decisions, output, start, mark=mark, strict=strict, jobs=jobs)
    print_applied(applied, output, mark)


def print_applied(applied: Applied, output: Path, mark: str) -> None:
    """Print what was written."""
    click.echo(
        f"{output}: {quantity(applied.files, 'file')}, {quantity(applied.left_out, 'page')}"
        f" {'marked' if mark else 'left out'}."
    )
    for name, count in applied.damaged.items():
        click.echo(f"{name} is damaged in {quantity(count, 'place')}: what cannot be read is left out.", err=True)
        if names := applied.cut_off[name]:
            click.echo(f"  Cut off: {', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)}.", err=True)
