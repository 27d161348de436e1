"""``crawler-dedup batch sign``: sign the pages of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.batch.options import (
    Reading,
    inputs_argument,
    output_option,
    reading_options,
    require_batch,
)
from crawler_dedup.cli.options import jobs_option, settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import quantity
from crawler_dedup.config import Config
from crawler_dedup.system.callbacks import Start

if TYPE_CHECKING:
    from crawler_dedup.batch.sign import Signing


@click.command()
@inputs_argument
@output_option("SIGNED", "Directory for the signed pages.")
@reading_options
@jobs_option
@settings_option
def sign(inputs: Sequence[Path], output: Path, reading: Reading, jobs: int, settings: Sequence[str]) -> None:
    """Sign the pages of files, each file once.

    Each INPUT is a WARC, JSON Lines or Parquet file, or a folder of such files. A file makes one shard of signed pages. When
    the command is called again, it signs only what is missing, damaged or was changed. Records that cannot be read are
    counted, and listed beside their shard. The command needs pyarrow and FastWARC: install crawler-dedup with
    the extra batch.

    \b
    Examples:
      crawler-dedup batch sign crawl.warc.gz -o signed
      crawler-dedup batch sign pages --html body --id key -o signed
      crawler-dedup batch sign corpus.parquet --text text --id id -o signed
    """
    require_batch()
    config = read_config(settings)
    with progress_bars() as start:
        signing = sign_inputs(inputs, output, config, reading, jobs, start)
    print_signing(signing, output)


def sign_inputs(
    inputs: Sequence[Path],
    output: Path,
    config: Config,
    reading: Reading,
    jobs: int,
    start: Start,
) -> Signing:
    """Sign the pages of files, with the values of the options."""
    from crawler_dedup.batch.sign import sign_collection  # noqa: PLC0415  (needs an extra)

    return sign_collection(
        inputs,
        output,
        config,
        start,
        input_format=reading.input_format,
        columns=reading.columns,
        scope=reading.scope,
        jobs=jobs,
    )


def print_signing(signing: Signing, output: Path) -> None:
    """Print what was signed."""
    before = signing.inputs - signing.signed_now
    click.echo(
        f"{output}: {quantity(signing.pages, 'page')} of {quantity(signing.inputs, 'file')}"
        + (f", of which {before:,} had been signed before." if before else ".")
    )
    for path in signing.damaged:
        click.echo(f"{path} was damaged, and was signed again.", err=True)
    for name in signing.dropped:
        click.echo(f"{name} was signed by an earlier call, and is no part of {output} any more.", err=True)
    if signing.ignored:
        click.echo(
            f"Names that say no format: {quantity(signing.ignored, 'file')}. Their pages are not there.", err=True
        )
    print_counts("Not signed", signing.unsigned)
    print_counts("Not looked at", signing.passed_over)
    print_counts("Cannot be read", signing.bad)
    for reason, detail in signing.details.items():
        click.echo(f"  {reason}: {detail}.")


def print_counts(label: str, counts: Mapping[str, int]) -> None:
    """Print counts by reason on a line, if there are any."""
    if counts:
        click.echo(f"{label}: {', '.join(f'{reason} {count:,}' for reason, count in counts.items())}.")
