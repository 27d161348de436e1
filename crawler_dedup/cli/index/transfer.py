"""``crawler-dedup index export`` and ``import``: write an index to one portable file, and read it back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click
from rich.filesize import decimal

from crawler_dedup.cli.options import index_argument
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_existing_index, find_index
from crawler_dedup.cli.terminal import quantity
from crawler_dedup.index import maintenance
from crawler_dedup.index.export import Export
from crawler_dedup.index.location import Location
from crawler_dedup.rules.counts import can_read
from crawler_dedup.signing.lookup import lookup_of


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@index_argument
def export_(file: Path, index: Location | None) -> None:
    """Write an index to one portable file.

    FILE is the file to write, which `crawler-dedup index import` reads on any machine. INDEX is the directory of the index,
    or its address on a server; without it, the index of this Scrapy project is used. Records that cannot be read are left
    out and counted: import the file into a new directory to replace a damaged index. If the command is interrupted, no file
    is written.

    \b
    Examples:
      crawler-dedup index export pages.dedup
      crawler-dedup index export pages.dedup .scrapy/dedup
    """
    with closing(maintenance.open_to_write(find_existing_index(index))) as opened, progress_bars() as start:
        unreadable: list[int] = []
        written = maintenance.export_index(
            opened,
            file,
            start("exporting", maintenance.count_entries(opened)),
            note_unreadable=unreadable.append,
            is_readable=can_read,
        )
    click.echo(f"{quantity(written, 'page')} written to {file}, {decimal(file.stat().st_size)}.")
    if unreadable:
        click.echo(f"Without {quantity(len(unreadable), 'record')} that cannot be read.")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@index_argument
def import_(file: Path, index: Location | None) -> None:
    """Merge an exported index into an index.

    FILE was written by `crawler-dedup index export`. INDEX is the directory of the index, or its address on a server; it is
    created if it does not exist. Without INDEX, the index of this Scrapy project is used. Pages that are in the index
    already stay as they are. A damaged file changes nothing. If the command is interrupted, the pages that were imported by
    then stay in the index, and a second call imports the rest.

    \b
    Examples:
      crawler-dedup index import pages.dedup
      crawler-dedup index import pages.dedup .scrapy/dedup
    """
    location = find_index(index)
    with progress_bars() as start:
        export = Export(file)
        reading, importing = start("reading", len(export)), start("importing", len(export))
        total, new = maintenance.import_index(export, location, lookup_of, reading, importing, is_readable=can_read)
    click.echo(f"{quantity(total, 'page')} read, {new:,} of them new.")
