"""Progress bars of commands that take a long time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.progress import Progress

from crawler_dedup.cli.terminal import make_console
from crawler_dedup.system.callbacks import Advance, Start


@contextmanager
def progress_bars() -> Iterator[Start]:
    """Show progress bars if stderr is a terminal; yield the function that starts a bar."""
    console = make_console(stderr=True)
    bars = Progress(console=console, transient=True, disable=not console.is_terminal)

    def start(label: str, total: int | None) -> Advance:
        task = bars.add_task(label, total=total)
        return lambda advanced: bars.advance(task, advanced)

    # Rich before 14.3 writes an empty line when a disabled Progress ends.
    with nullcontext() if bars.disable else bars:
        yield start
