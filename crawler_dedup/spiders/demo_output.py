"""The output of the demo: what was dropped because of which page, a pair of pages, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from crawler_dedup import Decision
from crawler_dedup.cli.diff import print_side_by_side
from crawler_dedup.cli.terminal import make_console, print_commands, quantity
from crawler_dedup.system.extras import note_on_extra


@dataclass(frozen=True)
class Comparison:
    """The main texts of a dropped page and of the page that stands for it."""

    new_url: str
    new: str
    kept_url: str
    kept: str


@dataclass(frozen=True)
class DemoResult:
    """The result of a demo.

    Attributes:
        drops: the decisions about the pages that were dropped.
        counts: the filter's statistics, without ``dedup/``.
        pair: two pages to show; ``None`` where there is no such drop.
        index: the directory of the index.
        name: returns the address of a page as it is shown.
    """

    drops: Sequence[Decision]
    counts: Mapping[str, int]
    pair: Comparison | None
    index: Path
    name: Callable[[str], str]


def print_result(result: DemoResult) -> None:
    """Print *result* on stdout."""
    console = make_console()
    console.print(_summary(result.counts))
    console.print()
    console.print(_drops(result))
    console.print()
    if result.pair is not None:
        pair = result.pair
        titles = f"dropped: {result.name(pair.new_url)}", f"kept: {result.name(pair.kept_url)}"
        print_side_by_side(console, pair.new, pair.kept, folded=True, titles=titles, context=0)
        console.print()
    print_commands(
        console,
        {
            f"Report for the browser{note_on_extra('report')}": ["report", str(result.index)],
            "Try it on a site": ["crawl", "https://example.com/", "--dry-run"],
        },
    )


def _summary(counts: Mapping[str, int]) -> Text:
    """Return how many pages were crawled, and what became of them."""

    def count(name: str) -> int:
        return counts.get(name, 0)

    short = count("unchecked/too_little_text")
    late = count("error/TimeoutError") + count("unchecked/not_signed_in_time")
    parts = {
        "dropped": count("dropped"),
        "kept": count("kept"),
        "seen again": count("changed") + count("unchanged"),
        "too short to judge": short,
        "without a decision in time": late,
        "not judged for another reason": count("unchecked") - short - late,
    }
    listed = ", ".join(f"{number} {label}" for label, number in parts.items() if number)
    return Text.assemble(
        "Crawled a newspaper and its mirror, two small sites on this machine.\n",
        (quantity(count("checked"), "page"), "bold"),
        f": {listed}.",
    )


def _drops(result: DemoResult) -> Table:
    """Return the kept pages, each with the pages that were dropped because of it."""
    groups: dict[str, list[Decision]] = {}
    for drop in result.drops:
        groups.setdefault(drop.duplicate_of, []).append(drop)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("kept page", style="cyan")
    table.add_column("dropped because of it", overflow="fold")
    table.add_column("same text", justify="right", style="dim")
    for kept, drops in groups.items():
        names = "  ".join(result.name(drop.url) for drop in drops)
        table.add_row(result.name(kept), names, _shares([drop.match.coverage for drop in drops if drop.match]))
    return table


def _shares(shares: Sequence[float]) -> str:
    """Return ``96–100%``: how much of the dropped pages the kept page has."""
    lowest, highest = round(100 * min(shares)), round(100 * max(shares))
    return f"{highest}%" if lowest == highest else f"{lowest}–{highest}%"
