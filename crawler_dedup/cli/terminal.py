"""What the commands share: errors become sentences, long work shows how far it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import Progress

from crawler_dedup.errors import DedupError
from crawler_dedup.system.callbacks import Advance, Start
from crawler_dedup.urls import text_without_credentials


def printable(text: str) -> str:
    """*text* without what steers a terminal: what stands on a page must not."""
    return "".join(one for one in text if one.isprintable())


def number_of(count: int, thing: str) -> str:
    """``1 page``, ``2,000 pages``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


OUT_OF_MEMORY = "There is not enough memory for this."


def report_error(error: object) -> None:
    """Print *error* on stderr."""
    lines = text_without_credentials(f"Error: {error}").split("\n")
    typer.echo("\n".join(map(printable, lines)), err=True)


@contextmanager
def told_errors() -> Iterator[None]:
    """What goes wrong becomes a sentence and exit status 2."""
    try:
        yield
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (DedupError, OSError) as error:
        report_error(error)
        raise typer.Exit(2) from None


@contextmanager
def progress() -> Iterator[Start]:
    """Progress bars on the terminal; yields what starts one for a number of things (``None``: not known)."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:

        def start(what: str, total: int | None) -> Advance:
            task = bars.add_task(what, total=total)
            return lambda done: bars.advance(task, done)

        yield start
