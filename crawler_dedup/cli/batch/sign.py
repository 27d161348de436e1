"""``crawler-dedup batch sign``: sign the pages of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.batch.options import columns_of, inputs_argument, jobs_option, reading_options, require_batch
from crawler_dedup.cli.options import settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import quantity

if TYPE_CHECKING:
    from crawler_dedup.batch.sign import Signing


@click.command()
@inputs_argument
@click.option(
    "--output",
    "-o",
    metavar="SIGNED",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the signed pages.",
)
@reading_options
@jobs_option
@settings_option
def sign(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    inputs: Sequence[Path],
    output: Path,
    input_format: str | None,
    html: str,
    text: str,
    url: str,
    identifier: str,
    time: str,
    scope: str,
    jobs: int,
    settings: Sequence[str],
) -> None:
    """Sign the pages of files, each file once.

    Each INPUT is a WARC, JSON Lines or Parquet file, or a folder of such files. A file makes one shard of signed pages. When
    the command is called again, it signs only what is missing, damaged or was changed. Records that cannot be read are
    counted, and listed beside their shard. The command needs pyarrow and FastWARC: pip install 'crawler-dedup[batch]'.

    \b
    Examples:
      crawler-dedup batch sign crawl.warc.gz -o signed
      crawler-dedup batch sign pages --html body --id key -o signed
      crawler-dedup batch sign corpus.parquet --text text --id id -o signed
    """
    require_batch()
    from crawler_dedup.batch.sign import sign_collection  # noqa: PLC0415  (needs an extra)

    with progress_bars() as start:
        signing = sign_collection(
            inputs,
            output,
            read_config(settings),
            start,
            input_format=input_format,
            columns=columns_of(html, text, url, identifier, time),
            scope=scope,
            jobs=jobs,
        )
    print_signing(signing, output)


def print_signing(signing: Signing, output: Path) -> None:
    """Print what was signed."""
    before = signing.inputs - signing.signed_now
    click.echo(
        f"{output}: {quantity(signing.pages, 'page')} of {quantity(signing.inputs, 'file')}"
        + (f", of which {before:,} had been signed before." if before else ".")
    )
    for path in signing.damaged:
        click.echo(f"{path} was damaged, and was signed again.", err=True)
    print_counts("Not signed", signing.unsigned)
    print_counts("Not looked at", signing.passed_over)
    print_counts("Cannot be read", signing.bad)


def print_counts(label: str, counts: Mapping[str, int]) -> None:
    """Print counts by reason on a line, if there are any."""
    if counts:
        click.echo(f"{label}: {', '.join(f'{reason} {count:,}' for reason, count in counts.items())}.")
