"""``crawler-dedup works matches``, ``show``, ``mark`` and ``report``: look at the matches of a library."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.options import json_option, output_file_option, parse_time
from crawler_dedup.cli.terminal import format_time, make_console, print_json, printable, quantity
from crawler_dedup.cli.works import library_option, match_fields, print_matches
from crawler_dedup.system.extras import require_extra
from crawler_dedup.system.files import open_replacement
from crawler_dedup.works.comparison import align_passages
from crawler_dedup.works.matches import STATUSES, Match, Matches, Status

_MOST_ROWS = 50
_MOST_DAYS = 60
_MOST_SHOWN = 200
"""Number of matches that a report shows with their longest passage, those with the largest share of a work."""


def _parse_since(_: click.Context, __: click.Parameter, value: str) -> float:
    """Return the time that ``7d`` or ``2026-11-21`` names, in seconds since 1970; 0 for ``""``."""
    return parse_time(value).timestamp() if value else 0


_status_argument = click.argument("status", metavar="STATUS", type=click.Choice(STATUSES))
_status_option = click.option(
    "--status", "statuses", type=click.Choice(STATUSES), multiple=True, help="Only this status. Can be repeated."
)


@click.command()
@library_option
@click.option("--work", metavar="WORK", default="", help="Only matches of the work with this number or title.")
@click.option("--host", metavar="HOST", default="", help="Only pages of this host.")
@_status_option
@click.option(
    "--since",
    metavar="TIME",
    default="",
    callback=_parse_since,
    help="Only matches seen since TIME: a time in UTC (2026-11-21), or an age (7d).",
)
@json_option
def matches(library: Path, work: str, host: str, statuses: Sequence[Status], since: float, json: bool) -> None:
    """List the matches of a library, most recently seen first.

    \b
    Examples:
      crawler-dedup works matches --library works --status open
      crawler-dedup works matches --library works --since 7d --json
    """
    with closing(Matches(library)) as stored:
        chosen = list(stored.select(work=work, host=host, statuses=statuses, since=since))
    if json:
        print_json("match", map(match_fields, chosen))
    elif chosen:
        print_matches(chosen)
    else:
        click.echo("There is no such match.")


@click.command()
@click.argument("match", type=click.IntRange(1, (1 << 63) - 1))
@library_option
def show(match: int, library: Path) -> None:
    """Show the passages of a match, those of the page and of the work side by side.

    MATCH is the number of the match, as `works matches` prints it. Characters that differ are underlined; characters that
    sound alike are in square brackets.

    \b
    Examples:
      crawler-dedup works show 3 --library works
    """
    with closing(Matches(library)) as stored:
        shown, passages = stored.read(match)
    console = make_console()
    author = f" ({printable(shown.author)})" if shown.author else ""
    console.print(Text(f"{printable(shown.title)}{author}\n{printable(shown.url)}"))
    console.print(
        Text(
            f"{shown.status}; {shown.share_of_work:.1%} of the work, {shown.share_of_page:.1%} of the page,"
            f" {quantity(shown.passages, 'passage')}; first seen {format_time(shown.first_seen)},"
            f" last {format_time(shown.last_seen)}"
        )
    )
    for passage in passages:
        table = Table(width=None if sys.stdout.isatty() else 120)
        table.add_column(f"page, characters {passage.start:,} to {passage.end:,}", ratio=1, overflow="fold")
        table.add_column(f"work, characters {passage.work_start:,} to {passage.work_end:,}", ratio=1, overflow="fold")
        page, work = Text(), Text()
        for part in align_passages(passage.text, passage.work_text):
            for side, characters in ((page, part.text), (work, part.work_text)):
                shown_characters = printable(characters)
                side.append(
                    f"[{shown_characters}]" if part.kind == "homophone" else shown_characters,
                    style="" if part.kind == "equal" else "bold underline",
                )
        if passage.is_cut:
            page.append(" …")
            work.append(" …")
        table.add_row(page, work)
        console.print(table)


@click.command()
@click.argument("numbers", type=int, nargs=-1, required=True, metavar="MATCH...")
@_status_argument
@library_option
def mark(numbers: Sequence[int], status: Status, library: Path) -> None:
    """Set the status of matches: open, confirmed, dismissed or licensed.

    MATCH is the number of a match, as `works matches` prints it; the last argument, STATUS, is your verdict: open
    (not looked at yet), confirmed (copied), dismissed (no copy) or licensed (allowed). A match keeps its status when
    its page is seen again.

    Exit status 1: none of these matches exists.

    \b
    Examples:
      crawler-dedup works mark 3 5 confirmed --library works
    """
    with closing(Matches(library)) as stored:
        count = stored.mark(numbers, status)
    hint = "" if count else " `crawler-dedup works matches` lists the matches."
    click.echo(f"{count:,} of {len(set(numbers)):,} matches marked as {status}.{hint}")
    if not count:
        raise click.exceptions.Exit(1)


@click.command()
@library_option
@output_file_option("report.html", "HTML file to write.")
@_status_option
def report(library: Path, output: Path, statuses: Sequence[Status]) -> None:
    """Write an HTML report of the matches by work, by host and over time.

    It needs Jinja: pip install "crawler-dedup[report]".

    \b
    Examples:
      crawler-dedup works report --library works -o report.html
    """
    require_extra("report", "crawler-dedup works report")
    with closing(Matches(library)) as stored:
        chosen = list(stored.select(statuses=statuses))
        content = _render_report(stored, chosen, datetime.now(UTC)).encode()
    with open_replacement(output) as file:
        file.write(content)
    click.echo(f"{output}: {decimal(len(content))}, {quantity(len(chosen), 'match')}.")


def _render_report(stored: Matches, matches: Sequence[Match], created: datetime) -> str:
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
