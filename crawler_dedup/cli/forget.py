"""``crawler-dedup forget``: kept pages stand for nothing any more, and what they swallowed can be crawled again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from crawler_dedup.cli.drops import require_journal
from crawler_dedup.cli.entries import damage
from crawler_dedup.cli.place import Index, JournalFiles, Place, place_of
from crawler_dedup.cli.settings import Settings
from crawler_dedup.cli.terminal import number_of, printable, progress, told_errors
from crawler_dedup.cli.values import duration, run_of
from crawler_dedup.index import maintenance
from crawler_dedup.index.records import Record
from crawler_dedup.index.store import Store
from crawler_dedup.journal.reader import Address, find_duplicates
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.system.callbacks import Start
from crawler_dedup.urls import is_of_host, without_credentials

_SHOWN = 20

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
    settings: Settings = None,
) -> None:
    """Forget pages: they stand for nothing any more, and are new when they come again. What is given must all hold.

    What was dropped because of them, or marked (as the journal says, and is not kept by now), is listed, to be crawled
    again.

    Exit status 1: nothing has the address that was given.
    """
    url = without_credentials(url)
    tests = _tests(older_than, url, host, run)
    if not tests:
        raise typer.BadParameter("Say what to forget: --older-than, --url, --host or --run.")

    def is_meant(record: Record) -> bool:
        return all(test(record) for test in tests)

    with told_errors(), progress() as start:
        place = place_of(index, journal, settings)
        if export is not None:
            require_journal(place)
        with closing(maintenance.open_pages(place.directory)) as pages:
            swallowed = _swallowed(place, pages, is_meant, url, start) if url or export else []
            if export is not None:
                # Before anything is forgotten: a full disk must not cost the list.
                export.write_text("".join(f"{one}\n" for one in swallowed), encoding="utf-8")
            filing = lookup_of(pages.header.spec)
            forgotten = pages.forget(is_meant, filing, start("forgetting", len(pages)))
    typer.echo(
        f"{number_of(forgotten, 'page')} forgotten. `crawler-dedup index compact` gives their room back to the disk."
    )
    if url or export:
        _tell(place, swallowed, export)
    if url and not forgotten and not swallowed:
        typer.echo(f"No kept page has the address {printable(url)}.", err=True)
        raise typer.Exit(1)


def _tests(older_than: str, url: str, host: str, run: str) -> list[Test]:
    tests: list[Test] = []
    if older_than:
        before = _before(older_than)
        tests.append(lambda record: record.filed < before)
    if url:
        tests.append(lambda record: record.page.url == url)
    if host:
        tests.append(lambda record: is_of_host(record.page.url, host))
    if run:
        number = int(run_of(run), 16)
        tests.append(lambda record: record.run == number)
    return tests


def _swallowed(place: Place, pages: Store, is_meant: Test, url: str, start: Start) -> list[str]:
    """The addresses for which the pages that are meant stand, and that are not kept themselves."""
    total = len(pages)
    going: set[Address] = set()
    others: set[Address] = set()  # with the same address, and not meant
    for record in maintenance.read_records(pages, start("reading", total)):
        if is_meant(record):
            going.add(_address(record))
        elif record.page.url == url:
            others.add(_address(record))
    # What was forgotten before stands in the journal only.
    found = find_duplicates(
        place.journals, lambda address: address in going or (address[1] == url and address not in others)
    )
    staying = {
        _address(record)
        for record in maintenance.read_records(pages, start("reading", total))
        if _address(record) in found and not is_meant(record)
    }
    return list(dict.fromkeys(address[1] for address in found if address not in staying))


def _address(record: Record) -> Address:
    return record.page.scope, record.page.url


def _tell(place: Place, swallowed: Collection[str], export: Path | None) -> None:
    for line in damage(place.journals):
        typer.echo(line, err=True)
    said = f"{number_of(len(swallowed), 'page')} {'was' if len(swallowed) == 1 else 'were'} dropped or marked"
    if not place.journals.files:
        typer.echo("There is no journal: what was dropped because of them is not known.", err=True)
    elif not swallowed:
        typer.echo("No page was dropped because of them.")
    elif export is not None:
        typer.echo(f"Because of them {said}: {export} lists what was, to be crawled again.")
    else:
        typer.echo(f"Because of them {said} (--export urls.txt writes all to a file):")
        for one in list(swallowed)[:_SHOWN]:
            typer.echo(f"  {printable(one)}")


def _before(older_than: str) -> float:
    seconds = duration(older_than)
    if seconds is None:
        raise typer.BadParameter(f"{older_than!r} is no duration; write 90d, 12h, 30m or 2w.")
    return time.time() - seconds
