"""``crawler-dedup why``: what became of a page, and for what reason."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from typing import Annotated

import typer
from rich.console import Console

from crawler_dedup import maintenance
from crawler_dedup.cli.diff import side_by_side
from crawler_dedup.cli.entries import damage, figures, when
from crawler_dedup.cli.pair import print_pair
from crawler_dedup.cli.place import Index, JournalFiles, Place, place_of
from crawler_dedup.cli.settings import Settings
from crawler_dedup.cli.terminal import number_of, printable, progress, told_errors
from crawler_dedup.config import Config
from crawler_dedup.corpus import unpacked
from crawler_dedup.errors import DedupError
from crawler_dedup.examining import Examined, examine
from crawler_dedup.fetching import fetch
from crawler_dedup.inquiry import Findings, inquire
from crawler_dedup.journal import Entry
from crawler_dedup.records import Record
from crawler_dedup.rules import Pair
from crawler_dedup.signing import Signer

_LISTED = 10


def why(
    url: Annotated[str, typer.Argument(help="Address of a page, as the crawl knew it (after redirections).")],
    index: Index = None,
    journal: JournalFiles = None,
    fetch_: Annotated[
        bool, typer.Option("--fetch", help="Get the page and the one that stands for it again, and hold them together.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help=f"List more than {_LISTED} duplicates.")] = False,
    settings: Settings = None,
) -> None:
    """Say whether a page was kept, dropped or not checked; when, by which rule, and because of which other page.

    Exit status 0: something is known of it. 1: nothing is. 2: the index or a journal cannot be read.
    """
    with told_errors():
        place = place_of(index, journal, settings)
        with closing(maintenance.open_pages(place.directory)) as pages, progress() as start:
            found = inquire(url, pages, place.journals, start("reading", len(pages)))
            config = maintenance.config_as_made(pages.header, place.config)
    _tell(found, place, listed=None if everything else _LISTED)
    if not found.is_known:
        raise typer.Exit(1)
    with told_errors():
        _show(found, config, fetches=fetch_)


def _tell(found: Findings, place: Place, *, listed: int | None) -> None:
    say = typer.echo
    for line in damage(place.journals):
        say(line, err=True)
    if not place.journals.files:
        say(f"There is no journal beside the index in {place.directory}: what was dropped is not known.", err=True)
    if not found.is_known:
        say(f"Nothing is known of {printable(found.url)}: it is not kept, and no journal names it.")
        for one in found.similar:
            say(f"  Known is {printable(one)}")
        return
    if found.kept:
        _tell_kept(found.kept, printable(found.url))
    elif found.last is not None:
        say(_fate(found.last))
        say(_indented(found.last))
        if found.last.kept_url:
            _tell_kept(found.representatives, printable(found.last.kept_url))
    _tell_duplicates(found, listed)
    earlier = [one for one in found.entries if found.kept or one is not found.last]
    if earlier:
        say("In the journal:" if found.kept else "Before:")
        for entry in earlier:
            say(f"  {when(entry)}  {_fate(entry)} {figures(entry)}")


def _fate(entry: Entry) -> str:
    url, kept = printable(entry.url), printable(entry.kept_url)
    if entry.event == "unchecked":
        alike = f" It is alike to {kept}." if kept else ""
        return f"{url} passed unchecked: {entry.reason}.{alike}"
    if entry.event == "released":
        return (
            f"{url} passed and was forgotten: its callback failed or released it, or pipelines took all of its items."
        )
    if entry.event == "unchanged":
        return f"{url} was unchanged, and passed."
    if entry.url == entry.kept_url:
        return f"{url} was unchanged since an earlier run, and dropped."
    if entry.event == "mark":
        return f"{url} passed, marked as a duplicate of {kept}."
    return f"{url} was dropped: a duplicate of {kept}."


def _indented(entry: Entry) -> str:
    lines = [
        figures(entry),
        f"{when(entry)}, run {entry.run}, spider {entry.spider}, scope {entry.scope}",
        f"“{entry.title}”; {entry.bytes:,} bytes; {entry.links:,} links" if entry.bytes else "",
    ]
    return "\n".join(f"  {printable(line)}" for line in lines if line)


def _tell_kept(records: list[Record], url: str) -> None:
    if not records:
        typer.echo(f"{url} is kept no more.")
    for record in records:
        state = "is kept" if record.settled else "has passed, and is being handled, or its crawl died"
        typer.echo(f"{url} {state}: “{printable(record.page.title)}”")
        typer.echo(
            f"  filed {_time(record.filed)}, run {record.run:08x}, scope {printable(record.page.scope)};"
            f" visited last {_time(record.seen)}"
        )


def _tell_duplicates(found: Findings, listed: int | None) -> None:
    count = len(found.duplicates)
    if not count:
        return
    pages = number_of(count, "page" if found.kept else "other page")
    typer.echo(f"{printable(found.representative)} stands for {pages}:")
    for entry in list(found.duplicates.values())[:listed]:
        typer.echo(f"  {printable(entry.url)}  ({figures(entry)})")
    if listed is not None and count > listed:
        typer.echo(f"  … and {count - listed:,} more (--all)")


def _show(found: Findings, config: Config, *, fetches: bool) -> None:
    last = found.last
    if found.kept or last is None or not last.kept_url or last.kept_url == last.url:
        if fetches:
            raise DedupError("No other page stands for it: there is nothing to hold it together with.")
        return
    if fetches:
        _show_fetched(found, last, config)
        return
    new, kept = unpacked(last.text), next((unpacked(one.page.text) for one in found.representatives), "")
    if new and kept:
        Console().print(side_by_side(new, kept, folded=True))
    else:
        typer.echo(
            "--fetch gets both pages again and shows where they differ (DEDUP_STORE_TEXT = True stores their texts)."
        )


def _show_fetched(found: Findings, last: Entry, config: Config) -> None:
    signer = Signer(config)
    new, kept = (_fetched(signer, url, last.scope) for url in (last.url, last.kept_url))
    console = Console()
    console.print(side_by_side(new.text, kept.text, folded=True))
    sites = found.sites
    print_pair(
        console, new, kept, Pair(new.page, kept.page, config, signer.scheme, sites.of(new.page), sites.of(kept.page))
    )
    typer.echo("The pages as they are now, with the settings of the index, and what its pages show of their sites.")


def _fetched(signer: Signer, url: str, scope: str) -> Examined:
    page = fetch(url, signer.config.max_bytes)
    return examine(signer, page.url, page.body, page.encoding, scope=scope)


def _time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # an imported record may say anything
        return f"{seconds} s after 1970"
