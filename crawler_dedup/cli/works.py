"""``crawler-dedup works``: a library of works, and the pages that share passages with them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from crawler_dedup.cli.options import jobs_option, json_option
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import (
    format_time,
    iso_time,
    make_console,
    make_table,
    print_error,
    print_json,
    printable,
    progress_bars,
    quantity,
)
from crawler_dedup.errors import ConfigError, DedupError
from crawler_dedup.system.processes import map_in_processes
from crawler_dedup.urls import escape_surrogates
from crawler_dedup.works.comparison import SCHEMES
from crawler_dedup.works.documents import SUFFIXES, list_documents
from crawler_dedup.works.inputs import check_part, list_parts
from crawler_dedup.works.library import Library, SignedWork, Work, sign_file
from crawler_dedup.works.matches import Match, Matches


def _find_library(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
    """Return the directory of the library that a command names, or that of the project."""
    if value is not None:
        return value
    config = read_config(())
    if not config.works:
        raise ConfigError("No library is named: give --library DIR, or set DEDUP_WORKS.")
    from crawler_dedup.crawl.configuration import directory_of  # noqa: PLC0415  (slow to load)

    return directory_of("DEDUP_WORKS", config.works)


library_option = click.option(
    "--library",
    type=click.Path(file_okay=False, path_type=Path),
    callback=_find_library,
    help="Directory of the library.  [default: DEDUP_WORKS of this Scrapy project]",
)
_paths_argument = click.argument(
    "paths", nargs=-1, required=True, metavar="WORK...", type=click.Path(exists=True, path_type=Path)
)


# The library


@click.command()
@_paths_argument
@library_option
@click.option(
    "--scheme",
    type=click.Choice(("auto", *SCHEMES)),
    default="auto",
    show_default=True,
    help="What is compared. pinyin: the initials of Chinese characters, which are the same for homophones; winnowing: the"
    " letters themselves; auto: pinyin for texts that are mostly Chinese, else winnowing.",
)
@jobs_option
def add(paths: Sequence[Path], library: Path, scheme: str, jobs: int) -> None:
    """Add works to a library.

    WORK is a file: text or Markdown in any charset, HTML or EPUB, also packed with gzip. Title and author come from its
    metadata; without a title there, the name of the file is the title. If it is a folder, all such files below it are
    added. A file that is in the library and has not changed is left as it is; a changed one replaces its earlier state.

    Exit status 0: done. 2: a file could not be read; the others were added.

    \b
    Examples:
      crawler-dedup works add novels/ --library works
      crawler-dedup works add book.epub poem.txt --library works
    """
    files = list(dict.fromkeys(file.resolve() for path in paths for file in list_documents(path)))
    if not files:
        raise DedupError(f"{', '.join(map(str, paths))}: there is no file to read ({', '.join(SUFFIXES)}).")
    with closing(Library(library, writable=True)) as opened, progress_bars() as start:
        known = opened.digests()
        sign = partial(sign_file, scheme=scheme)
        tasks = [(file, known.get(escape_surrogates(str(file)))) for file in files]
        added, errors = 0, 0
        for signed in map_in_processes(sign, tasks, min(jobs, len(tasks)), start("signing", len(tasks)), chunk_size=1):
            if isinstance(signed, SignedWork):
                opened.add(signed)
                added += 1
            elif signed:
                print_error(signed)
                errors += 1
        count = len(opened.works())
    click.echo(f"{quantity(added, 'work')} added or changed; the library has {quantity(count, 'work')}.")
    if errors:
        raise click.exceptions.Exit(2)


@click.command("list")
@library_option
@json_option
def list_(library: Path, json: bool) -> None:
    """List the works of a library.

    \b
    Examples:
      crawler-dedup works list --library works
      crawler-dedup works list --library works --json
    """
    with closing(Library(library)) as opened:
        works = opened.works()
    if json:
        print_json("work", ({**asdict(work), "added": iso_time(work.added)} for work in works))
        return
    table = make_table("work", "title", "author", "scheme", "added", "file", right=("characters",))
    for work in works:
        names = [Text(printable(name)) for name in (work.title, work.author)]
        cells = work.scheme, format_time(work.added), Text(printable(work.source)), f"{work.chars:,}"
        table.add_row(str(work.id), *names, *cells)
    make_console().print(table)


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="WORK...")
@library_option
def remove(names: Sequence[str], library: Path) -> None:
    """Remove works from a library.

    WORK is the number, the title or the file of a work, as `works list` prints them. The matches of a work stay.

    Exit status 1: there is no such work, and nothing was removed.

    \b
    Examples:
      crawler-dedup works remove 3 --library works
    """
    with closing(Library(library, writable=True)) as opened:
        works: dict[str, list[Work]] = {name: opened.find(name) for name in names}
        if missing := [name for name, found in works.items() if not found]:
            click.echo(f"There is no work {printable(', '.join(missing))}.", err=True)
            raise click.exceptions.Exit(1)
        chosen = {work.id: work for found in works.values() for work in found}
        for work in chosen.values():
            opened.remove(work)
    click.echo(f"{quantity(len(chosen), 'work')} removed.")


# Checking


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@library_option
@json_option
@jobs_option
def check(inputs: Sequence[str], library: Path, json: bool, jobs: int) -> None:
    """Find the pages that share passages with works of a library.

    INPUT is a text, Markdown, HTML or EPUB file, a folder of them, a WARC, WACZ, JSON Lines or Parquet file, an
    address, a text file that contains only addresses, or the directory of an index that was made with DEDUP_STORE_TEXT
    = True. Each page is compared with all works; a match is a page and a work that share passages. Matches are stored
    in the directory of the library; a match that is known is updated. In the output of --json, `start` and `end` are
    positions in the text of the page, in characters, and `work_start` and `work_end` in that of the work.

    Exit status 0: no new match. 1: new matches. 2: no new match, but an input could not be read.

    \b
    Examples:
      crawler-dedup works check suspects/ --library works
      crawler-dedup works check crawl.warc.gz urls.txt --library works --json
    """
    parts = [part for name in inputs for part in list_parts(name, jobs)]
    with closing(Library(library)), closing(Matches(library)):  # created before processes use them
        pass
    compare_part = partial(check_part, library=library, max_bytes=read_config(()).max_bytes)
    pages, matches, errors = 0, list[tuple[Match, bool]](), set[str]()
    with progress_bars() as start:
        advance = start("checking", len(parts))
        for checked in map_in_processes(compare_part, parts, min(jobs, len(parts)), advance, chunk_size=1):
            pages += checked.pages
            matches += checked.matches
            for error in set(checked.errors) - errors:  # parts of an input may have the same
                print_error(error)
            errors.update(checked.errors)
    new = sum(is_new for _, is_new in matches)
    if json:
        print_json("match", (match_fields(match) for match, _ in matches))
        print_json("checked", [{"pages": pages, "matches": len(matches), "new": new, "errors": len(errors)}])
    else:
        if matches:
            print_matches([match for match, _ in matches])
        click.echo(f"{quantity(pages, 'page')} checked; {quantity(len(matches), 'match')}, {new:,} new.")
    if new or errors:
        raise click.exceptions.Exit(1 if new else 2)


def match_fields(match: Match) -> dict[str, Any]:
    """Return the fields of a match for JSON Lines."""
    times = {"first_seen": iso_time(match.first_seen), "last_seen": iso_time(match.last_seen)}
    return {**asdict(match), **times}


def print_matches(matches: Sequence[Match]) -> None:
    """Print a table of matches."""
    table = make_table("match", "status", "work", right=("of the work", "of the page", "passages"))
    table.add_column("page", overflow="fold")
    for match in matches:
        shares = (f"{match.share_of_work:.1%}", f"{match.share_of_page:.1%}", f"{match.passages:,}")
        table.add_row(str(match.id), match.status, Text(printable(match.title)), *shares, Text(printable(match.url)))
    make_console().print(table)
