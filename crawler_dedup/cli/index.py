"""``crawler-dedup index``: what is done with an index between crawls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.options import index_argument, json_option
from crawler_dedup.cli.project import find_index
from crawler_dedup.cli.terminal import (
    format_time,
    iso_time,
    make_console,
    make_table,
    print_json,
    progress_bars,
    quantity,
)
from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError, DedupError, IndexDamaged
from crawler_dedup.index import opening
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb import compaction
from crawler_dedup.index.lmdb.engine import DATA_FILE
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.location import Location
from crawler_dedup.index.profiles import StoredSite
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.journaltable import JournalTable
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.inspection.verification import find_problems
from crawler_dedup.rules.counts import can_read
from crawler_dedup.signing.lookup import Lookup, lookup_of
from crawler_dedup.signing.signer import config_from_spec
from crawler_dedup.system.callbacks import ignore_progress
from crawler_dedup.system.processes import ProcessDied, map_in_processes, raise_if_stopped

_MAX_ROWS = 20
_MEANINGS = {"behaviour": "version of the signatures", "fold han": "Traditional as Simplified Chinese"}
"""Plainer words for names in the header."""
_WAY_OUT = "The index is damaged. `crawler-dedup index verify --help` says how to replace it."


@click.command
@index_argument
@json_option
def stats(index: Location | None, json: bool) -> None:
    """Print the configuration, size and contents of an index.

    INDEX is the directory of the index, or its address on a server; without it, the index of this project or directory is
    used. A crawl compares only pages of the same scope (DEDUP_SCOPE). A run is one crawl, or one use of the index by
    another program that adds pages. The table has only the largest scopes, and the latest runs whose pages are kept;
    --json prints all. `crawler-dedup drops --summary` lists all runs.

    \b
    Examples:
      crawler-dedup index stats
      crawler-dedup index stats .scrapy/dedup --json
    """
    with closing(opening.open_to_write(find_index(index))) as opened, closing(JournalTable()) as pages:
        with progress_bars() as start:
            pages.read_index(opened, start("reading", len(opened)))
        fields = _index_fields(opened)
        ((fields["open_claims"],),) = pages.select("SELECT count(*) FROM pages WHERE NOT settled")
        scopes = list(pages.select("SELECT scope, count(*) FROM pages GROUP BY scope ORDER BY count(*) DESC, scope"))
        runs = list(pages.select("SELECT run, count(*), max(filed) AS last FROM pages GROUP BY run ORDER BY last DESC"))
    if not json:
        make_console().print(_table(fields, scopes, runs))
        return
    print_json("index", [fields])
    print_json("index_scope", ({"scope": scope, "pages": number} for scope, number in scopes))
    print_json("index_run", ({"run": run, "pages": number, "last_filed": iso_time(last)} for run, number, last in runs))


def _index_fields(opened: Index) -> dict[str, Any]:
    header, sites = opened.header, [(site.number > 0, _count_bytes(site)) for site in opened.sites()]
    return {
        "entries": len(opened),
        "format": header.format,
        "spec": header.spec,
        "libraries": header.libraries,
        "disk_bytes": opened.stored_bytes,
        "open_claims": 0,
        "sites": len(sites),
        "known_sites": sum(is_known for is_known, _ in sites),
        "site_bytes": sum(size for _, size in sites),
    }


def _count_bytes(site: StoredSite) -> int:
    """Return about how many bytes are stored of a site."""
    return 100 + len(site.counts) + sum(len(content) for _, content in site.snapshots)


def _table(fields: Mapping[str, Any], scopes: Sequence[tuple[str, int]], runs: Sequence[tuple[str, int, int]]) -> Table:
    table = make_table("name", "value", show_header=False)
    entries, stored_bytes = fields["entries"], fields["disk_bytes"]
    table.add_row("pages", f"{entries:,}")
    for name, value in {"format": str(fields["format"]), **fields["spec"], **fields["libraries"]}.items():
        table.add_row(Text(_MEANINGS.get(name, name)), Text(value))
    table.add_section()
    if stored_bytes is not None:
        table.add_row("on disk", decimal(stored_bytes))
        if entries:
            table.add_row("bytes per page", f"{stored_bytes / entries:,.0f}")
    table.add_row("pages that are still being handled", f"{fields['open_claims']:,}")
    sites = f"{fields['sites']:,} (template learned: {fields['known_sites']:,}); {decimal(fields['site_bytes'])}"
    table.add_row("sites", sites)
    table.add_section()
    for scope, number in scopes[:_MAX_ROWS]:
        table.add_row(Text(f"scope {scope}"), f"{number:,}")
    if len(scopes) > _MAX_ROWS:
        table.add_row("scopes", f"{len(scopes):,} in all")
    table.add_section()
    for run, number, last in runs[:_MAX_ROWS]:
        table.add_row(f"run {run}", f"{number:,}, the last at {format_time(last)}")
    if len(runs) > _MAX_ROWS:
        table.add_row("runs", f"{len(runs):,} in all")
    return table


@click.command
@index_argument
@json_option
def verify(index: Location | None, json: bool) -> None:
    """Check an index for damage. Nothing is changed.

    INDEX is the directory of the index; without it, the index of this project or directory is used. All entries are checked
    against each other, which may take a while. To replace a damaged index, export it, and import the file into a new
    directory: the export contains everything that can be read.

    Exit status 0: the index is sound. 1: it is damaged, or cannot be read to its end. 2: it cannot be opened.

    \b
    Examples:
      crawler-dedup index verify
      crawler-dedup index verify .scrapy/dedup
    """
    directory = _find_directory(index)
    try:
        find_index(directory)
        # In another process, because LMDB can crash on a damaged file. With a single job it would be this one.
        (problems,) = map_in_processes(_verify, [directory], 2, ignore_progress)
    except ProcessDied:
        problems = ["The index is damaged: the process that has read it crashed, or was ended from outside."]
    except IndexDamaged as error:
        problems = [str(error)]
    if json:
        print_json("index_problem", ({"message": message} for message in problems))
    else:
        for message in problems:
            click.echo(message)
        click.echo(_WAY_OUT if problems else "The index is sound.")
    raise click.exceptions.Exit(1 if problems else 0)


def _verify(directory: Path) -> list[str]:
    """Return messages about the damage of an index."""
    try:
        with closing(DirectoryIndex.attach(directory)) as opened, progress_bars() as start:
            show = start("verifying", _count_entries(opened))

            def advance(entries: int) -> None:
                raise_if_stopped()
                show(entries)

            return find_problems(opened, _filing_of(opened.header.spec), advance)
    except IndexDamaged as error:
        return [str(error)]


def _filing_of(spec: Mapping[str, str]) -> Lookup:
    """Return how the pages of an index are filed, given the spec in its header; check what the spec names."""
    try:
        config_from_spec(spec, Config())
        return lookup_of(spec)
    except ConfigError as error:
        raise IndexDamaged(
            f"The header of the index is damaged, or names something that is not installed here: {error}"
        ) from error


@click.command
@index_argument
def compact(index: Location | None) -> None:
    """Rewrite an index without its free space.

    INDEX is the directory of the index; without it, the index of this project or directory is used. No other process may
    have the index open. If the command is interrupted, the index stays as it was.

    \b
    Examples:
      crawler-dedup index compact
      crawler-dedup index compact .scrapy/dedup
    """
    directory = _find_directory(index)
    find_index(directory)
    with progress_bars() as start:
        before, after = compaction.compact(directory, start("compacting", (directory / DATA_FILE).stat().st_size))
    click.echo(f"The index took {decimal(before)} before, and takes {decimal(after)} now.")


def _find_directory(index: Location | None) -> Path:
    location = find_index(index, must_exist=False)
    if not isinstance(location, Path):
        raise DedupError(f"The index in {location} is on a server: this command is for indexes in directories.")
    return location


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@index_argument
def export_(file: Path, index: Location | None) -> None:
    """Write an index to one portable file.

    FILE is the file to write, which `crawler-dedup index import` reads on any machine. INDEX is the directory of the
    index, or its address on a server; without it, the index of this project or directory is used. Records that cannot be
    read are left out, and their number is printed: a damaged index is replaced by exporting it and importing the file into
    a new directory. If the command is interrupted, no file is written.

    \b
    Examples:
      crawler-dedup index export pages.dedup
      crawler-dedup index export pages.dedup .scrapy/dedup
    """
    with closing(opening.open_to_write(find_index(index))) as opened, progress_bars() as start:
        unreadable: list[int] = []
        written = transfer.export_index(
            opened,
            file,
            start("exporting", _count_entries(opened)),
            count_unreadable=unreadable.append,
            is_readable=can_read,
        )
    click.echo(f"{quantity(written, 'page')} written to {file}, {decimal(file.stat().st_size)}.")
    if unreadable:
        click.echo(f"Left out, because unreadable: {quantity(len(unreadable), 'record')}.")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@index_argument
def import_(file: Path, index: Location | None) -> None:
    """Merge an exported index into an index.

    FILE was written by `crawler-dedup index export`. INDEX is the directory of the index, or its address on a server; it is
    created if it does not exist. Without INDEX, the index of this project or directory is used. Pages that are in the index
    already stay as they are. A damaged file changes nothing. If the command is interrupted, the pages that were imported by
    then stay in the index, and a second call imports the rest.

    \b
    Examples:
      crawler-dedup index import pages.dedup
      crawler-dedup index import pages.dedup .scrapy/dedup
    """
    location = find_index(index, must_exist=False)
    with progress_bars() as start:
        export = Export(file)
        reading, importing = start("reading", len(export)), start("importing", len(export))
        total, new = transfer.import_index(export, location, lookup_of, reading, importing, is_readable=can_read)
    click.echo(f"{quantity(total, 'page')} read, {new:,} of them new.")


def _count_entries(pages: Index) -> int | None:
    """Return how many pages an index has; ``None`` if their number is damaged."""
    try:
        return len(pages)
    except IndexDamaged:
        return None
