"""The progress of commands that take a long time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.live import Live
from rich.progress import Progress
from rich.text import Text

from crawler_dedup.cli.terminal import make_console
from crawler_dedup.system.callbacks import Advance, Start

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_OUTCOMES = ("kept", "dropped", "marked", "unchanged", "unchecked")


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


@contextmanager
def crawl_line(*, is_shown: bool) -> Iterator[Callable[[Crawler], object]]:
    """Show the figures of a crawl in a line if stderr is a terminal; yield the function that names the crawl."""
    crawlers: list[Crawler] = []

    def draw() -> Text:
        stats = crawlers[0].stats if crawlers else None
        if stats is None:
            return Text("starting")
        counts = {name: stats.get_value(f"dedup/{name}", 0) for name in _OUTCOMES}
        parts = [f"{counts[name]:,} {name}" for name in _OUTCOMES if counts[name]]
        return Text("  ".join([f"{stats.get_value('dedup/checked', 0):,} pages", *parts]), no_wrap=True)

    console = make_console(stderr=True)
    line = Live(console=console, get_renderable=draw, transient=True, redirect_stdout=False)
    with line if is_shown and console.is_terminal else nullcontext():
        yield crawlers.append
