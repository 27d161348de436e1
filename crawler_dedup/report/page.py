"""Figures laid out as one file of HTML that needs nothing else. What comes from pages is hostile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from rich.filesize import decimal

from crawler_dedup.config import Config
from crawler_dedup.report import charts
from crawler_dedup.report.charts import Chart
from crawler_dedup.report.figures import Figures
from crawler_dedup.signing.schemes import SimHash

_LONGEST_SHOWN = 160
_LONGEST_LINK = 2_000
_JOINERS = "\u200c\u200d"  # words of several scripts need them, and they turn nothing round
_LIMITS = ("max_distance", "min_resemblance", "min_coverage", "max_duplicates")
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_ADDRESS = re.compile(r"https?://[!-~\xa1-\U0010ffff]+", re.IGNORECASE)


def render(figures: Figures, config: Config, made: datetime) -> str:
    """The page.

    Args:
        config: the limits that are drawn in.
        made: when, in UTC; all else depends on the other arguments only.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count="{:,}".format, short=_short, percent=_percent, bytes=decimal, between=_between, plain=plain, link=_link
    )
    return environment.get_template("page.html.jinja").render(
        f=figures,
        config=config,
        made=made.strftime("%Y-%m-%d %H:%M UTC"),
        over_time=charts.over_time(figures.bucket_seconds, figures.buckets) if figures.buckets else None,
        bar_length=_length(figures.bucket_seconds),
        limits=_LIMITS,
        nearness=list(_nearness(figures, config)),
        spread=list(_spread(figures)),
        within=sum(figures.spread.nearest[: config.max_distance + 1]) if figures.spread else 0,
    )


def plain(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """*text* without what is invisible, steers, or turns the direction of writing, and not too long."""
    shown = "".join(one if one.isprintable() or one in _JOINERS else "\ufffd" for one in " ".join(text.split()))
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _link(url: str) -> Markup:
    """An address, as a link if it leads to the web."""
    shown = Markup("<bdi>{}</bdi>").format(plain(url) or "(no address)")
    if len(url) > _LONGEST_LINK or not _ADDRESS.fullmatch(url) or plain(url, len(url)) != url or not _has_host(url):
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


def _between(times: tuple[float, float]) -> str:
    """Two times in seconds since 1970, without what the second has in common with the first."""
    try:
        first, last = (datetime.fromtimestamp(seconds, timezone.utc) for seconds in times)
    except (ValueError, OverflowError, OSError):  # an imported record may say anything
        return "time not known"
    began, ended = (f"{time:%Y-%m-%d %H:%M}" for time in (first, last))
    if not times[0]:
        return "time not known"
    if began == ended:
        return f"{began} UTC"
    return f"{began} to {f'{last:%H:%M}' if first.date() == last.date() else ended} UTC"


def _length(seconds: int) -> str:
    """Of an interval, in the largest unit that it is a multiple of."""
    unit, name = next((unit, name) for unit, name in _UNITS if seconds % unit == 0)
    return f"{seconds // unit} {name}{'s' if seconds > unit else ''}"


def _nearness(figures: Figures, config: Config) -> Iterator[Chart]:
    """How near each other pages are: duplicates to what is kept, and that among itself."""
    simhash = figures.index.scheme == SimHash.name
    if figures.distances:
        yield charts.distances(figures.distances, config.max_distance)
    if figures.spread and figures.spread.asked:
        yield charts.nearest(figures.spread, config.max_distance)
    if figures.resemblances:
        yield charts.shares("Resemblance", figures.resemblances, config.min_resemblance if simhash else None)
    if figures.coverages:
        yield charts.shares("Coverage", figures.coverages, config.min_coverage if simhash else None)


def _spread(figures: Figures) -> Iterator[Chart]:
    if figures.spread:
        yield charts.intervals(figures.spread)
        if figures.spread.drawn > 1:
            yield charts.leading(figures.spread)
