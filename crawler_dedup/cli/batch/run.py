"""``crawler-dedup batch run``: sign, find and apply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from crawler_dedup.cli.batch.apply import print_applied
from crawler_dedup.cli.batch.find import find_in, print_report
from crawler_dedup.cli.batch.options import (
    Reading,
    Search,
    finding_options,
    inputs_argument,
    mark_option,
    output_option,
    reading_options,
    require_batch,
    strict_option,
)
from crawler_dedup.cli.batch.sign import print_signing, sign_inputs
from crawler_dedup.cli.options import jobs_option, settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import read_config


@click.command()
@inputs_argument
@output_option("DIR", "Directory for the folders signed, decisions and clean.")
@reading_options
@finding_options
@mark_option
@strict_option
@jobs_option
@settings_option
def run(
    inputs: Sequence[Path],
    output: Path,
    reading: Reading,
    search: Search,
    mark: str,
    strict: bool,
    jobs: int,
    settings: Sequence[str],
) -> None:
    """Sign, find and apply in one go.

    Each INPUT is a WARC, JSON Lines or Parquet file, or a folder of such files. In the output directory, the folder signed
    gets the signed pages, decisions what is kept, and clean copies of the files without near-duplicates. When the command is
    called again, it does not sign again what was signed.

    \b
    Examples:
      crawler-dedup batch run crawl.warc.gz -o job
      crawler-dedup batch run corpus.parquet --text text --id id -o job
    """
    require_batch()
    from crawler_dedup.batch.apply import apply_decisions  # noqa: PLC0415  (needs an extra)

    config = search.limit_distance(read_config(settings))
    signed, decided, clean = (output / name for name in ("signed", "decisions", "clean"))
    with progress_bars() as start:
        signing = sign_inputs(inputs, signed, config, reading, jobs, start)
        report = find_in(signed, decided, config, search, start)
        applied = apply_decisions(inputs, decided, clean, start, mark=mark, strict=strict, jobs=jobs)
    print_signing(signing, signed)
    print_report(report, decided)
    print_applied(applied, clean, mark)
