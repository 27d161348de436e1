"""``crawler-dedup drops``: which pages were dropped, or would have been."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Annotated

import msgspec
import typer

from crawler_dedup.cli.entries import block, damage
from crawler_dedup.cli.place import Index, JournalFiles, Place, place_of
from crawler_dedup.cli.settings import Settings
from crawler_dedup.cli.terminal import number_of, told_errors
from crawler_dedup.cli.values import duration, run_of
from crawler_dedup.errors import DedupError
from crawler_dedup.journal.entry import DUPLICATES
from crawler_dedup.journal.reader import Selection, sample
from crawler_dedup.rules import table
from crawler_dedup.urls import host_of

Host = Annotated[str, typer.Option(help="Of pages of this host.")]
Rule = Annotated[str, typer.Option(help="Decided by this rule, as “alike”.")]
Since = Annotated[str, typer.Option(help="A time (2026-11-21, 2026-11-21T18:00, in UTC) or a duration (2h, 3d, 1w).")]
Run = Annotated[str, typer.Option(help="Of this run, as the journal and `index stats` name it.")]


def drops(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    index: Index = None,
    journal: JournalFiles = None,
    host: Host = "",
    rule: Rule = "",
    since: Since = "",
    run: Run = "",
    size: Annotated[int, typer.Option("--sample", min=0, metavar="N", help="Draw N of them at random; 0: all.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Draws the same ones again.")] = None,
    settings: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="Print lines of the journal.")] = False,
) -> None:
    """List the pages that were dropped, or that were marked and passed: each with the page that stands for it, and why.

    Exit status 0: there are some. 1: there are none. 2: index or journal cannot be read.
    """
    with told_errors():
        place = place_of(index, journal, settings)
        require_journal(place)
        asked = selection(host, rule, since, run)
        found = (entry for entry in place.journals.entries() if entry in asked)
        count = 0
        for entry in sample(found, size, random.Random(seed)) if size else found:  # noqa: S311  (no secret)
            typer.echo(msgspec.json.encode(entry).decode() if json else block(entry))
            count += 1
    for line in damage(place.journals):
        typer.echo(line, err=True)
    if not json:
        typer.echo(f"{number_of(count, 'page')}." if count else "No page was dropped, or none that is asked for.")
    raise typer.Exit(0 if count else 1)


def require_journal(place: Place) -> None:
    """Raise :class:`DedupError` where there is no journal to read."""
    if not place.journals.files:
        raise DedupError(
            f"There is no journal beside the index in {place.directory}: no crawl has written one, DEDUP_JOURNAL was empty,"
            " or it leads elsewhere (--journal names a file)."
        )


def selection(host: str, rule: str, since: str, run: str) -> Selection:
    """What the options of a command ask for; a wrong one ends it with a sentence."""
    if rule and rule not in table.NAMES:
        raise typer.BadParameter(f"There is no rule {rule!r}; there are {', '.join(map(repr, table.NAMES))}.")
    host = host_of(host) if "//" in host else host
    return Selection(DUPLICATES, host, rule, _since(since), run_of(run) if run else "")


def _since(text: str) -> str:
    if not text:
        return ""
    seconds = duration(text)
    try:
        if seconds is not None:
            time = datetime.now(timezone.utc) - timedelta(seconds=seconds)
        else:
            time = datetime.fromisoformat(text.removesuffix("Z"))
            time = time.astimezone(timezone.utc) if time.tzinfo else time
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is neither a time (2026-11-21T18:00) nor a duration (2h, 3d, 1w)."
        ) from None
    return time.strftime("%Y-%m-%dT%H:%M:%S")
