"""``crawler-dedup drops``: which pages were dropped, or would have been."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from crawler_dedup.cli.entries import describe_duplicate, print_damage
from crawler_dedup.cli.options import (
    host_option,
    index_argument,
    journal_option,
    rule_option,
    run_option,
    select_duplicates,
    settings_option,
    since_option,
)
from crawler_dedup.cli.project import find_target
from crawler_dedup.cli.terminal import errors_as_messages, quantity
from crawler_dedup.journal.reader import sample


@click.command()
@index_argument
@journal_option
@host_option
@rule_option
@since_option
@run_option
@click.option(
    "--sample", "size", type=click.IntRange(0), default=0, metavar="N", help="Draw N pages at random; 0: print all."
)
@click.option("--seed", type=int, help="Draw the same pages again.")
@settings_option
@click.option("--json", is_flag=True, help="Print lines of the journal.")
def drops(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    index: Path | None,
    journal: Sequence[Path],
    host: str,
    rule: str,
    since: str,
    run: str,
    size: int,
    seed: int | None,
    settings: Sequence[str],
    json: bool,
) -> None:
    """List dropped pages, with the page that stands for each.

    Pages that were marked as duplicates and passed are listed, too. INDEX is the directory of the index; without it, the
    index of this Scrapy project is used.

    Exit status 0: there are such pages. 1: there are none. 2: index or journal cannot be read.
    """
    with errors_as_messages():
        target = find_target(index, journal, settings)
        target.require_journal()
        selection = select_duplicates(host, rule, since, run)
        selected = (entry for entry in target.journals.entries() if entry in selection)
        count = 0
        for entry in sample(selected, size, random.Random(seed)) if size else selected:  # noqa: S311  (no secret)
            click.echo(msgspec.json.encode(entry).decode() if json else describe_duplicate(entry))
            count += 1
    print_damage(target.journals)
    if not json:
        click.echo(f"{quantity(count, 'page')}." if count else "No page was dropped, or none that is asked for.")
    raise click.exceptions.Exit(0 if count else 1)
