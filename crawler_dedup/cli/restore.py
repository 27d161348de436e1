"""``crawler-dedup restore``, ``keep``, ``separate`` and ``index overrides``: correct wrong drops."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.cli.journals import WantedDrops, drop_options, print_damage
from crawler_dedup.cli.options import (
    Feeds,
    IndexType,
    add_options,
    feed_options,
    index_argument,
    journal_option,
    json_option,
    parse_pairs,
    settings_option,
)
from crawler_dedup.cli.project import TargetOptions, find_index, read_config
from crawler_dedup.cli.terminal import format_time, iso_time, print_json, printable, progress_bars, quantity
from crawler_dedup.config import PREFIX
from crawler_dedup.index import opening
from crawler_dedup.index.location import Location
from crawler_dedup.index.overrides import Override, OverrideKind, make_override
from crawler_dedup.inspection.dropped import Restored, id_of
from crawler_dedup.inspection.dropped import restore as restore_drops
from crawler_dedup.inspection.journals import read_entries
from crawler_dedup.inspection.journaltable import JournalTable
from crawler_dedup.urls import without_credentials

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import Settings


_index_option = click.option(
    "--index", type=IndexType(), help="Directory or address of the index.  [default: that of this project or directory]"
)


@click.command()
@click.argument("urls", nargs=-1)
@click.option("--of", "kept", metavar="URL", default="", help="Only duplicates of this kept page.")
@drop_options
@click.option("--dry-run", is_flag=True, help="Restore nothing; print what would be restored.")
@click.option(
    "--now",
    "spider",
    metavar="SPIDER",
    help="Crawl the restored pages now with SPIDER, and nothing else; also those of earlier calls that it has not fetched.",
)
@click.option("--follow", is_flag=True, help="With --now: follow the links of these pages, too.")
@feed_options
@click.option(
    "--argument", "-a", "arguments", multiple=True, metavar="NAME=VALUE", help="An argument of SPIDER. Can be repeated."
)
@_index_option
@journal_option
@settings_option("DEDUP_DIR=other")
def restore(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    urls: Sequence[str],
    kept: str,
    wanted: WantedDrops,
    dry_run: bool,
    spider: str | None,
    follow: bool,
    feeds: Feeds,
    arguments: Sequence[str],
    index: Location | None,
    journal: Sequence[Path],
    settings: Sequence[str],
) -> None:
    """Undo wrong drops, and let the next crawl request the pages again.

    URLS are the addresses of dropped pages; the options select drops in the journal, the record of drops. These pages
    are never dropped as duplicates from now on (as after `crawler-dedup keep`), and the next crawl with the same spider
    requests them first, with the callback that they had. Later crawls request a page again until it was handled without
    an error. They give up if it answers 404 or 410, and after three failed crawls. `crawler-dedup keep URL --undo`
    takes all of this back.

    With --now SPIDER, the pages are crawled at once, and their items go to the feeds and pipelines of the project and
    to the files of -o and -O. Their links are left to later crawls, unless --follow is given. With --now, -s sets any
    setting of Scrapy or of the filter.

    Exit status 0: all were restored. 1: some cannot be restored, or were not dropped.

    \b
    Examples:
      crawler-dedup restore https://example.org/report/2
      crawler-dedup restore --of https://example.org/report/1 --since 2d --dry-run
      crawler-dedup restore https://example.org/2 --now news -o pages.jsonl
    """
    selects = bool(urls or kept or any(astuple(wanted)))
    if not selects and spider is None:
        raise click.UsageError("Name the addresses of dropped pages, or options that select drops.")
    if spider is not None and (index or dry_run):
        raise click.UsageError(
            "--now cannot be combined with --index or --dry-run: it crawls at once, with the index of the project."
        )
    if spider is None and (arguments or feeds or follow):
        raise click.UsageError("-a, -o, -O and --follow are for the crawl of --now.")
    of_spider = parse_pairs(arguments, "spider argument", "section=city")
    # What a crawl lacks is said before anything is restored.
    crawl = None if spider is None else _prepare_crawl(spider, settings, feeds, follows=follow)
    is_complete, chosen = True, 0
    if selects:
        # Without a crawl, another setting would have no effect, and is refused as by all commands.
        of_filter = [word for word in settings if spider is None or word.startswith(PREFIX)]
        target = TargetOptions(index, journal, of_filter).find(needs_journal=True)
        addresses = {_bare(url): url for url in urls}
        with closing(opening.open_to_write(target.index)) as pages, closing(JournalTable()) as table:
            with progress_bars() as start:
                table.read(pages, target.journals, start)
            selection = wanted.select(table)
            if urls:  # refused with a sentence; other options select duplicates only
                selection = replace(selection, events={*selection.events, "unchanged_dropped"})
            dropped = "event IN ('drop', 'unchanged_dropped')"
            positions = table.select(f"SELECT file, offset_in_file FROM entries WHERE {dropped} ORDER BY id")  # noqa: S608
            drops = (
                entry
                for entry in read_entries(positions)
                if entry in selection
                and (not kept or _bare(entry.duplicate_of) == _bare(kept))
                and (not urls or _bare(entry.url) in addresses)
            )
            read_stored = cache(target.find_stored)
            result = restore_drops(
                pages,
                drops,
                int(time.time()),
                is_kept=table.is_kept,
                is_stored=lambda entry: id_of(entry) in read_stored(),
                is_dry=dry_run,
            )
        print_damage(table.damaged)
        is_complete, chosen = _print_result(result, addresses, is_on_stderr=feeds.use_stdout), len(result.restored)
        if crawl is None:
            verb = "would" if dry_run else "will"
            hint = "" if chosen else " `crawler-dedup index overrides` lists those of earlier calls."
            click.echo(f"{quantity(chosen, 'page')} {verb} be restored by the next crawl of the same spider.{hint}")
    if crawl is not None:
        restored = _crawl(*crawl, of_spider) if chosen or not selects else 0
        click.echo(f"{quantity(restored, 'page')} restored.", err=feeds.use_stdout)
        if restored < chosen:
            is_complete = False
            click.echo(
                f"{quantity(chosen - restored, 'page')} could not be fetched, or belongs to a spider other than"
                f" {printable(crawl[0].name)}: `crawler-dedup index overrides` lists them with their spiders.",
                err=True,
            )
    if not is_complete:
        raise click.exceptions.Exit(1)


def _bare(url: str) -> str:
    return without_credentials(url).partition("#")[0]


def _print_result(result: Restored, addresses: dict[str, str], *, is_on_stderr: bool) -> bool:
    """Print what was restored; return whether nothing was refused, and all *addresses* are among the drops."""
    echo = partial(click.echo, err=is_on_stderr)
    for entry in result.restored:
        echo(f"{printable(entry.url)}  ← {printable(entry.duplicate_of)}  spider {printable(entry.spider)}")
        if entry.request and entry.request.left_out:
            names = printable(", ".join(entry.request.left_out))
            echo(
                f"  The new request will not have {names}: of meta and cb_kwargs, only short JSON without passwords is"
                " recorded."
            )
    for entry, reason in result.refused:
        click.echo(f"{printable(entry.url)} cannot be restored: {printable(reason)}", err=True)
    known = {_bare(entry.url) for entry in (*result.restored, *(entry for entry, _ in result.refused))}
    unknown = [url for bare, url in addresses.items() if bare not in known]
    for url in unknown:
        click.echo(f"{printable(url)} cannot be restored: no journal has a drop of it (see `why`).", err=True)
    return not (result.refused or unknown)


def _prepare_crawl(name: str, options: Sequence[str], feeds: Feeds, *, follows: bool) -> tuple[type[Spider], Settings]:
    """Return the spider *name* of the project, which starts only at restored pages, and the settings of its crawl.

    Raises:
        click.UsageError: there is no such spider, an option has a wrong value, or nothing would store the items.
    """
    from scrapy.crawler import CrawlerRunner  # noqa: PLC0415  (slow to load)
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    from crawler_dedup.spiders.running import make_restoring, stores_items  # noqa: PLC0415

    settings = get_project_settings()
    of_crawl = parse_pairs(options, "setting", "DOWNLOAD_DELAY=0.2")
    settings.setdict({**of_crawl, "JOBDIR": None, "TWISTED_REACTOR_ENABLED": True}, priority="cmdline")
    try:
        spider = CrawlerRunner(settings).spider_loader.load(name)
    except KeyError:
        hint = "in a Scrapy project, `scrapy list` lists the spiders."
        raise click.BadParameter(f"There is no spider {name!r} here; {hint}") from None
    feeds.add_to(settings)
    if not stores_items(spider, settings):
        raise click.UsageError(
            "Nothing would store the restored pages, because this project has neither a feed nor an item pipeline: name a"
            " file with -o, for example that of the crawl (-o pages.jsonl)."
        )
    return make_restoring(spider, follows=follows), settings


def _crawl(spider: type[Spider], settings: Settings, arguments: Mapping[str, str]) -> int:
    """Crawl with *spider*, and return how many pages were restored."""
    from crawler_dedup.spiders.running import run_spider  # noqa: PLC0415  (slow to load)

    crawler = run_spider(spider, settings, None, **arguments).crawler
    return int(crawler.stats.get_value("dedup/restored", 0))


_undo_option = click.option("--undo", is_flag=True, help="Undo an earlier call with the same arguments.")
_options = add_options(_undo_option, _index_option, settings_option("DEDUP_DIR=other"))


@click.command()
@click.argument("urls", nargs=-1)
@click.option(
    "--below", multiple=True, metavar="URL", help="All pages whose addresses begin with this one. Can be repeated."
)
@_options
def keep(
    urls: Sequence[str], below: Sequence[str], index: Location | None, settings: Sequence[str], *, undo: bool
) -> None:
    """Never drop a page, or the pages below an address, as a duplicate.

    URLS are the addresses of pages, as the crawl knew them (after redirections); an address for --below ends with a slash.
    The command takes effect at once, also in running crawls, for all spiders that use the index. With DEDUP_REVISIT =
    "drop", a page that is unchanged since an earlier crawl is still dropped.

    Exit status 1: --undo found no such override.

    \b
    Examples:
      crawler-dedup keep https://example.org/report/2
      crawler-dedup keep --below https://example.org/minutes/
      crawler-dedup keep --below https://example.org/minutes/ --undo
    """
    overrides = [*_make("keep", [[url] for url in urls]), *_make("below", [[url] for url in below])]
    if not overrides:
        raise click.UsageError("Name the addresses of pages, or --below.")
    _change(overrides, index, settings, undo=undo)


@click.command()
@click.argument("urls", nargs=-1, metavar="URL URL")
@_options
def separate(urls: Sequence[str], index: Location | None, settings: Sequence[str], *, undo: bool) -> None:
    """Never drop one of two pages as a duplicate of the other.

    URL URL: the addresses of two pages, as the crawl knew them. Either may still be dropped as a duplicate of a
    third page.

    \b
    Examples:
      crawler-dedup separate https://example.org/1 https://example.org/2
      crawler-dedup separate https://example.org/1 https://example.org/2 --undo
    """
    _change(_make("separate", [urls]), index, settings, undo=undo)


@click.command()
@index_argument
@json_option
def overrides(index: Location | None, *, json: bool) -> None:
    """List the overrides: what `keep`, `separate` and `restore` have set.

    INDEX is the directory of the index, or its address on a server; without it, the index of this project or directory is
    used. The addresses in DEDUP_NEVER_DROP are not listed.

    \b
    Examples:
      crawler-dedup index overrides
      crawler-dedup index overrides .scrapy/dedup --json
    """
    with closing(opening.open_index(find_index(index))) as pages:
        stored = pages.list_overrides()
    if json:
        fields = (
            {"kind": each.kind, "urls": each.urls, "since": iso_time(each.since), "restored_for": each.spiders}
            for each in stored
        )
        print_json("override", fields)
        return
    for each in stored:
        waits = f"  (restored by the next crawl of {', '.join(each.spiders)})" if each.restorations else ""
        click.echo(f"{format_time(each.since)}  {printable(f'{each}{waits}')}")
    if not stored:
        click.echo("There are no overrides.")


def _make(kind: OverrideKind, groups: Iterable[Sequence[str]]) -> list[Override]:
    try:
        return [make_override(kind, urls, int(time.time())) for urls in groups]
    except ValueError as error:
        raise click.BadParameter(printable(str(error))) from error


def _change(overrides: Sequence[Override], index: Location | None, settings: Sequence[str], *, undo: bool) -> None:
    location = find_index(index, read_config(settings))
    with closing(opening.open_to_write(location)) as pages:
        changed = pages.remove_overrides(overrides) if undo else pages.add_overrides(overrides)
    same = len(overrides) - changed
    note = f"; {same:,} {'not found' if undo else 'already set'}" if same else ""
    click.echo(f"{quantity(changed, 'override')} {'removed' if undo else 'added'}{note}.")
    if undo and changed < len(overrides):
        raise click.exceptions.Exit(1)
