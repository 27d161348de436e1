"""Pages of which some are dropped as duplicates of another page."""

from click.testing import Result

from tests.support.crawling import article

KEPT = "http://a.org/kept"
COPIES = [f"http://a.org/{number}" for number in range(6)]
"""Copies of :data:`KEPT`."""
PAGES = {KEPT: article(1), **{url: article(1, frame=url) for url in COPIES}, "http://b.org/other": article(2)}
HOSTILE = "\x1b]0;owned\x07\x9b2J\u202e"
"""Control sequences for a terminal."""


def explained(result: Result) -> list[str]:
    """Return the pages that `drops --explain` or `judge` has printed."""
    return [line.split("  ")[0] for line in result.stdout.splitlines() if line and "“" in line and line[0] != " "]
