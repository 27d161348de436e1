"""Lay out a report as one HTML file that needs no other. Texts and addresses of pages are not trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from rich.filesize import decimal

from crawler_dedup.inspection.journals import describe_runs, format_period
from crawler_dedup.permutedtables import BITS
from crawler_dedup.report.data import ReportData

_MAX_CHARS = 160
_MAX_LINK = 2_000
_JOINERS = "\u200c\u200d"  # several scripts need them within words, and they do not change the direction of writing
_ADDRESS = re.compile(r"https?://[!-~\xa1-\U0010ffff]+", re.IGNORECASE)


@dataclass(frozen=True)
class Chart:
    """A chart of horizontal bars.

    Attributes:
        title: the title of the chart.
        rows: (name, number) of each bar.
        limit: the bar above which the line of a limit is drawn; ``None``: there is no limit.
        limit_name: what is written at the line.
    """

    title: str
    rows: Sequence[tuple[str, int]]
    limit: int | None = None
    limit_name: str = ""


def render(data: ReportData, max_distance: int, created: datetime) -> str:
    """Lay out the report.

    Args:
        max_distance: the setting, which a chart shows as a limit.
        created: the time of the report, in UTC. Everything else in the file depends on the other arguments only.
    """
    template = make_environment().get_template("report.html.jinja")
    return template.render(
        made=created.strftime("%Y-%m-%d %H:%M UTC"),
        data=data,
        max_distance=max_distance,
        covered=describe_runs(data.run_count, *data.span),
        distances=_chart_distances(data.distances, max_distance) if data.distances else None,
    )


def make_environment(*folders: Path) -> Environment:
    """Make the environment of templates in *folders*, and of those of reports.

    It escapes all values, and has filters for what comes from pages.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count="{:,}".format,
        short=_short,
        percent=_percent,
        bytes=decimal,
        between=format_period,
        plain=plain,
        link=_link,
    )
    return environment


def plain(text: str, longest: int = _MAX_CHARS) -> str:
    """Return *text* shortened, and without characters that are invisible, control, or change the direction of writing."""
    words = " ".join(text.split())
    shown = "".join(letter if letter.isprintable() or letter in _JOINERS else "\ufffd" for letter in words)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _link(url: str) -> Markup:
    """Return an address, as a link if it leads to the web."""
    shown = Markup("<bdi>{}</bdi>").format(plain(url) or "(no address)")
    if len(url) > _MAX_LINK or not _ADDRESS.fullmatch(url) or plain(url, len(url)) != url or not _has_host(url):
        return shown
    return Markup('<a href="{}" rel="noreferrer noopener nofollow">{}</a>').format(url, shown)


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _short(number: int) -> str:
    return f"{number:,}" if number < 10_000_000 else f"{number / 1_000_000:,.1f} million"


def _percent(share: float) -> str:
    return f"{share:.1%}" if 0 < share < 0.9995 else f"{share:.0%}"


def _chart_distances(counts: Mapping[int, int], limit: int) -> Chart:
    """Chart the duplicates by the distance of their signatures."""
    last = max(limit, *(distance for distance in counts if distance <= BITS))
    rows = [(f"{distance} bits", counts.get(distance, 0)) for distance in range(last + 1)]
    return Chart("Distance of a duplicate from its kept page", rows, limit + 1, f"more than {limit}")
