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
from crawler_dedup.cli.terminal import OUT_OF_MEMORY, progress, told_errors
from crawler_dedup.cli.values import time_of
from crawler_dedup.errors import DedupError, IndexDamaged
from crawler_dedup.index import compaction, maintenance
from crawler_dedup.index.export import Export
from crawler_dedup.index.maintenance import Contents
from crawler_dedup.index.permuted import PermutedIndex
from crawler_dedup.index.store import Store
from crawler_dedup.signing.lookup import lookup_of

app = typer.Typer(no_args_is_help=True, help="Look after an index.")

_SHOWN = 20

Index = Annotated[Path, typer.Argument(help="Directory of the index.")]


@app.command()
def stats(index: Index) -> None:
    """Print what an index is and what it holds."""
    with told_errors(), progress() as start:
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
    index: Index, repair: Annotated[bool, typer.Option("--repair", help="Make anew what does not fit.")] = False
) -> None:
    """Hold every bucket of an index against its records.

    Exit status 0: it is sound, or was repaired. 1: it is not. 2: it cannot be looked at. A repair takes the records for
    right, makes everything else anew from them, and removes records that cannot be read. Of an index of bare signatures
    it keeps every signature that stands in any table.
    """
    with told_errors():
        maintenance.require_index(index)
        problems = _in_child(index, repair=False)
        for problem in problems:
            typer.echo(problem)
        if not problems:
            typer.echo("The index is sound.")
        elif repair:
            problems = _in_child(index, repair=True)
            typer.echo("; ".join(problems) or "Repaired.")
    raise typer.Exit(1 if problems else 0)


@app.command()
def compact(index: Index) -> None:
    """Write an index anew without what is free in it. Nobody else may have it open."""
    with told_errors(), progress() as start:
        maintenance.require_index(index)
        start("compacting", None)
        before, after = compaction.compact(index)
    typer.echo(f"{decimal(before)} before, {decimal(after)} after.")


app.command()(forget)


@app.command("export")
def export_(index: Index, file: Annotated[Path, typer.Argument(help="File to write.")]) -> None:
    """Write an index to one portable file (docs/export.md)."""
    with told_errors(), progress() as start:
        opened = maintenance.open_index(index)
        try:
            written = maintenance.export_index(opened, file, start("exporting", len(opened)))
        finally:
            opened.close()
    typer.echo(f"{written:,} written, {decimal(file.stat().st_size)}.")


@app.command("import")
def import_(
    index: Index, file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `export` wrote.")]
) -> None:
    """Merge an exported index into one that may be there already. A damaged file changes nothing."""
    with told_errors(), progress() as start:
        export = Export(file)
        total, new = maintenance.import_index(
            export, index, lookup_of, start("reading", len(export)), start("importing", len(export))
        )
    typer.echo(f"{total:,} read, {new:,} of them new.")


def _in_child(index: Path, *, repair: bool) -> list[str]:
    """What is wrong with an index (after a repair), found in a process of its own: LMDB can crash on a damaged file."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_verify, args=(index, repair, sender))
    child.start()
    sender.close()
    try:
        found: list[str] | DedupError | OSError = receiver.recv()
    except EOFError:
        child.join()
        code = child.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        found = [f"The index is damaged: reading it crashed ({how})."]
    child.join()
    if isinstance(found, Exception):
        raise found
    return found


def _verify(index: Path, repair: bool, sender: Connection) -> None:
    found: list[str] | DedupError | OSError
    try:
        opened = maintenance.open_index(index)
        try:
            with progress() as start:
                if repair:
                    maintenance.repair(opened, lookup_of, start("repairing", _length(opened)))
                found = maintenance.verify(opened, lookup_of, start("verifying", _length(opened)))
        finally:
            opened.close()
    except IndexDamaged as error:
        found = [str(error)]
    except (DedupError, OSError) as error:
        found = error
    except MemoryError:
        found = DedupError(OUT_OF_MEMORY)
    sender.send(found)


def _length(index: Store | PermutedIndex) -> int | None:
    """How many entries *index* has; ``None`` where it says what cannot be, which a repair must get over."""
    try:
        return len(index)
    except IndexDamaged:
        return None


def _add_contents(table: Table, contents: Contents) -> None:
    table.add_row("claims not settled", f"{contents.open_claims:,}")
    table.add_section()
    for scope, count in list(contents.scopes.items())[:_SHOWN]:
        table.add_row(Text(f"scope {scope}"), f"{count:,}")
    if len(contents.scopes) > _SHOWN:
        table.add_row("scopes", f"{len(contents.scopes):,} altogether")
    table.add_section()
    latest = sorted(contents.runs.items(), key=lambda run: run[1][1], reverse=True)
    for run, (count, last) in latest[:_SHOWN]:
        table.add_row(f"run {run:08x}", f"{count:,}, the last {time_of(last)}")
    if len(latest) > _SHOWN:
        table.add_row("runs", f"{len(latest):,} altogether")
