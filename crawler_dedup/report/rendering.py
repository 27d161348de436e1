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
from crawler_dedup.report.charts import Chart, chart_distances, chart_shares
from crawler_dedup.report.data import ReportData
from crawler_dedup.signing.schemes import SimHash

_MAX_CHARS = 160
_MAX_LINK = 2_000
_JOINERS = "\u200c\u200d"  # several scripts need them within words, and they do not change the direction of writing
_LIMITS = ("max_distance", "min_resemblance", "min_coverage", "max_duplicates")
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
        limits=_LIMITS,
        charts=list(_chart_limits(data, config)),
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


def _chart_limits(data: ReportData, config: Config) -> Iterator[Chart]:
    """Chart how near to the limits the duplicates are."""
    if data.distances:
        yield chart_distances(data.distances, config.max_distance)
    yield from chart_agreement(data.resemblances, data.coverages, config, is_simhash=data.index.scheme == SimHash.name)


def chart_agreement(
    resemblances: Mapping[int, int], coverages: Mapping[int, int], config: Config, *, is_simhash: bool
) -> Iterator[Chart]:
    """Chart duplicates by resemblance and by coverage; for simhash with the limits."""
    if resemblances:
        yield chart_shares("Resemblance", resemblances, config.min_resemblance if is_simhash else None)
    if coverages:
        yield chart_shares("Coverage", coverages, config.min_coverage if is_simhash else None)
