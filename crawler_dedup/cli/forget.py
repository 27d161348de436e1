"""``crawler-dedup forget``: remove kept pages from an index, and list their duplicates, to be crawled again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from functools import partial
from math import inf
from pathlib import Path

import click

from crawler_dedup.cli.journals import choose_run, print_damage
from crawler_dedup.cli.options import json_option, parse_time
from crawler_dedup.cli.project import Target, TargetOptions, target_options
from crawler_dedup.cli.terminal import print_json, printable, progress_bars, quantity
from crawler_dedup.index import opening
from crawler_dedup.index.index import Index
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.journals import Journals, RunPeriods, ScopedUrl, is_of_host
from crawler_dedup.inspection.journaltable import IS_OUTCOME, JournalTable
from crawler_dedup.journal.entry import Entry, page_forgotten
from crawler_dedup.journal.writer import JournalWriter
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.system.callbacks import Start
from crawler_dedup.system.files import open_replacement
from crawler_dedup.urls import without_credentials

_MAX_LISTED = 20

RecordTest = Callable[[Record], bool]


@click.command()
@click.option("--url", metavar="URL", default="", help="The page with this address.")
@click.option("--host", metavar="HOST", default="", help="Pages of this host.")
@click.option(
    "--older-than",
    metavar="TIME",
    default="",
    help="Pages added to the index before TIME: an age (90d, 2w), or a time in UTC (2026-11-21).",
)
@click.option("--last", is_flag=True, help="Pages added to the index by the latest run: the one that began last.")
@click.option(
    "--run",
    metavar="RUN",
    default="",
    help="Pages added to the index by this run: its number, as `drops --summary` prints it (00c4f1a2).",
)
@click.option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the addresses of the duplicates of these pages to a file, one per line.",
)
@json_option
@target_options
def forget(
    url: str, host: str, older_than: str, last: bool, run: str, export: Path | None, json: bool, options: TargetOptions
) -> None:
    """Remove kept pages from the index, as if they had not been crawled.

    A page is removed if all given options apply to it. After that, no page is dropped because of it, and it counts as a
    new page if it is crawled again. With --url or --export, its duplicates (pages that were dropped or marked because
    of it, according to the journal) are listed, so that you can crawl them again, as with `crawler-dedup crawl --urls
    FILE`; those that were kept later are left out. INDEX is the directory of the index, or its address on a server;
    without it, the index of this project or directory is used.

    A page that was dropped cannot be forgotten, because it is not in the index. For its address, the command prints which
    kept page it duplicates, and how to let it pass.

    Exit status 1: no page has the address that was given with --url.

    \b
    Examples:
      crawler-dedup forget --url https://example.org/captcha --export urls.txt
      crawler-dedup forget --last
      crawler-dedup forget --host example.org --older-than 90d
    """
    url = without_credentials(url)
    if not (older_than or url or host or run or last):
        raise click.UsageError("Say what to forget: --url, --host, --older-than, --last or --run.")
    target = options.find(needs_journal=export is not None)
    with (
        closing(opening.open_to_write(target.index)) as pages,
        closing(JournalTable()) as table,
        progress_bars() as start,
    ):
        if last or url or export:
            table.read(pages, target.journals, start)
        chosen = choose_run(run, last, partial(_find_runs, table))
        is_selected = _record_test(older_than, url, host, chosen)
        duplicates = _find_duplicates(pages, table, is_selected, url, start) if url or export else None
        if export is not None and duplicates is not None:
            # The list is written before any page is forgotten: if the disk is full, nothing is forgotten.
            with open_replacement(export) as file:
                file.writelines(f"{address}\n".encode() for address in duplicates)
        last_outcome = table.find_latest(f"url = ? AND {IS_OUTCOME}", [url])
        with _recording(target) as record:
            filing = lookup_of(pages.header.spec)
            forgotten = pages.forget(is_selected, filing, start("forgetting", len(pages)), record)
    if json:
        print_json("forgotten", [{"pages": forgotten, "duplicates": duplicates}])
    else:
        of_run = f" of run {chosen}" if last else ""
        takes_space = forgotten and isinstance(target.index, Path)  # a server frees the memory at once
        hint = " `crawler-dedup index compact` gives the space back to the disk." if takes_space else ""
        click.echo(f"{quantity(forgotten, 'page')}{of_run} forgotten.{hint}")
    is_unknown = bool(url) and not forgotten and not duplicates
    if duplicates is not None and not is_unknown:
        print_damage(table.damaged)
        _print_duplicates(target, duplicates, export, json=json)
    if is_unknown:
        also = " to which the other options apply" if older_than or host or chosen else ""
        click.echo(f"There is no kept page with the address {printable(url)}{also}.", err=True)
        if last_outcome is not None and last_outcome.is_duplicate:
            _print_drop(last_outcome)
        raise click.exceptions.Exit(1)


def _record_test(older_than: str, url: str, host: str, run: str) -> RecordTest:
    """Return a test that is true for the records to which all given options apply."""
    time_limit = parse_time(older_than).timestamp() if older_than else inf
    return lambda record: (
        record.filed < time_limit
        and (not url or record.page.url == url)
        and (not host or is_of_host(record.page.url, host))
        and (not run or record.run == int(run, 16))
    )


@contextmanager
def _recording(target: Target) -> Iterator[Callable[[SignedPage], None]]:
    """Yield a function that records in the journal beside the index, if there is one, that a page was forgotten."""
    files = Journals.beside(target.directory, target.config.journal).files
    if not files:
        yield lambda _: None
        return
    with closing(JournalWriter(files[-1])) as journal:
        yield lambda page: journal.write(page_forgotten(page.scope, page.url))


def _find_runs(table: JournalTable) -> RunPeriods:
    """Find the runs: the latest may have filed pages, and left no journal."""
    runs = table.find_runs()
    for run, filed in table.select("SELECT run, filed FROM pages"):
        runs.note(run, filed)
    return runs


def _find_duplicates(pages: Index, table: JournalTable, is_selected: RecordTest, url: str, start: Start) -> list[str]:
    """Return the addresses of the duplicates of selected pages, without those that are kept and not selected."""
    selected: set[ScopedUrl] = set()
    not_selected: set[ScopedUrl] = set()  # only pages with the address *url*
    for record in pages.records(start("selecting pages", len(pages))):
        if is_selected(record):
            selected.add(_address_of(record))
        elif record.page.url == url:
            not_selected.add(_address_of(record))
    # A page with the address *url* that was forgotten earlier is only in the journal.
    duplicates = table.find_duplicates(
        lambda *address: address in selected or (address[1] == url and address not in not_selected)
    )
    return list(dict.fromkeys(entry.url for entry in duplicates))


def _print_drop(last: Entry) -> None:
    """Print why a page was dropped or marked, and how it passes in the next crawl."""
    action = "dropped" if last.event == "drop" else "marked"
    url = printable(last.url)
    click.echo(
        f"It was {action} as a duplicate of {printable(last.duplicate_of)}; `crawler-dedup why {url}` says why.\n"
        f"If this is wrong, `crawler-dedup restore {url}` lets the next crawl request the page again, and it is"
        f" never dropped again. `crawler-dedup separate {url} {printable(last.duplicate_of)}` is for this pair"
        " only: when the page is crawled again, it may be dropped as a duplicate of another page.\n"
        "Forgetting the kept page does not help: the next crawl keeps the page that it visits first, and drops the other.",
        err=True,
    )


def _address_of(record: Record) -> ScopedUrl:
    return record.page.scope, record.page.url


def _print_duplicates(target: Target, duplicates: Collection[str], export: Path | None, *, json: bool) -> None:
    number = len(duplicates)
    were_dropped = (
        f"{quantity(number, 'page')} {'was' if number == 1 else 'were'} dropped or marked because of forgotten pages"
    )
    if not target.journals.files:
        click.echo("There is no journal, so the duplicates of these pages are not known.", err=True)
    elif json:
        return
    elif not duplicates:
        click.echo("No page was dropped or marked because of forgotten pages.")
    elif export is not None:
        click.echo(f"{were_dropped}. To crawl them again: crawler-dedup crawl --urls {shlex.quote(str(export))}")
    else:
        click.echo(f"{were_dropped} (--export urls.txt writes all to a file):")
        for address in list(duplicates)[:_MAX_LISTED]:
            click.echo(f"  {printable(address)}")
