"""``crawler-dedup forget``: kept pages stand for nothing any more, and what they swallowed can be crawled again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from crawler_dedup import maintenance
from crawler_dedup.cli.entries import damage
from crawler_dedup.cli.place import Index, JournalFiles, Place, place_of
from crawler_dedup.cli.terminal import Start, number_of, printable, progress, told_errors
from crawler_dedup.history import duplicates_of
from crawler_dedup.records import Record
from crawler_dedup.sites import is_of_host
from crawler_dedup.store import Store

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SHOWN = 20
_BLOCK = 1000

Test = Callable[[Record], bool]


def forget(
    index: Index = None,
    older_than: Annotated[str, typer.Option(help="Filed longer ago than this: 90d, 12h, 2w.")] = "",
    url: Annotated[str, typer.Option(help="With this address.")] = "",
    host: Annotated[str, typer.Option(help="Of this host.")] = "",
    run: Annotated[str, typer.Option(help="Filed by this run, as `index stats` names it.")] = "",
    export: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="File for the addresses that were dropped because of them, one a line."),
    ] = None,
    journal: JournalFiles = None,
) -> None:
    """Forget pages: they stand for nothing any more, and are new when they come again. What is given must all hold.

    What was dropped because of them (as the journal says, and is not kept by now) is listed, to be crawled again.
    """
    tests = _tests(older_than, url, host, run)
    if not tests:
        raise typer.BadParameter("Say what to forget: --older-than, --url, --host or --run.")

    def is_meant(record: Record) -> bool:
        return all(test(record) for test in tests)

    with told_errors(), progress() as start:
        place = place_of(index, journal)
        with closing(maintenance.open_pages(place.directory)) as pages:
            dropped = _swallowed(place, pages, is_meant, url, start) if url or export else []
            if export is not None:
                # Before anything is forgotten: a full disk must not cost the list.
                export.write_text("".join(f"{one}\n" for one in dropped), encoding="utf-8")
            filing = maintenance.filing_of(pages.header)
            forgotten = pages.forget(is_meant, filing, start("forgetting", len(pages)))
    typer.echo(
        f"{number_of(forgotten, 'page')} forgotten. `crawler-dedup index compact` gives their room back to the disk."
    )
    if url or export:
        _tell(place, dropped, export)


def _tests(older_than: str, url: str, host: str, run: str) -> list[Test]:
    tests: list[Test] = []
    if older_than:
        before = time.time() - _seconds(older_than)
        tests.append(lambda record: record.filed < before)
    if url:
        tests.append(lambda record: record.page.url == url)
    if host:
        tests.append(lambda record: is_of_host(record.page.url, host))
    if run:
        number = _run(run)
        tests.append(lambda record: record.run == number)
    return tests


def _swallowed(place: Place, pages: Store, is_meant: Test, url: str, start: Start) -> list[str]:
    """The addresses that were dropped because of the pages that are meant, and are not kept themselves."""
    going = {url} - {""}
    staying: set[str] = set()
    advance = start("reading", len(pages))
    for records in pages.records(_BLOCK):
        going.update(record.page.url for record in records if is_meant(record))
        advance(len(records))
    found = duplicates_of(place.journals, going)
    dropped = [one for one, entry in found.items() if entry.event == "drop"]
    for records in pages.records(_BLOCK):
        staying.update(one.page.url for one in records if one.page.url in found and not is_meant(one))
    return [one for one in dropped if one not in staying]


def _tell(place: Place, dropped: Collection[str], export: Path | None) -> None:
    for line in damage(place.journals):
        typer.echo(line, err=True)
    said = f"{number_of(len(dropped), 'page')} {'was' if len(dropped) == 1 else 'were'} dropped"
    if not place.journals.files:
        typer.echo("There is no journal: what was dropped because of them is not known.", err=True)
    elif not dropped:
        typer.echo("No page was dropped because of them.")
    elif export is not None:
        typer.echo(f"Because of them {said}: {export} lists what was, to be crawled again.")
    else:
        typer.echo(f"Because of them {said} (--export urls.txt writes all to a file):")
        for one in list(dropped)[:_SHOWN]:
            typer.echo(f"  {printable(one)}")


def _seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", duration.strip())
    if not found:
        raise typer.BadParameter(f"{duration!r} is no duration; write 90d, 12h, 30m or 2w.")
    return float(found[1]) * _SECONDS[found[2]]


def _run(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no run; `crawler-dedup index stats` names them.") from None
