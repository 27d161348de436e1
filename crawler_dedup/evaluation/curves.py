"""Draw precision and recall against the distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_dedup.config import Config
from crawler_dedup.evaluation.counts import Counts
from crawler_dedup.evaluation.pairs import PairResult, count_outcomes
from crawler_dedup.hamming import MAX_DISTANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALONE_TO = 12
"""Largest distance of the curve of signatures alone, to show the gain and the loss beyond the distances of the index."""

_COLOURS = {"precision": "tab:blue", "recall": "tab:orange"}


def counts_by_signature(results: Sequence[PairResult]) -> list[Counts]:
    """Count outcomes for the distances from 0 to 12 if the distance of the signatures alone decided."""
    return [count_outcomes(results, partial(_is_within, k)) for k in range(_ALONE_TO + 1)]


def counts_by_rules(results: Sequence[PairResult], config: Config) -> list[Counts]:
    """Count outcomes for ``max_distance`` from 0 to 7 with all rules and the other settings of *config*."""
    settings = [replace(config, max_distance=k) for k in range(MAX_DISTANCE + 1)]
    return [count_outcomes(results, partial(PairResult.is_duplicate_with, config=limits)) for limits in settings]


def draw_curves(results: Sequence[PairResult], config: Config, path: Path) -> None:
    """Write an SVG file: on the left precision and recall against the distance (as figure 1 of Manku, Jain and Das Sarma,
    "Detecting near-duplicates for web crawling", WWW 2007), on the right the distribution of distances.
    """
    from matplotlib import rc_context  # noqa: PLC0415  (it takes a while)
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_curves(left, counts_by_signature(results), "signature alone", "--")
    _draw_curves(left, counts_by_rules(results, config), "with the rules", "-")
    left.set(xlabel="largest distance k, in bits of 64", ylabel="share", ylim=(0, 1.02))
    left.grid(alpha=0.3)
    left.legend(loc="lower right")
    _draw_histograms(right, results)
    with rc_context({"svg.hashsalt": "crawler-dedup"}):  # with the empty date: the same pairs give the same file
        figure.savefig(path, format="svg", metadata={"Date": None})


def _is_within(k: int, result: PairResult) -> bool:
    distance = result.forward.pair.distance
    return result.is_signed and distance is not None and distance <= k


def _draw_curves(axes: Axes, curve: Sequence[Counts], label: str, style: str) -> None:
    for name, shares in (
        ("precision", [counts.precision for counts in curve]),
        ("recall", [counts.recall for counts in curve]),
    ):
        points = [(k, share.value) for k, share in enumerate(shares) if share.value is not None]
        axes.plot(
            [k for k, _ in points],
            [value for _, value in points],
            style,
            marker=".",
            color=_COLOURS[name],
            label=f"{name}, {label}",
        )


def _draw_histograms(axes: Axes, results: Sequence[PairResult]) -> None:
    for label, name, colour in ((1, "duplicates", "tab:green"), (0, "others", "tab:red")):
        measured = [
            result.forward.pair.distance for result in results if result.is_signed and result.labelled.label == label
        ]
        distances = [distance for distance in measured if distance is not None]
        if distances:
            # Shares, not numbers, since one label may have ten times as many pairs as the other.
            weights = [1 / len(distances)] * len(distances)
            bins = [edge - 0.5 for edge in range(66)]
            axes.hist(distances, bins=bins, weights=weights, alpha=0.6, color=colour, label=f"{len(distances)} {name}")
    axes.set(xlabel="distance of the signatures, in bits", ylabel="share of the pairs", xlim=(-0.5, 64.5))
    if axes.patches:
        axes.legend(loc="upper right")
