"""``crawler-dedup drops``: which pages were dropped, or would have been."""

from __future__ import annotations

import random
from typing import Annotated

import msgspec
import typer

from crawler_dedup.cli.entries import describe_duplicate, print_damage
from crawler_dedup.cli.options import (
    HostOption,
    IndexArgument,
    JournalOption,
    RuleOption,
    RunOption,
    SettingsOption,
    SinceOption,
    select_duplicates,
)
from crawler_dedup.cli.project import find_target
from crawler_dedup.cli.terminal import errors_as_messages, quantity
from crawler_dedup.journal.reader import sample


def drops(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    index: IndexArgument = None,
    journal: JournalOption = None,
    host: HostOption = "",
    rule: RuleOption = "",
    since: SinceOption = "",
    run: RunOption = "",
    size: Annotated[int, typer.Option("--sample", min=0, metavar="N", help="Draw N of them at random; 0: all.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Draws the same ones again.")] = None,
    settings: SettingsOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print lines of the journal.")] = False,
) -> None:
    """List the pages that were dropped, or that were marked and passed: each with the page that stands for it, and why.

    Exit status 0: there are some. 1: there are none. 2: index or journal cannot be read.
    """
    with errors_as_messages():
        target = find_target(index, journal, settings)
        target.require_journal()
        selection = select_duplicates(host, rule, since, run)
        selected = (entry for entry in target.journals.entries() if entry in selection)
        count = 0
        for entry in sample(selected, size, random.Random(seed)) if size else selected:  # noqa: S311  (no secret)
            typer.echo(msgspec.json.encode(entry).decode() if json else describe_duplicate(entry))
            count += 1
    print_damage(target.journals)
    if not json:
        typer.echo(f"{quantity(count, 'page')}." if count else "No page was dropped, or none that is asked for.")
    raise typer.Exit(0 if count else 1)
