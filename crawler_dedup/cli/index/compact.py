"""``crawler-dedup index compact``: rewrite an index without its free space."""

from __future__ import annotations

import click
from rich.filesize import decimal

from crawler_dedup.cli.options import index_argument
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_directory, find_existing_index
from crawler_dedup.index import maintenance
from crawler_dedup.index.lmdb import compaction
from crawler_dedup.index.location import Location


@click.command
@index_argument
def compact(index: Location | None) -> None:
    """Rewrite an index without its free space.

    INDEX is the directory of the index; without it, the index of this Scrapy project is used. No other process may have the
    index open. If the command is interrupted, the index stays as it was.

    \b
    Examples:
      crawler-dedup index compact
      crawler-dedup index compact .scrapy/dedup
    """
    directory = find_directory(index)
    find_existing_index(directory)
    with progress_bars() as start:
        before, after = compaction.compact(directory, start("compacting", maintenance.file_size(directory)))
    click.echo(f"The index took {decimal(before)} before, and takes {decimal(after)} now.")
