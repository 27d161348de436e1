"""The figures of Manku, Jain and Das Sarma (WWW 2007) for labelled pages: ``python -m benchmarks.figures [FOLDER]``.

Figure 1: precision and recall for each distance k. Figure 2a: the first bit in which neighbours in the sorted order of
signatures differ. Figure 2b: the number of signatures in each of 128 equal parts of their space. ``--svg FILE`` draws them.

The table beside figure 1 is for the length of a document as another feature (section 6): of a pair that is called a
duplicate, the shorter main text must have a share of the length of the longer one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.evaluate import KnownPair, are_content_pages
from crawler_dedup import Config
from crawler_dedup.cli.terminal import progress_bars
from crawler_dedup.evaluation.labelled import Counts, read_folder
from crawler_dedup.evaluation.pairs import PairResult, count_outcomes, evaluate_pairs, sign_documents
from crawler_dedup.hashes import Numbers
from crawler_dedup.permutedtables import BITS
from crawler_dedup.signedpage import PageKind
from tests.support.data import DATA, require_data

_BITS_TOGETHER = 4
_LENGTHS = (0, 0.5, 0.8, 0.9, 0.95, 0.99)
_WIDTH, _PANEL = 480, 260  # of a drawing, in pixels
_MAX_DISTANCE = 12  # beyond the distances of the index, to show what is gained and lost there


def _counts_by_signature(results: Sequence[PairResult]) -> list[Counts]:
    """Count outcomes for each distance if the distance of the signatures alone decided."""
    return [count_outcomes(results, partial(_is_within, k)) for k in range(_MAX_DISTANCE + 1)]


def _is_within(k: int, result: PairResult) -> bool:
    distance = result.forward.pair.distance
    return result.is_signed and distance is not None and distance <= k


def _has_length(share: float, is_called: Callable[[PairResult], bool], result: PairResult) -> bool:
    shorter, longer = sorted((result.a.page.chars, result.b.page.chars))
    return is_called(result) and shorter >= share * longer


def _length_as_feature(results: Sequence[PairResult]) -> Table:
    table = Table(
        title="precision / recall of all pairs if the shorter text must have a share of the longer one's length"
    )
    for column in ("decided by", *(f"{share:.2f}" for share in _LENGTHS)):
        table.add_column(column, justify="right")
    deciders: dict[str, Callable[[PairResult], bool]] = {
        **{f"distance {k}": partial(_is_within, k) for k in range(_MAX_DISTANCE + 1)},
        "all rules": lambda result: result.is_duplicate,
    }
    for name, is_called in deciders.items():
        counts = [count_outcomes(results, partial(_has_length, share, is_called)) for share in _LENGTHS]
        table.add_row(name, *map(_precision_beside_recall, counts))
    return table


def _precision_and_recall(curves: Mapping[str, Sequence[Counts]]) -> Table:
    table = Table(title="figure 1: precision / recall if the distance of the signatures alone decides")
    table.add_column("k", justify="right")
    for name in curves:
        table.add_column(name, justify="right")
    for k, counts in enumerate(zip(*curves.values(), strict=True)):
        table.add_row(str(k), *map(_precision_beside_recall, counts))
    return table


def _precision_beside_recall(counts: Counts) -> str:
    return f"{_figure(counts.precision.value)} / {_figure(counts.recall.value)}"


def _figure(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def _count_first_bits(in_order: Numbers) -> NDArray[np.int64]:
    """Count the neighbours that differ first in each bit: shape (BITS + 1,), at the end those that are equal."""
    differing = [one ^ other for one, other in pairwise(in_order.tolist())]
    return np.bincount([BITS - bits.bit_length() for bits in differing], minlength=BITS + 1)


def _first_bits(in_order: Numbers) -> Table:
    first = _count_first_bits(in_order)
    table = Table(title=f"figure 2a: {len(in_order):,} signatures, {first[BITS]:,} equal to the next one")
    for column in ("first bit that differs", "neighbours", "of random signatures"):
        table.add_column(column, justify="right")
    expected = _expected_first_bits(len(in_order))
    for bit in range(0, BITS, _BITS_TOGETHER):
        together = slice(bit, bit + _BITS_TOGETHER)
        table.add_row(
            f"{bit}–{bit + _BITS_TOGETHER - 1}", f"{first[together].sum():,}", f"{expected[together].sum():,.1f}"
        )
    return table


def _expected_first_bits(number: int) -> NDArray[np.float64]:
    """Return how often each bit is the first that differs between neighbours, on average for *number* random signatures.

    The signatures that agree in all bits before a bit form a part of the space. The bit is the first to differ between two
    neighbours if both halves of such a part have a signature.
    """
    half = np.ldexp(1.0, -np.arange(1, BITS + 1))
    exact = 1 - 2 * np.exp(number * np.log1p(-half)) + np.exp(number * np.log1p(-np.minimum(2 * half, 1 - 1e-16)))
    few = number * (number - 1.0) * half**2  # where ``exact`` would be lost in rounding
    return np.multiply(0.5 / half, np.where(number * half < 1e-4, few, exact), dtype=np.float64)


def _count_parts(in_order: Numbers) -> NDArray[np.int64]:
    return np.bincount((in_order >> np.uint64(57)).astype(np.int64), minlength=128)


def _intervals(in_order: Numbers) -> str:
    ordered = sorted(_count_parts(in_order).tolist())
    spread = ", ".join(f"{name} {ordered[at]}" for name, at in (("least", 0), ("median", 64), ("greatest", -1)))
    return f"figure 2b: signatures in each of 128 parts: {spread}; evenly {len(in_order) / 128:.1f}"


def _draw(curves: Mapping[str, Sequence[Counts]], in_order: Numbers) -> str:
    """Draw all figures, one above the other, as SVG."""
    shares = {
        f"{measure}, {name}": [getattr(count, measure).value or 0 for count in counts]
        for measure in ("precision", "recall")
        for name, counts in curves.items()
    }
    first = {"signatures": _count_first_bits(in_order)[:BITS], "random": _expected_first_bits(len(in_order))}
    panels = [
        _draw_lines("figure 1, by distance", shares),
        _draw_lines("figure 2a, by the first bit that differs", {name: [*counts] for name, counts in first.items()}),
        _draw_lines("figure 2b, by part of the space", {"signatures": [*_count_parts(in_order)]}),
    ]
    placed = [f'<g transform="translate(0 {at * _PANEL})">{panel}</g>' for at, panel in enumerate(panels)]
    style = f'width="{_WIDTH + 260}" height="{len(panels) * _PANEL}" font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {style}>{"".join(placed)}</svg>\n'


def _draw_lines(title: str, lines: Mapping[str, Sequence[float]]) -> str:
    most, last = max(map(max, lines.values())), len(next(iter(lines.values()))) - 1
    height = _PANEL - 60
    parts = [
        f'<text x="40" y="15">{title}</text><path d="M40 20V{20 + height}H{40 + _WIDTH}" fill="none" stroke="gray"/>',
        f'<text x="36" y="28" text-anchor="end">{most:,.3g}</text><text x="40" y="{height + 36}">0</text>',
        f'<text x="{40 + _WIDTH}" y="{height + 36}" text-anchor="end">{last}</text>',
    ]
    for number, (name, values) in enumerate(lines.items()):
        points = " ".join(
            f"{40 + _WIDTH * at / last:.1f},{20 + height * (1 - value / most):.1f}" for at, value in enumerate(values)
        )
        color, dashes = ("#06c", "#c40")[number // 2 % 2], ("", ' stroke-dasharray="5 3"')[number % 2]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}"{dashes}/>')
        parts.append(
            f'<text x="{50 + _WIDTH}" y="{34 + 16 * number}" fill="{color}">{"╌" if dashes else "─"} {name}</text>'
        )
    return "".join(parts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="rjieba" if find_spec("rjieba") else "jieba")
    parser.add_argument("--svg", type=Path, help="file for a drawing of the figures")
    given = parser.parse_args()
    require_data(given.folder)
    config, sets = Config(tokenizer=given.tokenizer), read_folder(given.folder, KnownPair)
    with progress_bars() as start:
        documents = sign_documents(given.folder, sets, config, 1, start("reading", None))
    results = evaluate_pairs(sets, documents, config)
    curves = {
        "all pairs": _counts_by_signature(results),
        "two content pages": _counts_by_signature(list(filter(are_content_pages, results))),
    }
    texts = [document.page.signature for document in documents.values() if document.page.kind is PageKind.TEXT]
    in_order = np.sort(np.array(texts, dtype=np.uint64))
    console = Console(width=120)
    console.print(_precision_and_recall(curves))
    console.print(_length_as_feature(results), _first_bits(in_order), _intervals(in_order))
    if given.svg:
        given.svg.write_text(_draw(curves, in_order), encoding="utf-8")


if __name__ == "__main__":
    main()
