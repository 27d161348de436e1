"""Lines of the journal in words."""

from __future__ import annotations

from collections.abc import Iterator

from crawler_dedup.cli.terminal import printable
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Journals


def figures(entry: Entry) -> str:
    """The rule that decided, and what it had before it; ``""`` where nothing was compared."""
    if not entry.rule:
        return ""
    parts = [f"rule “{entry.rule}”"]
    if entry.distance is not None:
        parts.append(f"distance {entry.distance}")
    if entry.resemblance is not None and entry.coverage is not None:
        parts.append(f"resemblance {entry.resemblance:.2f}, coverage {entry.coverage:.2f}")
    return printable(", ".join(parts))


def when(entry: Entry) -> str:
    """``2026-11-21 23:10:02 UTC``."""
    return printable(f"{entry.time[:19].replace('T', ' ')} UTC")


def where(entry: Entry) -> str:
    """``run 3c6f8078, spider site, scope spider site``."""
    return printable(f"run {entry.run}, spider {entry.spider}, scope {entry.scope or '(unknown)'}")


def block(entry: Entry) -> str:
    """Three lines: the page, the one that stands for it, and why."""
    return "\n".join(
        (
            f"{printable(entry.url)}  “{printable(entry.title)}”",
            f"  ← {printable(entry.kept_url)}",
            f"    {figures(entry)}; {when(entry)}, run {entry.run}{', passed (mark)' if entry.event == 'mark' else ''}",
        )
    )


def damage(journals: Journals) -> Iterator[str]:
    """A sentence for each file with lines that could not be read."""
    for path, count in journals.damaged.items():
        lines = "a line that is" if count == 1 else f"{count:,} lines that are"
        yield f"{path} holds {lines} damaged or cut in half; the rest was read."
