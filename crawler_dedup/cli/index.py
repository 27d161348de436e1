"""``crawler-dedup index``: what is done with an index between crawls."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import click
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.forget import forget
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.terminal import OUT_OF_MEMORY, errors_as_messages, format_time, make_console
from crawler_dedup.errors import DedupError, IndexDamaged
from crawler_dedup.index import compaction, maintenance
from crawler_dedup.index.export import Export
from crawler_dedup.index.maintenance import Contents
from crawler_dedup.index.permuted import PermutedIndex
from crawler_dedup.index.store import Store
from crawler_dedup.signing.lookup import lookup_of

_MAX_ROWS = 20

_required_index = click.argument("directory", metavar="INDEX", type=click.Path(path_type=Path))


@click.group(no_args_is_help=True)
def index() -> None:
    """Inspect, verify, compact, export or import an index."""


@index.command()
@_required_index
def stats(directory: Path) -> None:
    """Print the configuration, size and contents of an index."""
    with errors_as_messages(), progress_bars() as start:
        opened = maintenance.open_index(directory)
        try:
            header, figures = maintenance.read_header(opened), maintenance.measure(opened)
            entries, contents = len(opened), None
            if not isinstance(opened, PermutedIndex):
                contents = maintenance.count_contents(opened, start("reading", entries))
        finally:
            opened.close()
    table = Table(show_header=False)
    table.add_row("kind", header.kind)
    table.add_row(header.kind, f"{entries:,}")
    for name, value in {"format": str(header.format), **header.spec, **header.libraries}.items():
        table.add_row(Text(name), Text(value))
    table.add_section()
    table.add_row("on disk", decimal(figures.disk_bytes))
    if entries:
        table.add_row(f"bytes a {header.kind[:-1]}", f"{figures.disk_bytes / entries:,.0f}")
    table.add_row("free in the file", f"{1 - figures.used_pages / figures.pages:.0%}")
    table.add_row("readers", str(figures.readers))
    if contents is not None:
        _add_contents(table, contents)
    make_console().print(table)


@index.command()
@_required_index
@click.option("--repair", is_flag=True, help="Repair the index if it is damaged.")
def verify(directory: Path, repair: bool) -> None:
    """Check that the buckets of an index agree with its records.

    A repair rebuilds everything from the records, and removes records that cannot be read. In an index of bare signatures
    it keeps every signature that is in any table.

    Exit status 0: the index is sound, or was repaired. 1: it is damaged. 2: it cannot be read.
    """
    with errors_as_messages():
        maintenance.require_index(directory)
        problems = _verify_in_child(directory, repair=False)
        for problem in problems:
            click.echo(problem)
        if not problems:
            click.echo("The index is sound.")
        elif repair:
            problems = _verify_in_child(directory, repair=True)
            click.echo("; ".join(problems) or "Repaired.")
    raise click.exceptions.Exit(1 if problems else 0)


@index.command()
@_required_index
def compact(directory: Path) -> None:
    """Rewrite an index without its free space.

    No other process may have the index open.
    """
    with errors_as_messages(), progress_bars() as start:
        maintenance.require_index(directory)
        start("compacting", None)
        before, after = compaction.compact(directory)
    click.echo(f"{decimal(before)} before, {decimal(after)} after.")


index.add_command(forget)


@index.command("export")
@_required_index
@click.argument("file", type=click.Path(path_type=Path))
def export_(directory: Path, file: Path) -> None:
    """Write an index to one portable file (docs/export.md)."""
    with errors_as_messages(), progress_bars() as start:
        opened = maintenance.open_index(directory)
        try:
            written = maintenance.export_index(opened, file, start("exporting", len(opened)))
        finally:
            opened.close()
    click.echo(f"{written:,} written, {decimal(file.stat().st_size)}.")


@index.command("import")
@_required_index
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_(directory: Path, file: Path) -> None:
    """Merge an exported index into an index, which is created if it does not exist.

    FILE was written by `crawler-dedup index export`. A damaged file changes nothing.
    """
    with errors_as_messages(), progress_bars() as start:
        export = Export(file)
        total, new = maintenance.import_index(
            export, directory, lookup_of, start("reading", len(export)), start("importing", len(export))
        )
    click.echo(f"{total:,} read, {new:,} of them new.")


def _verify_in_child(index: Path, *, repair: bool) -> list[str]:
    """Return what is wrong with an index, after a repair if that is asked for, as messages.

    A process of its own does it: LMDB can crash on a damaged file.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_verify_and_send, args=(index, repair, sender))
    child.start()
    sender.close()
    try:
        problems: list[str] | DedupError | OSError = receiver.recv()
    except EOFError:
        child.join()
        code = child.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        problems = [f"The index is damaged: reading it crashed ({how})."]
    child.join()
    if isinstance(problems, Exception):
        raise problems
    return problems


def _verify_and_send(index: Path, repair: bool, sender: Connection) -> None:
    problems: list[str] | DedupError | OSError
    try:
        opened = maintenance.open_index(index)
        try:
            with progress_bars() as start:
                if repair:
                    maintenance.repair(opened, lookup_of, start("repairing", _length(opened)))
                problems = maintenance.verify(opened, lookup_of, start("verifying", _length(opened)))
        finally:
            opened.close()
    except IndexDamaged as error:
        problems = [str(error)]
    except (DedupError, OSError) as error:
        problems = error
    except MemoryError:
        problems = DedupError(OUT_OF_MEMORY)
    sender.send(problems)


def _length(index: Store | PermutedIndex) -> int | None:
    """Return how many entries *index* has; ``None`` if its count is damaged, which a repair mends."""
    try:
        return len(index)
    except IndexDamaged:
        return None


def _add_contents(table: Table, contents: Contents) -> None:
    table.add_row("claims not settled", f"{contents.open_claims:,}")
    table.add_section()
    for scope, count in list(contents.scopes.items())[:_MAX_ROWS]:
        table.add_row(Text(f"scope {scope}"), f"{count:,}")
    if len(contents.scopes) > _MAX_ROWS:
        table.add_row("scopes", f"{len(contents.scopes):,} altogether")
    table.add_section()
    latest = sorted(contents.runs.items(), key=lambda run: run[1].last_filed, reverse=True)
    for number, run in latest[:_MAX_ROWS]:
        table.add_row(f"run {number:08x}", f"{run.pages:,}, the last {format_time(run.last_filed)}")
    if len(latest) > _MAX_ROWS:
        table.add_row("runs", f"{len(latest):,} altogether")
