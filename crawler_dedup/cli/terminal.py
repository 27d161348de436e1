"""Output of commands: error messages, progress bars, and text without control sequences of terminals."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawler_dedup.errors import DedupError
from crawler_dedup.urls import text_without_credentials

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from crawler_dedup.system.callbacks import Advance, Start

_UNLIMITED_WIDTH = 100_000
_PATH_OF_SERVER = re.compile(r"\b((?:rediss?|unix):)/(?=[^/\s]*@)")

INTERRUPTED = 130
"""Exit status of a command that was ended by Ctrl-C, as in shells."""


def printable(text: str) -> str:
    """Remove the characters from *text* that control a terminal, which the text of a page must not do."""
    return text if text.isprintable() else "".join(character for character in text if character.isprintable())


def quantity(count: int, noun: str) -> str:
    """Return ``1 page`` or ``2,000 pages`` for the noun ``page``."""
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('ch') else 's'}"


def format_time(seconds: float) -> str:
    """Return ``2026-11-21 23:10:02 UTC`` for seconds since 1970."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # an imported record may have any number
        return f"{seconds} s after 1970"


def iso_time(seconds: float) -> str | None:
    """Return ``2026-11-21T23:10:02Z`` for seconds since 1970; ``None`` if the time is not known, which 0 means."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else None
    except (ValueError, OverflowError, OSError):
        return None


def program_name() -> str:
    """Return the name by which this program is called, so that commands that are shown can be pasted."""
    script = Path(sys.executable).with_name("crawler-dedup.exe" if os.name == "nt" else "crawler-dedup")
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m crawler_dedup"
    on_path = shutil.which(script.name)
    if on_path is not None and Path(on_path).resolve() == script.resolve():
        return "crawler-dedup"
    return shlex.quote(shorten(script))


def shorten(path: object) -> str:
    """Return *path*, relative to the working directory if it is below that."""
    directory, shown = Path.cwd(), Path(str(path))
    return str(shown.relative_to(directory) if shown.is_relative_to(directory) else path)


def print_commands(console: Console, commands: Mapping[str, Sequence[str]]) -> None:
    """Print commands of this program, each with its purpose, on lines that are not folded."""
    from rich.text import Text  # noqa: PLC0415  (slow to load)

    program = program_name()
    width = max(map(len, commands)) + 1
    for purpose, arguments in commands.items():
        line = Text.assemble(f"{purpose + ':':{width}}  ", (f"{program} {shlex.join(arguments)}", "bold"))
        console.print(line, soft_wrap=True)


def print_json(kind: str, lines: Iterable[object]) -> None:
    """Print *lines* as JSON objects of the type *kind*, each on a line of its own, always in UTF-8.

    Args:
        lines: results, or dictionaries of their fields.
    """
    import msgspec  # noqa: PLC0415  (slow to load)

    for line in lines:
        fields = line if isinstance(line, dict) else msgspec.to_builtins(line)
        sys.stdout.buffer.write(msgspec.json.encode({"type": kind, **fields}) + b"\n")  # click.echo flushes each line
    sys.stdout.buffer.flush()


def print_error(error: object) -> None:
    """Print *error* on stderr."""
    lines = _without_credentials(f"Error: {error}").split("\n")
    click.echo("\n".join(map(printable, lines)), err=True)


def print_note(note: str) -> None:
    """Print *note* on stderr."""
    click.echo(printable(note), err=True)


def make_console(*, stderr: bool = False) -> Console:
    """Return the console on which tables and progress bars are printed.

    NO_COLOR, FORCE_COLOR and COLUMNS are respected. Square brackets and colons are printed as they are, and mean neither a
    style nor an emoji. If the output is no terminal and COLUMNS is not set, lines may have any length: a table that goes
    to a file or a pipe is not folded.
    """
    from rich.console import Console  # noqa: PLC0415  (slow to load)

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704  (called while the error is handled; rich itself would end with exit status 1)

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if is_terminal or os.environ.get("COLUMNS") else _UNLIMITED_WIDTH
    return PipedConsole(stderr=stderr, width=width, markup=False, emoji=False)


def make_table(*left: str, right: Sequence[str] = (), show_header: bool = True) -> Table:
    """Return a table with columns that are aligned *left*, and then *right*; what is too wide is folded."""
    from rich.table import Table  # noqa: PLC0415  (slow to load)

    table = Table(show_header=show_header)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", overflow="fold")
    return table


@contextmanager
def progress_bars() -> Iterator[Start]:
    """Show progress bars if stderr is a terminal; yield the function that starts a bar."""
    from rich.progress import Progress  # noqa: PLC0415  (slow to load)

    console = make_console(stderr=True)
    bars = Progress(console=console, transient=True, disable=not console.is_terminal)

    def start(label: str, total: int | None) -> Advance:
        task = bars.add_task(label, total=total)
        return lambda advanced: bars.advance(task, advanced)

    # Rich before 14.3 writes an empty line when a disabled Progress ends.
    with nullcontext() if bars.disable else bars:
        yield start


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn errors of the package and of the operating system into a message and an exit status.

    Exit status 0: the reader of the output has ended, as `| head` does. 2: an error. 130: the command was interrupted.
    """
    try:
        yield
    except BrokenPipeError:
        discard_output()
        raise click.exceptions.Exit(0) from None
    except click.ClickException as error:
        vars(error)["message"] = _without_credentials(error.message)  # click prints it with the usage
        raise
    except (DedupError, OSError, MemoryError) as error:
        print_error(_message_of(error))
        discard_output()
        raise click.exceptions.Exit(2) from None
    except KeyboardInterrupt:
        click.echo("\nInterrupted.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def _message_of(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory for this."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


def _without_credentials(message: str) -> str:
    """Return *message* without user names and passwords in addresses, also in addresses that became paths (``redis:/``)."""
    return text_without_credentials(_PATH_OF_SERVER.sub(r"\1//", message))


def discard_output() -> None:
    """Discard the output that waits to be printed on stdout: the interpreter would fail to write it at its end."""
    with suppress(OSError):  # stdout has no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
