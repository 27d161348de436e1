"""Progress bars of commands that take long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

Advance = Callable[[int], None]
"""Reports how many more things are done."""
StartBar = Callable[[str, "int | None"], Advance]
"""Starts a progress bar with a label, for a number of things (``None``: not known)."""


@contextmanager
def progress_bars() -> Iterator[StartBar]:
    """Show progress bars if stderr is a terminal; yield what starts one."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:

        def start(label: str, total: int | None) -> Advance:
            task = bars.add_task(label, total=total)
            return lambda done: bars.advance(task, done)

        yield start
