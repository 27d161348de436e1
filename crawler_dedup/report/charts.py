"""Draw charts as SVG whose colours are CSS variables of the surrounding page."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from io import StringIO
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from crawler_dedup.hamming import BITS
from crawler_dedup.report.data import Period, SignatureDistribution
from crawler_dedup.report.signatures import INTERVALS, expected_first_different_bits

_SIZE = (380, 205)  # CSS pixels: as wide as a telephone, or a third of a screen

_TEXT, _LINE, _KEPT, _DUPLICATES, _LIMIT, _EXPECTED = (f"#01020{number}" for number in range(6))
_COLOURS = {
    _TEXT: "var(--soft)",
    _LINE: "var(--line)",
    _KEPT: "var(--kept)",
    _DUPLICATES: "var(--duplicates)",
    _LIMIT: "var(--limit)",
    _EXPECTED: "var(--text)",
}
"""The colours matplotlib draws with, and the CSS variables that replace them, so that a dark page has dark charts."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 11.5,
    "text.parse_math": False,
    "text.color": _TEXT,
    "axes.labelcolor": _TEXT,
    "axes.edgecolor": _LINE,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": _LINE,
    "xtick.color": _LINE,
    "xtick.labelcolor": _TEXT,
    "ytick.color": _LINE,
    "ytick.labelcolor": _TEXT,
    "ytick.major.size": 0,
    "xtick.major.pad": 6,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


@dataclass(frozen=True)
class Chart:
    """A chart and its numbers as a table.

    Attributes:
        title: the title of the chart.
        svg: an element for an HTML file.
        heads: the heads of the columns of *rows*.
        rows: the rows of the table.
    """

    title: str
    svg: Markup
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def draw_timeline(seconds: int, periods: Sequence[Period]) -> Chart:
    """Draw kept pages and duplicates over time, stacked; each of *periods* is *seconds* long."""
    kept, duplicates = [period.kept for period in periods], [period.duplicates for period in periods]
    labels = [_tick(period.start, seconds) for period in periods]

    def draw(axes: Axes) -> None:
        places = range(len(periods))
        axes.bar(places, kept, 0.84, color=_KEPT)
        axes.bar(places, duplicates, 0.84, bottom=kept, color=_DUPLICATES)
        shown = [round(share * (len(periods) - 1)) for share in ((0, 1 / 3, 2 / 3, 1) if len(periods) > 3 else (0, 1))]
        axes.set_xticks(shown, [labels[at] for at in shown])
        axes.set_xlim(-0.7 - (len(periods) < 4), len(periods) - 0.3 + (len(periods) < 4))
        axes.set_ylabel("pages")

    busiest = max(range(len(periods)), key=lambda at: kept[at] + duplicates[at])
    label = (
        f"{sum(kept):,} kept pages and {sum(duplicates):,} duplicates over time; most at a time, {kept[busiest]:,} and"
        f" {duplicates[busiest]:,}, from {_when(periods[busiest].start)} on."
    )
    rows = [
        (_when(period.start), f"{period.kept:,}", f"{period.duplicates:,}")
        for period in periods
        if period.kept or period.duplicates
    ]
    return _chart("Pages over time", label, draw, ("from", "kept", "duplicates"), rows)


def draw_distances(counts: Mapping[int, int], limit: int) -> Chart:
    """Draw the duplicates by the distance of their signatures."""
    last = max(limit, *(distance for distance in counts if distance <= BITS))
    numbers = [counts.get(distance, 0) for distance in range(last + 1)]

    def draw(axes: Axes) -> None:
        axes.bar(range(last + 1), numbers, 0.84, color=_DUPLICATES)
        axes.set_xticks(range(last + 1) if last < 16 else range(0, last + 1, 8))
        axes.set_xlabel("different bits of 64")
        axes.set_ylabel("duplicates")

    label = f"Distances of duplicates: {_most(numbers)}, of {sum(numbers):,}."
    return _chart(
        "Distance of a duplicate from its kept page",
        label,
        draw,
        ("bits", "duplicates"),
        [(str(at), f"{number:,}") for at, number in enumerate(numbers)],
    )


