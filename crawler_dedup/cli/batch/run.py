"""``crawler-dedup batch run``: sign, find and apply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from crawler_dedup.cli.batch.apply import print_applied
from crawler_dedup.cli.batch.find import config_of, print_report
from crawler_dedup.cli.batch.options import (
    columns_of,
    finding_options,
    inputs_argument,
    jobs_option,
    mark_option,
    reading_options,
    require_batch,
)
from crawler_dedup.cli.batch.sign import print_signing
from crawler_dedup.cli.options import settings_option
from crawler_dedup.cli.progress import progress_bars


@click.command()
@inputs_argument
@click.option(
    "--output",
    "-o",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the folders signed, decisions and clean.",
)
@reading_options
@finding_options
@mark_option
@jobs_option
@settings_option
def run(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    inputs: Sequence[Path],
    output: Path,
    input_format: str | None,
    html: str,
    text: str,
    url: str,
    identifier: str,
    time: str,
    scope: str,
    max_distance: int | None,
    order: str,
    profiles: Path | None,
    against: Path | None,
    memory: int,
    mark: str,
    jobs: int,
    settings: Sequence[str],
) -> None:
    """Sign, find and apply in one go.

    Each INPUT is a WARC, JSON Lines or Parquet file, or a folder of such files. In the output directory, the folder signed
    gets the signed pages, decisions what is kept, and clean copies of the files without near-duplicates. When the command is
    called again, it goes on where it was interrupted.

    \b
    Examples:
      crawler-dedup batch run crawl.warc.gz -o job
      crawler-dedup batch run corpus.parquet --text text --id id -o job
    """
    require_batch()
    from crawler_dedup.batch.apply import apply_decisions  # noqa: PLC0415  (needs an extra)
    from crawler_dedup.batch.find import find_duplicates  # noqa: PLC0415
    from crawler_dedup.batch.sign import sign_collection  # noqa: PLC0415

    config = config_of(settings, max_distance)
    signed, decided, clean = (output / name for name in ("signed", "decisions", "clean"))
    with progress_bars() as start:
        signing = sign_collection(
            inputs,
            signed,
            config,
            start,
            input_format=input_format,
            columns=columns_of(html, text, url, identifier, time),
            scope=scope,
            jobs=jobs,
        )
        report = find_duplicates(
            signed, decided, config, start, order=order, profiles=profiles, against=against, memory=memory
        )
        applied = apply_decisions(inputs, decided, clean, start, mark=mark, jobs=jobs)
    print_signing(signing, signed)
    print_report(report, decided)
    print_applied(applied, clean, mark)
