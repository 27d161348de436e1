"""Descriptions of journal entries."""

from __future__ import annotations

import click

from crawler_dedup.cli.terminal import printable, quantity
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Journals


def describe_decision(entry: Entry) -> str:
    """Return the rule that decided, and what it measured; ``""`` where nothing was compared."""
    if not entry.rule:
        return ""
    parts = [f"rule “{entry.rule}”"]
    if entry.distance is not None:
        parts.append(f"distance {entry.distance}")
    if entry.resemblance is not None and entry.coverage is not None:
        parts.append(f"resemblance {entry.resemblance:.2f}, coverage {entry.coverage:.2f}")
    return printable(", ".join(parts))


def describe_time(entry: Entry) -> str:
    """Return ``2026-11-21 23:10:02 UTC``."""
    return printable(f"{entry.time[:19].replace('T', ' ')} UTC")


def describe_crawl(entry: Entry) -> str:
    """Return ``run 3c6f8078, spider site, scope spider site``."""
    return printable(f"run {entry.run}, spider {entry.spider}, scope {entry.scope or '(unknown)'}")


def describe_duplicate(entry: Entry) -> str:
    """Return three lines: the page, its representative, and the reason of the decision."""
    passed = ", passed (mark)" if entry.event == "mark" else ""
    return "\n".join(
        (
            f"{printable(entry.url)}  “{printable(entry.title)}”",
            f"  ← {printable(entry.duplicate_of)}",
            f"    {describe_decision(entry)}; {describe_time(entry)}, run {printable(entry.run)}{passed}",
        )
    )


def describe_drops(drops: int, marked: int) -> str:
    """Return ``12 drops``, or another noun if some of them were *marked* and passed, as in a dry run."""
    return quantity(drops, "drop" if not marked else "marked page" if marked == drops else "dropped or marked page")


def print_damage(journals: Journals) -> None:
    """Print on stderr how many lines of each file could not be read."""
    for path, count in journals.damaged.items():
        lines = "a line that is" if count == 1 else f"{count:,} lines that are"
        click.echo(f"{path} holds {lines} damaged or cut in half; the rest was read.", err=True)
