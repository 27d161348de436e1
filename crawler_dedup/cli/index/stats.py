"""``crawler-dedup index stats``: print the configuration, size and contents of an index."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import click
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.options import index_argument, json_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_existing_index
from crawler_dedup.cli.terminal import format_time, iso_time, make_console, print_json
from crawler_dedup.index import maintenance
from crawler_dedup.index.header import FileFigures, Header
from crawler_dedup.index.location import Location
from crawler_dedup.index.maintenance import Contents
from crawler_dedup.system.callbacks import Start

_MAX_ROWS = 20


@dataclass(frozen=True)
class _Stats:
    """The figures of an index.

    Attributes:
        stored_bytes: bytes that the index takes on disk, or in the memory of a server.
        figures: figures of its file; ``None`` if it is no file.
    """

    header: Header
    stored_bytes: int
    figures: FileFigures | None
    entries: int
    contents: Contents


@click.command
@index_argument
@json_option
def stats(index: Location | None, json: bool) -> None:
    """Print the configuration, size and contents of an index.

    INDEX is the directory of the index, or its address on a server; without it, the index of this Scrapy project is used.
    Of many scopes and runs, the table has the largest scopes and the latest runs; --json prints all.

    \b
    Examples:
      crawler-dedup index stats
      crawler-dedup index stats .scrapy/dedup --json
    """
    with progress_bars() as start:
        read = _read(find_existing_index(index), start)
    if json:
        _print_json(read)
    else:
        make_console().print(_table(read))


def _read(location: Location, start: Start) -> _Stats:
    with closing(maintenance.open_to_write(location)) as opened:
        header, figures, entries = opened.read_header(), opened.measure(), len(opened)
        contents = maintenance.count_contents(opened, start("reading", entries))
        return _Stats(header, opened.stored_bytes, figures, entries, contents)


def _print_json(read: _Stats) -> None:
    header, figures, contents = read.header, read.figures, read.contents
    index = {
        "kind": header.kind,
        "entries": read.entries,
        "format": header.format,
        "spec": header.spec,
        "libraries": header.libraries,
        "disk_bytes": read.stored_bytes,
        "free_share": _free_share(figures) if figures else None,
        "readers": figures.readers if figures else None,
        "open_claims": contents.open_claims,
        "sites": contents.sites.sites,
        "known_sites": contents.sites.known,
        "site_bytes": contents.sites.content_bytes,
    }
    print_json("index", [index])
    print_json("index_scope", ({"scope": scope, "pages": pages} for scope, pages in contents.scopes.items()))
    runs = (
        {"run": f"{number:08x}", "pages": run.pages, "last_filed": iso_time(run.last_filed)}
        for number, run in contents.runs.items()
    )
    print_json("index_run", runs)


def _table(read: _Stats) -> Table:
    header, figures = read.header, read.figures
    table = Table(show_header=False)
    for _ in ("name", "value"):
        table.add_column(overflow="fold")
    table.add_row("kind", header.kind)
    table.add_row("pages", f"{read.entries:,}")
    for name, value in {"format": str(header.format), **header.spec, **header.libraries}.items():
        table.add_row(Text(name), Text(value))
    table.add_section()
    table.add_row("on disk" if figures else "in memory", decimal(read.stored_bytes))
    if read.entries:
        table.add_row("bytes per page", f"{read.stored_bytes / read.entries:,.0f}")
    if figures:
        table.add_row("free in the file", f"{_free_share(figures):.0%}")
        table.add_row("readers", str(figures.readers))
    _add_contents(table, read.contents)
    return table


def _free_share(figures: FileFigures) -> float:
    return 1 - figures.used_pages / figures.pages


def _add_contents(table: Table, contents: Contents) -> None:
    table.add_row("claims not settled", f"{contents.open_claims:,}")
    sites = contents.sites
    table.add_row("sites", f"{sites.sites:,}, of {sites.known:,} there is a snapshot; {decimal(sites.content_bytes)}")
    table.add_section()
    for scope, count in list(contents.scopes.items())[:_MAX_ROWS]:
        table.add_row(Text(f"scope {scope}"), f"{count:,}")
    if len(contents.scopes) > _MAX_ROWS:
        table.add_row("scopes", f"{len(contents.scopes):,} in all")
    table.add_section()
    latest = sorted(contents.runs.items(), key=lambda run: run[1].last_filed, reverse=True)
    for number, run in latest[:_MAX_ROWS]:
        table.add_row(f"run {number:08x}", f"{run.pages:,}, the last {format_time(run.last_filed)}")
    if len(latest) > _MAX_ROWS:
        table.add_row("runs", f"{len(latest):,} in all")
