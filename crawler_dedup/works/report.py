"""The report of the matches of a library, as one HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from crawler_dedup.works.matches import Match, Matches
from crawler_dedup.works.sidebyside import align_passages

_MOST_ROWS = 50
_MOST_DAYS = 60
_MOST_SHOWN = 200
"""Number of matches that are shown with their longest passage, those with the largest share of a work."""


def render_matches(stored: Matches, matches: Sequence[Match], created: datetime) -> str:
    """Lay out *matches*, which *stored* has: by work, by host, by the day when they were first seen, and each of them."""
    from crawler_dedup.report.rendering import Chart, make_environment  # noqa: PLC0415  (it needs the extra)

    works, titles = Counter(match.work for match in matches), {match.work: match.title for match in matches}
    days = Counter(datetime.fromtimestamp(match.first_seen, UTC).strftime("%Y-%m-%d") for match in matches)
    shown = sorted(matches, key=lambda match: -match.share_of_work)[:_MOST_SHOWN]
    longest = [max(stored.read(match.id)[1], key=lambda passage: passage.end - passage.start) for match in shown]
    aligned = [[*align_passages(passage.text, passage.work_text)] for passage in longest]
    return (
        make_environment()
        .get_template("matches.html.jinja")
        .render(
            made=created.strftime("%Y-%m-%d %H:%M UTC"),
            count=len(matches),
            statuses=Counter(match.status for match in matches).most_common(),
            works=[(titles[work], number) for work, number in works.most_common(_MOST_ROWS)],
            hosts=Counter(match.host or "(files)" for match in matches).most_common(_MOST_ROWS),
            days=Chart("Pages first seen, by day", sorted(days.items())[-_MOST_DAYS:]),
            matches=[*zip(shown, aligned, longest, strict=True)],
        )
    )
