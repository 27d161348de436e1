"""``crawler-dedup why``: explain what was decided about a page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from crawler_dedup.cli.compare import print_drop
from crawler_dedup.cli.journals import describe_crawl, describe_decision, describe_time, print_damage
from crawler_dedup.cli.options import json_option
from crawler_dedup.cli.project import Target, TargetOptions, target_options
from crawler_dedup.cli.terminal import (
    format_time,
    iso_time,
    print_json,
    printable,
    progress_bars,
    quantity,
    shorten,
)
from crawler_dedup.config import Config
from crawler_dedup.index import opening
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.comparison import find_drop_lacks, find_similar
from crawler_dedup.inspection.dropped import id_of
from crawler_dedup.inspection.fetching import as_fetched
from crawler_dedup.inspection.history import DROPPING, AddressHistory, PageHistory, find_history
from crawler_dedup.inspection.journals import format_period
from crawler_dedup.inspection.journaltable import JournalTable
from crawler_dedup.journal.entry import Entry
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.signing.text import unpack_text
from crawler_dedup.urls import without_credentials

_LISTED = 10


@click.command()
@click.argument("url")
@json_option
@target_options
def why(url: str, json: bool, options: TargetOptions) -> None:
    """Explain why a page was kept, dropped or left unchecked.

    URL is the address of the page as the crawl knew it (after redirections). The command says when the decision was
    made, in which run, by which rule, and because of which other page, and shows where both differ, if their texts are
    stored. Decisions of earlier runs follow. INDEX is the directory of the index, or its address on a server; without
    it, the index of this project or directory is used.

    Exit status 0: the page is known. 1: it is not. 2: index or journal cannot be read.

    \b
    Examples:
      crawler-dedup why https://example.org/print/1
      crawler-dedup why https://example.org/print/1 .scrapy/dedup
    """
    target = options.find()
    history, config, damaged = _find_history(url, target)
    if history.url != without_credentials(url):
        click.echo(f"The page is known by another address, {printable(history.url)}:", err=json)
    print_damage(damaged)
    if not target.journals.files:
        click.echo(
            f"There is no journal beside the index in {target.directory}: what was dropped is not known.", err=True
        )
    if not history.scopes:
        _print_unknown(history, json=json)
        raise click.exceptions.Exit(1)
    overrides = list(map(str, history.overrides))
    overrides += [f"DEDUP_NEVER_DROP {prefix}" for prefix in config.never_drop if history.url.startswith(prefix)]
    spiders = [name for override in history.overrides for name in override.spiders]
    if json:
        pages = (_page_fields(page, history.url, scope) for scope, page in history.scopes.items())
        about_overrides = {"overrides": overrides, "restored_for": spiders}
        print_json("page", (fields | about_overrides for fields in pages))
        return
    for override in overrides:
        click.echo(f"An override applies to this page now, whatever was decided before: {printable(override)}.")
    for name in spiders:
        click.echo(f"It was restored: the next crawl with the spider {printable(name)} requests it first.")
    for scope, page in history.scopes.items():
        _print_history(page, history.url, scope)
        if page.kept is not None:
            _print_similar(page, history, scope, target)
        elif page.outcome is not None and page.outcome.is_duplicate:
            _print_difference(page, page.outcome, config, target)


def _find_history(url: str, target: Target) -> tuple[AddressHistory, Config, Mapping[Path, int]]:
    """Return what is known about *url*, or about the only address that may be meant.

    Also return the settings with which the index was made, and how many lines of journals are damaged.
    """
    with closing(opening.open_index(target.index)) as pages, closing(JournalTable()) as table:
        with progress_bars() as start:
            table.read(pages, target.journals, start)
        history = find_history(url, pages, table)
        if len(history.similar) == 1:
            history = find_history(history.similar[0], pages, table)
        config = config_from_spec(pages.header.spec, target.config)
        scheme = scheme_of(config.scheme, config)
        for page in history.scopes.values():
            page.similar = find_similar(pages, config, scheme, page.kept.page) if page.kept else ""
        return history, config, table.damaged


def _page_fields(page: PageHistory, url: str, scope: str) -> dict[str, Any]:
    return {
        "url": url,
        "scope": scope,
        "kept": _record_fields(page.kept),
        "duplicate_of": page.outcome.duplicate_of if page.outcome else "",
        "representative": _record_fields(page.representative),
        "events": page.entries,
        "duplicates": list(page.duplicates),
        "similar": page.similar,
        "missed_by": page.missed_by,
    }


def _record_fields(record: Record | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "url": record.page.url,
        "title": record.page.title,
        "run": f"{record.run:08x}",
        "filed": iso_time(record.filed),
        "seen": iso_time(record.seen),
        "settled": bool(record.settled),
        "dry_run": record.is_dry,
    }


def _print_unknown(history: AddressHistory, *, json: bool) -> None:
    click.echo(
        f"{printable(history.url)} is not kept, and no journal names it. It was never fetched, it redirected to another"
        " address, its response was no HTML page with status 200, or it was kept, but removed since: it expired"
        " (DEDUP_EXPIRE_DAYS), the index was emptied, or its crawl was killed.",
        err=json,
    )
    for url in history.similar:
        click.echo(f"  Known: {printable(url)}", err=json)


def _print_history(page: PageHistory, url: str, scope: str) -> None:
    outcome = page.outcome
    if outcome is not None:
        click.echo("\n".join([_outcome(outcome), *_details(outcome)]))
    if page.kept is not None:
        _print_kept(page.kept)
    elif outcome is None and not (page.entries and page.entries[-1].event == "mark"):
        click.echo(f"{printable(url)} is no longer kept, in scope “{printable(scope)}”.")
    elif page.representative is not None:
        _print_kept(page.representative)
    elif outcome is not None and outcome.duplicate_of not in ("", url):
        click.echo(f"{printable(outcome.duplicate_of)} is no longer kept.")
    if outcome is None and page.missed_by and (page.kept is None or page.kept.is_dry):
        click.echo(_describe_missing(page, url))
    _print_duplicates(page, url)
    if earlier := [entry for entry in page.entries if entry is not outcome]:
        click.echo("In the journal:" if outcome is None else "Before:")
        for entry in earlier:
            click.echo(
                f"  {describe_time(entry)}, {describe_crawl(entry)}: {_outcome(entry)} {describe_decision(entry)}".rstrip()
            )


def _describe_missing(page: PageHistory, url: str) -> str:
    """Return a sentence about the last run of the spider of a page, which has not fetched the page."""
    run = page.missed_by
    period = page.address.runs.get(run)
    spiders = printable(", ".join(sorted(period.spiders)))
    return (
        f"{printable(url)} was not fetched in the last run of the spider {spiders} (run {printable(run)},"
        f" {format_period(period.first, period.last)}), or was no HTML page with status 200."
    )


def _outcome(entry: Entry) -> str:  # noqa: PLR0911  (one return an event)
    """Return a sentence on what happened to the page of a journal entry."""
    url, kept = printable(entry.url), printable(entry.duplicate_of)
    match entry.event:
        case "unchecked":
            alike = f" It is similar to {kept}." if kept else ""
            return f"{url} passed unchecked: {printable(entry.reason)}.{alike}"
        case "skipped":
            return f"{url} was not compared, and passed: {printable(entry.reason)}."
        case "released":
            return (
                f"{url} passed and was forgotten: its callback failed, called `release` or requested it again, or pipelines"
                " dropped all of its items."
            )
        case "forgotten":
            return f"{url} was removed by `forget` at {describe_time(entry)}."
        case "unchanged":
            return f"{url} was unchanged, and passed."
        case "unchanged_dropped":
            return f"{url} was unchanged since an earlier visit, and dropped."
        case "mark":
            return f"{url} passed, marked as a duplicate of {kept}."
        case _:
            return f"{url} was dropped: a duplicate of {kept}."


def _details(entry: Entry) -> list[str]:
    """Return the other contents of a journal entry, as indented lines."""
    meaning = DROPPING.get(entry.rule)
    lines = [
        describe_decision(entry) + (f"; {meaning}" if meaning else ""),
        f"{describe_time(entry)}, {describe_crawl(entry)}" if entry.run else "",
        f"“{entry.title}”; {quantity(entry.bytes, 'byte')}; {quantity(entry.links, 'link')}" if entry.bytes else "",
    ]
    return [f"  {printable(line)}" for line in lines if line]


def _print_kept(record: Record) -> None:
    url = record.page.url
    if record.is_dry:
        state = f"was kept in a dry run on {format_time(record.seen)}, and not since"
    else:
        state = "is kept" if record.settled else "has passed, but was not handled completely, or is still being handled"
    click.echo(f"{printable(url)} {state}: “{printable(record.page.title)}”")
    click.echo(
        f"  added to the index {format_time(record.filed)}, run {record.run:08x}, scope"
        f" “{printable(record.page.scope)}”; last visited {format_time(record.seen)}"
    )


def _print_duplicates(page: PageHistory, url: str) -> None:
    count = len(page.duplicates)
    if not count:
        return
    is_representative = page.outcome is None or not page.outcome.duplicate_of
    address = url if page.outcome is None or is_representative else page.outcome.duplicate_of
    verb = "has" if page.kept is not None or page.representative is not None else "had"
    click.echo(
        f"{printable(address)} {verb} {quantity(count, 'duplicate' if is_representative else 'other duplicate')}:"
    )
    for entry in list(page.duplicates.values())[:_LISTED]:
        click.echo(f"  {printable(entry.url)}  ({describe_decision(entry)})")
    if count > _LISTED:
        click.echo(f"  … and {count - _LISTED:,} more (`crawler-dedup groups` lists all)")


def _print_difference(page: PageHistory, last: Entry, config: Config, target: Target) -> None:
    """Print how a duplicate and its representative differ, if it or both texts are stored."""
    record = page.representative
    dropped = target.find_stored().find(id_of(last)) if record else None
    new, kept = unpack_text(last.text), unpack_text(record.page.text) if record else ""
    if record is None or not (dropped or (new and kept)):
        command = _comparing(last.url, last.duplicate_of, last.scope, target)
        click.echo(f"Their texts are not stored. {command} fetches both pages, and shows where they differ now.")
        return
    lacks = None
    if dropped is not None:
        signer, body = Signer(config), as_fetched(dropped).self_describing_body
        new, lacks = signer.main_text(body), find_drop_lacks(last, body, record.page, signer, page.sites)
    print_drop(new, kept, lacks, has_changed=record.filed > last.seconds)


def _print_similar(page: PageHistory, history: AddressHistory, scope: str, target: Target) -> None:
    """Print which other kept page is most similar to a kept page, and the command that compares them."""
    if page.similar:
        apart = " (apart from separated pages)" * bool(history.overrides)
        click.echo(f"The most similar kept page{apart} is {printable(page.similar)}.")
        command = _comparing(history.url, page.similar, scope, target)
        click.echo(f"{command} shows what each page has that the other lacks.")
    elif not history.overrides:  # with one, the page is perhaps not compared
        click.echo("No other kept page is similar.")


def _comparing(url: str, other: str, scope: str, target: Target) -> str:
    """Return the command that fetches and compares two pages."""
    words = ["crawler-dedup", "compare", url, other, "--index", shorten(target.index), "--scope", scope]
    return f"`{printable(shlex.join(words))}`"