def draw_shares(title: str, percents: Mapping[int, int], limit: float | None) -> Chart:
    """Draw the duplicates by a share in per cent; *limit* is the smallest share that the rules accept, from 0 to 1."""
    least = min(90, *percents, 100 if limit is None else math.floor(limit * 100))
    width = 1 if least >= 80 else 2 if least >= 60 else 5
    first = least // width * width
    edges = list(range(first, 101, width))
    bins = [sum(percents.get(at, 0) for at in range(low, high)) for low, high in pairwise(edges)]
    bins[-1] += percents.get(100, 0)

    def draw(axes: Axes) -> None:
        axes.bar(edges[:-1], bins, 0.88 * width, color=_DUPLICATES, align="edge")
        if limit is not None:
            _limit(axes, limit * 100, f"least {limit * 100:.0f} %")
        axes.set_xlim(first - 0.3 * width, 100 + 0.3 * width)
        axes.set_xticks(range(100, first - 1, -(5 if width < 5 else 20)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:.0f} %"))
        axes.set_ylabel("duplicates")

    rows = [(f"{low} to {high} %", f"{number:,}") for (low, high), number in zip(pairwise(edges), bins, strict=True)]
    label = f"{title} of duplicates: {max(bins):,} of {sum(bins):,} between {rows[bins.index(max(bins))][0]}."
    return _chart(title, label, draw, ("share", "duplicates"), rows)


def draw_nearest(distribution: SignatureDistribution, limit: int) -> Chart:
    """Draw the distance of each kept text from the nearest other kept text."""
    numbers = list(distribution.nearest)
    last = max(limit + 4, *(at for at, number in enumerate(numbers) if number))

    def draw(axes: Axes) -> None:
        axes.bar(range(last + 1), numbers[: last + 1], 0.84, color=_KEPT)
        _limit(axes, limit + 0.5, f"limit {limit}")
        axes.set_xlim(-0.8, last + 0.8)
        axes.set_xlabel("different bits of 64")
        axes.set_ylabel("kept pages")

    within = sum(numbers[: limit + 1])
    label = f"{within:,} of {distribution.compared:,} kept pages have another kept one within {limit} bits."
    return _chart(
        "Distance of a kept page from the nearest other one",
        label,
        draw,
        ("bits", "kept pages"),
        [(str(at), f"{number:,}") for at, number in enumerate(numbers[: last + 1])],
    )


def draw_intervals(distribution: SignatureDistribution) -> Chart:
    """Draw the number of signatures in equal parts of their space, with the range expected of an even distribution."""
    numbers = list(distribution.intervals)
    even = distribution.sampled / INTERVALS
    low, high = max(0.0, even - 2 * math.sqrt(even)), even + 2 * math.sqrt(even)

    def draw(axes: Axes) -> None:
        axes.bar(range(INTERVALS), numbers, 1.0, color=_KEPT)
        axes.axhspan(low, high, color=_EXPECTED, alpha=0.14, linewidth=0, zorder=3)
        axes.set_xlim(-1, INTERVALS)
        axes.set_xticks([0, 32, 64, 96, 127])
        axes.set_xlabel("part of the signature space, of 128")
        axes.set_ylabel("kept pages")

    label = f"Signatures in 128 equal parts of their space: {even:,.1f} on average, at most {max(numbers):,}."
    rows = [
        (f"{at} to {at + 7}", ", ".join(f"{number:,}" for number in numbers[at : at + 8]))
        for at in range(0, INTERVALS, 8)
    ]
    return _chart("Signatures in 128 equal parts of their space", label, draw, ("parts", "kept pages"), rows)


def draw_first_different_bits(distribution: SignatureDistribution) -> Chart:
    """Draw the first bit in which neighbours in sorted order differ, with the counts expected of random signatures."""
    numbers = list(distribution.first_different_bits)
    expected = expected_first_different_bits(distribution.sampled)
    last = max(8, *(at for at in range(BITS) if numbers[at] or expected[at] >= 0.5))

    def draw(axes: Axes) -> None:
        axes.bar(range(last + 1), numbers[: last + 1], 0.84, color=_KEPT)
        axes.plot(range(last + 1), expected[: last + 1], color=_EXPECTED, linewidth=1.5)
        axes.set_xlim(-0.8, last + 0.8)
        axes.set_xlabel("position of the bit, 0 is the first")
        axes.set_ylabel("neighbours")

    rows = [
        (str(at), f"{number:,}", f"{often:,.0f}")
        for at, (number, often) in enumerate(zip(numbers[: last + 1], expected, strict=False))
    ]
    label = (
        f"First different bit of neighbours in sorted order: mostly bit {int(np.argmax(numbers))};"
        f" random signatures would have it at bit {int(np.argmax(expected))}."
    )
    return _chart("First different bit of neighbours", label, draw, ("bit", "neighbours", "if random"), rows)


def _chart(
    title: str,
    label: str,
    draw: Callable[[Axes], None],
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> Chart:
    with rc_context():
        rcdefaults()  # a user may have changed the defaults for other charts
        rcParams.update({**_STYLE, "svg.hashsalt": title})  # no two charts may share an id
        figure = Figure(figsize=(_SIZE[0] / 72, _SIZE[1] / 72), layout="constrained")
        axes = figure.subplots()
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,.0f}"))
        draw(axes)
        file = StringIO()
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return Chart(title, _inline(file.getvalue(), label), heads, rows)


def _inline(drawn: str, label: str) -> Markup:
    """Return the ``<svg>`` element of an SVG file by matplotlib, changed so that it can stand in an HTML file."""
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<svg [^>]*>", "", drawn, count=1)
    drawn = re.sub(
        r"<defs>\s*<style.*?</defs>", "", drawn, count=1, flags=re.DOTALL
    )  # the style would apply to the whole page
    drawn = re.sub(r'<g id="[^"]*"', "<g", drawn)  # these ids are the same in every chart
    drawn = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", drawn)  # the page sets the font family
    drawn = re.sub(r"\n\s*", "\n", drawn)
    for colour, variable in _COLOURS.items():
        drawn = drawn.replace(colour, variable)
    width, height = _SIZE
    return Markup(f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {width} {height}">{drawn}')  # noqa: S704


def _limit(axes: Axes, at: float, name: str) -> None:
    axes.axvline(at, color=_LIMIT, linewidth=1.5, linestyle=(0, (4, 3)))
    axes.margins(y=0.16)
    axes.annotate(
        name,
        (at, 1),
        xycoords=("data", "axes fraction"),
        xytext=(5, -3),
        textcoords="offset points",
        va="top",
        color=_LIMIT,
    )


def _when(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _tick(seconds: int, width: int) -> str:
    """Return a time in UTC, with the precision that suits periods of *width* seconds."""
    at = datetime.fromtimestamp(seconds, timezone.utc)
    if width < 3_600:
        return at.strftime("%H:%M" if width >= 60 else "%H:%M:%S")
    if width < 86_400:
        return f"{at.day} {at:%b %H:%M}"
    return f"{at.day} {at:%b}" if width == 86_400 else f"{at:%b %Y}"


def _most(numbers: Sequence[int]) -> str:
    most = max(range(len(numbers)), key=lambda at: numbers[at])
    return f"most, {numbers[most]:,}, at {most} bits"
