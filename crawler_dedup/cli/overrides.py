"""``crawler-dedup keep``, ``separate`` and ``index overrides``: say about pages what no rule overrules."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from crawler_dedup.cli.options import IndexType, index_argument, json_option, settings_option
from crawler_dedup.cli.project import find_index, read_config
from crawler_dedup.cli.terminal import format_time, iso_time, print_json, printable, quantity
from crawler_dedup.index import opening
from crawler_dedup.index.location import Location
from crawler_dedup.index.overrides import Override, OverrideKind, make_override

_index_option = click.option(
    "--index", type=IndexType(), help="Directory or address of the index.  [default: that of this Scrapy project]"
)
_undo_option = click.option("--undo", is_flag=True, help="Remove the overrides that the same arguments have set.")


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _undo_option(_index_option(settings_option(command)))


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
    This holds from the next page on, also in running crawls, for all spiders that use the index. With DEDUP_REVISIT =
    "drop", a page that is unchanged since an earlier crawl is still dropped.

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
@click.argument("urls", nargs=-1)
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Pairs of addresses: one pair per line, separated by a tab.",
)
@_options
def separate(
    urls: Sequence[str], file: Path | None, index: Location | None, settings: Sequence[str], *, undo: bool
) -> None:
    """Never let one of two pages represent the other.

    URLS are the addresses of two pages, as the crawl knew them. Another page may still represent either of them.

    \b
    Examples:
      crawler-dedup separate https://example.org/1 https://example.org/2
      crawler-dedup separate --file pairs.tsv
    """
    pairs = [list(urls)] if urls else []
    if file is not None:
        lines = file.read_text(encoding="utf-8").splitlines()
        pairs += [line.split("\t") for line in lines if line.strip()]
    if not pairs:
        raise click.UsageError("Name two addresses, or a --file of pairs.")
    _change(_make("separate", pairs), index, settings, undo=undo)


@click.command()
@index_argument
@json_option
def overrides(index: Location | None, *, json: bool) -> None:
    """List the overrides that `keep`, `separate` and `restore` have set.

    INDEX is the directory of the index, or its address on a server; without it, the index of this Scrapy project is used.
    The addresses in DEDUP_NEVER_DROP are not listed.

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
    click.echo(f"{quantity(changed, 'override')} {'removed' if undo else 'added'}.")
    if undo and changed < len(overrides):
        raise click.exceptions.Exit(1)
