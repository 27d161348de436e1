"""``crawler-dedup index``: what is done with an index between crawls."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.forget import forget
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.terminal import OUT_OF_MEMORY, errors_as_messages, format_time
from crawler_dedup.errors import DedupError, IndexDamaged
from crawler_dedup.index import compaction, maintenance
from crawler_dedup.index.export import Export
from crawler_dedup.index.maintenance import Contents
from crawler_dedup.index.permuted import PermutedIndex
from crawler_dedup.index.store import Store
from crawler_dedup.signing.lookup import lookup_of

app = typer.Typer(no_args_is_help=True, help="Look after an index.")

_MAX_ROWS = 20

RequiredIndex = Annotated[Path, typer.Argument(help="Directory of the index.")]


@app.command()
def stats(index: RequiredIndex) -> None:
    """Print what an index is and what it holds."""
    with errors_as_messages(), progress_bars() as start:
        opened = maintenance.open_index(index)
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
    Console().print(table)


@app.command()
def verify(
    index: RequiredIndex, repair: Annotated[bool, typer.Option("--repair", help="Make anew what does not fit.")] = False
) -> None:
    """Hold every bucket of an index against its records.

    Exit status 0: it is sound, or was repaired. 1: it is not. 2: it cannot be looked at. A repair takes the records for
    right, makes everything else anew from them, and removes records that cannot be read. Of an index of bare signatures
    it keeps every signature that stands in any table.
    """
    with errors_as_messages():
        maintenance.require_index(index)
        problems = _verify_in_child(index, repair=False)
        for problem in problems:
            typer.echo(problem)
        if not problems:
            typer.echo("The index is sound.")
        elif repair:
            problems = _verify_in_child(index, repair=True)
            typer.echo("; ".join(problems) or "Repaired.")
    raise typer.Exit(1 if problems else 0)


@app.command()
def compact(index: RequiredIndex) -> None:
    """Write an index anew without what is free in it. Nobody else may have it open."""
    with errors_as_messages(), progress_bars() as start:
        maintenance.require_index(index)
        start("compacting", None)
        before, after = compaction.compact(index)
    typer.echo(f"{decimal(before)} before, {decimal(after)} after.")


app.command()(forget)


@app.command("export")
def export_(index: RequiredIndex, file: Annotated[Path, typer.Argument(help="File to write.")]) -> None:
    """Write an index to one portable file (docs/export.md)."""
    with errors_as_messages(), progress_bars() as start:
        opened = maintenance.open_index(index)
        try:
            written = maintenance.export_index(opened, file, start("exporting", len(opened)))
        finally:
            opened.close()
    typer.echo(f"{written:,} written, {decimal(file.stat().st_size)}.")


@app.command("import")
def import_(
    index: RequiredIndex,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `export` wrote.")],
) -> None:
    """Merge an exported index into one that may be there already. A damaged file changes nothing."""
    with errors_as_messages(), progress_bars() as start:
        export = Export(file)
        total, new = maintenance.import_index(
            export, index, lookup_of, start("reading", len(export)), start("importing", len(export))
        )
    typer.echo(f"{total:,} read, {new:,} of them new.")


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
