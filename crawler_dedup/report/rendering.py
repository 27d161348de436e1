"""Lay out a report as one HTML file that needs no other. Texts and addresses of pages are not trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from rich.filesize import decimal

from crawler_dedup.config import Config
from crawler_dedup.journal.runs import describe_runs, format_period
from crawler_dedup.report import charts
from crawler_dedup.report.charts import Chart
from crawler_dedup.report.data import ReportData
from crawler_dedup.report.pruning import LEAST_PAGES
from crawler_dedup.signing.schemes import SimHash

_MAX_CHARS = 160
_MAX_LINK = 2_000
_JOINERS = "\u200c\u200d"  # several scripts need them within words, and they do not change the direction of writing
_LIMITS = ("max_distance", "min_resemblance", "min_coverage", "max_duplicates")
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_ADDRESS = re.compile(r"https?://[!-~\xa1-\U0010ffff]+", re.IGNORECASE)


def render(data: ReportData, config: Config, created: datetime) -> str:
    """Lay out the report.

    Args:
        config: the settings whose limits the charts show.
        created: the time of the report, in UTC. Everything else in the file depends on the other arguments only.
    """
    return fill_template(
        "report.html.jinja",
        created,
        data=data,
        config=config,
        covered=describe_runs(data.run_count, *data.span),
        timeline=charts.draw_timeline(data.period_seconds, data.periods) if data.periods else None,
        bar_length=_length(data.period_seconds),
        limits=_LIMITS,
        least_pages=LEAST_PAGES,
        limit_charts=list(_draw_limits(data, config)),
        signature_charts=list(_draw_signatures(data)),
        within=sum(data.distribution.nearest[: config.max_distance + 1]) if data.distribution else 0,
    )


def fill_template(name: str, created: datetime, **values: Any) -> str:
    """Fill in a template of this folder; all values are escaped.

    Args:
        created: the time of the report, in UTC.
    """
    return _make_environment().get_template(name).render(made=created.strftime("%Y-%m-%d %H:%M UTC"), **values)


def _make_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
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


def _length(seconds: int) -> str:
    """Return a length of time in words, in the largest unit of which it is a multiple."""
    unit, name = next((unit, name) for unit, name in _UNITS if seconds % unit == 0)
    return f"{seconds // unit} {name}{'s' if seconds > unit else ''}"


def _draw_limits(data: ReportData, config: Config) -> Iterator[Chart]:
    """Draw how near to the limits the distances are: of duplicates to kept pages, and of kept pages to each other."""
    if data.distances:
        yield charts.draw_distances(data.distances, config.max_distance)
    if data.distribution and data.distribution.compared:
        yield charts.draw_nearest(data.distribution, config.max_distance)
    yield from draw_agreement(data.resemblances, data.coverages, config, is_simhash=data.index.scheme == SimHash.name)


def draw_agreement(
    resemblances: Mapping[int, int], coverages: Mapping[int, int], config: Config, *, is_simhash: bool
) -> Iterator[Chart]:
    """Draw duplicates by resemblance and by coverage; for simhash with the limits."""
    if resemblances:
        yield charts.draw_shares("Resemblance", resemblances, config.min_resemblance if is_simhash else None)
    if coverages:
        yield charts.draw_shares("Coverage", coverages, config.min_coverage if is_simhash else None)


def _draw_signatures(data: ReportData) -> Iterator[Chart]:
    """Draw the distribution of signatures in their space."""
    if data.distribution:
        yield charts.draw_intervals(data.distribution)
        if data.distribution.sampled > 1:
            yield charts.draw_first_different_bits(data.distribution)
