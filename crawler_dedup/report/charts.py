"""Charts as rows of bars, which a template lays out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crawler_dedup.hamming import BITS


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


def chart_distances(counts: Mapping[int, int], limit: int) -> Chart:
    """Chart the duplicates by the distance of their signatures."""
    last = max(limit, *(distance for distance in counts if distance <= BITS))
    rows = [(f"{distance} bits", counts.get(distance, 0)) for distance in range(last + 1)]
    return Chart("Distance of a duplicate from its kept page", rows, limit + 1, f"more than {limit}")


def chart_shares(title: str, percents: Mapping[int, int], limit: float | None) -> Chart:
    """Chart the duplicates by a share in per cent; *limit* is the smallest share that the rules accept, from 0 to 1."""
    least = min(90, *percents, 100 if limit is None else math.floor(limit * 100))
    width = 1 if least >= 80 else 2 if least >= 60 else 5
    edges = list(range(least // width * width, 101, width))
    numbers = [sum(percents.get(percent, 0) for percent in range(low, high)) for low, high in pairwise(edges)]
    numbers[-1] += percents.get(100, 0)
    rows = [(f"{low} to {high} %", number) for (low, high), number in zip(pairwise(edges), numbers, strict=True)]
    if limit is None:
        return Chart(title, rows)
    first = sum(high <= limit * 100 for high in edges[1:])
    return Chart(title, rows, first, f"least {limit * 100:.0f} %")
