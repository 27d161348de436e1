"""``crawler-dedup why``: what became of a page, and for what reason."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer
from rich.console import Console

from crawler_dedup.cli.diff import side_by_side
from crawler_dedup.cli.entries import describe_crawl, describe_decision, describe_time, print_damage
from crawler_dedup.cli.options import IndexArgument, JournalOption, SettingsOption
from crawler_dedup.cli.pair import print_pair
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import Target, find_target
from crawler_dedup.cli.terminal import errors_as_messages, format_time, printable, quantity
from crawler_dedup.config import Config
from crawler_dedup.index import maintenance
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.compare import Examined, examine
from crawler_dedup.inspection.fetching import fetch
from crawler_dedup.inspection.why import Case, Findings, inquire
from crawler_dedup.journal.entry import Entry
from crawler_dedup.rules.table import Pair
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.signing.storedtext import unpack_text

_LISTED = 10


def why(
    url: Annotated[str, typer.Argument(help="Address of a page, as the crawl knew it (after redirections).")],
    index: IndexArgument = None,
    journal: JournalOption = None,
    fetch_: Annotated[
        bool, typer.Option("--fetch", help="Get the page and the one that stands for it again, and hold them together.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help=f"List more than {_LISTED} duplicates.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Say whether a page was kept, dropped or not checked; when, by which rule, and because of which other page.

    Exit status 0: something is known of it. 1: nothing is. 2: index, journal or, with --fetch, a page cannot be read.
    """
    with errors_as_messages():
        target = find_target(index, journal, settings)
        found, config = _inquire(url, target)
        if len(found.similar) == 1:
            typer.echo(f"Known is {printable(found.similar[0])}:")
            found, config = _inquire(found.similar[0], target)
    print_damage(target.journals)
    if not target.journals.files:
        typer.echo(
            f"There is no journal beside the index in {target.directory}: what was dropped is not known.", err=True
        )
    if not found.cases:
        _tell_nothing(found)
        raise typer.Exit(1)
    with errors_as_messages():
        for scope, case in found.cases.items():
            _tell(case, found.url, scope, listed=None if everything else _LISTED)
            _show(case, found, config, fetches=fetch_)


def _inquire(url: str, target: Target) -> tuple[Findings, Config]:
    """What is known, and the settings with which the index was made."""
    with closing(maintenance.open_pages(target.directory)) as pages, progress_bars() as start:
        found = inquire(url, pages, target.journals, start("reading", len(pages)))
        return found, config_from_spec(pages.header.spec, target.config)


def _tell_nothing(found: Findings) -> None:
    typer.echo(
        f"Nothing is known of {printable(found.url)}: it is not kept, and no journal names it. (Answers other than 200, and"
        " what is no HTML, are not looked at.)"
    )
    for one in found.similar:
        typer.echo(f"  Known is {printable(one)}")


def _tell(case: Case, url: str, scope: str, *, listed: int | None) -> None:
    last = case.last
    if case.kept is not None:
        _tell_kept(case.kept)
    elif last is None:
        typer.echo(f"{printable(url)} is kept no more, in scope {printable(scope) or '(none)'}.")
    else:
        typer.echo(_fate(last))
        typer.echo(_indented(last))
        if case.representative is not None:
            _tell_kept(case.representative)
        elif last.kept_url and last.kept_url != url:
            typer.echo(f"{printable(last.kept_url)} is kept no more.")
    _tell_duplicates(case, url, listed)
    earlier = [one for one in case.entries if case.kept is not None or one is not last]
    if earlier:
        typer.echo("In the journal:" if case.kept is not None else "Before:")
        for entry in earlier:
            typer.echo(
                f"  {describe_time(entry)}, {describe_crawl(entry)}: {_fate(entry)} {describe_decision(entry)}".rstrip()
            )


def _fate(entry: Entry) -> str:
    url, kept = printable(entry.url), printable(entry.kept_url)
    match entry.event:
        case "unchecked":
            alike = f" It is alike to {kept}." if kept else ""
            return f"{url} passed unchecked: {printable(entry.reason)}.{alike}"
        case "released":
            return f"{url} passed and was forgotten: its callback failed or released it, or pipelines took all of its items."
        case "unchanged":
            return f"{url} was unchanged, and passed."
        case "unchanged_dropped":
            return f"{url} was unchanged since an earlier run, and dropped."
        case "mark":
            return f"{url} passed, marked as a duplicate of {kept}."
        case _:
            return f"{url} was dropped: a duplicate of {kept}."


def _indented(entry: Entry) -> str:
    lines = [
        describe_decision(entry),
        f"{describe_time(entry)}, {describe_crawl(entry)}",
        f"“{entry.title}”; {entry.bytes:,} bytes; {entry.links:,} links" if entry.bytes else "",
    ]
    return "\n".join(f"  {printable(line)}" for line in lines if line)


def _tell_kept(record: Record) -> None:
    url, state = record.page.url, "is kept" if record.settled else "has passed, and is being handled, or its crawl died"
    typer.echo(f"{printable(url)} {state}: “{printable(record.page.title)}”")
    typer.echo(
        f"  filed {format_time(record.filed)}, run {record.run:08x}, scope {printable(record.page.scope) or '(none)'};"
        f" visited last {format_time(record.seen)}"
    )


def _tell_duplicates(case: Case, url: str, listed: int | None) -> None:
    count = len(case.duplicates)
    if not count:
        return
    stands_itself = case.kept is not None or case.last is None
    address = url if stands_itself or case.last is None else case.last.kept_url
    verb = "stands" if case.kept is not None or case.representative is not None else "stood"
    typer.echo(f"{printable(address)} {verb} for {quantity(count, 'page' if stands_itself else 'other page')}:")
    for entry in list(case.duplicates.values())[:listed]:
        typer.echo(f"  {printable(entry.url)}  ({describe_decision(entry)})")
    if listed is not None and count > listed:
        typer.echo(f"  … and {count - listed:,} more (--all)")


def _show(case: Case, found: Findings, config: Config, *, fetches: bool) -> None:
    """Where the page and the one that stands for it differ, if that can be had."""
    last = case.last
    if case.kept is not None or last is None or not last.is_duplicate:
        if fetches:
            typer.echo("No other page stands for it: there is nothing to hold it together with.")
        return
    if fetches:
        _show_fetched(found, last, config)
        return
    record = case.representative
    new, kept = unpack_text(last.text), unpack_text(record.page.text) if record is not None else ""
    if not (new and kept):
        typer.echo(
            "--fetch gets both pages again and shows where they differ (DEDUP_STORE_TEXT = True stores main texts)."
        )
        return
    if record is not None and record.filed > last.seconds:
        typer.echo("The kept page has changed since; this is how it is now.")
    Console().print(side_by_side(new, kept, folded=True))


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
