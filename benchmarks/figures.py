"""The figures of Manku, Jain and Das Sarma (WWW 2007) for labelled pages: ``python -m benchmarks.figures [FOLDER]``.

Figure 1: precision and recall for each distance k. Figure 2a: the first bit in which neighbours in the sorted order of
signatures differ. Figure 2b: the number of signatures in each of 128 equal parts of their space.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from crawler_dedup import Config
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.evaluation.counts import Counts
from crawler_dedup.evaluation.labelled import read_folder
from crawler_dedup.evaluation.pairs import PARTS, PairResult, count_outcomes, evaluate_pairs, sign_documents
from crawler_dedup.hamming import BITS, Numbers
from crawler_dedup.signedpage import PageKind
from tests.support.data import DATA, require_data

_BITS_TOGETHER = 4
_MAX_DISTANCE = 12  # beyond the distances of the index, to show what is gained and lost there


def _counts_by_signature(results: Sequence[PairResult]) -> list[Counts]:
    """Count outcomes for each distance if the distance of the signatures alone decided."""
    return [count_outcomes(results, partial(_is_within, k)) for k in range(_MAX_DISTANCE + 1)]


def _is_within(k: int, result: PairResult) -> bool:
    distance = result.forward.pair.distance
    return result.is_signed and distance is not None and distance <= k


def _precision_and_recall(curves: Mapping[str, Sequence[Counts]]) -> Table:
    table = Table(title="figure 1: precision / recall if the distance of the signatures alone decides")
    table.add_column("k", justify="right")
    for name in curves:
        table.add_column(name, justify="right")
    for k, counts in enumerate(zip(*curves.values(), strict=True)):
        table.add_row(
            str(k), *(f"{_figure(count.precision.value)} / {_figure(count.recall.value)}" for count in counts)
        )
    return table


def _figure(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def _first_bits(in_order: Numbers) -> Table:
    differing = [one ^ other for one, other in pairwise(in_order.tolist())]
    first = np.bincount([BITS - bits.bit_length() for bits in differing if bits], minlength=BITS)
    table = Table(title=f"figure 2a: {len(in_order):,} signatures, {differing.count(0):,} equal to the next one")
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


def _intervals(in_order: Numbers) -> str:
    ordered = sorted(np.bincount((in_order >> np.uint64(57)).astype(np.int64), minlength=128).tolist())
    spread = ", ".join(f"{name} {ordered[at]}" for name, at in (("least", 0), ("median", 64), ("greatest", -1)))
    return f"figure 2b: signatures in each of 128 parts: {spread}; evenly {len(in_order) / 128:.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="rjieba" if find_spec("rjieba") else "jieba")
    given = parser.parse_args()
    require_data(given.folder)
    config, sets = Config(tokenizer=given.tokenizer), read_folder(given.folder)
    with progress_bars() as start:
        documents = sign_documents(given.folder, sets, config, 1, start("reading", None))
    results = evaluate_pairs(sets, documents, config)
    (_, are_pages), *_ = PARTS
    curves = {
        "all pairs": _counts_by_signature(results),
        "two content pages": _counts_by_signature([result for result in results if are_pages(result.labelled)]),
    }
    texts = [document.page.signature for document in documents.values() if document.page.kind is PageKind.TEXT]
    in_order = np.sort(np.array(texts, dtype=np.uint64))
    console = Console(width=120)
    console.print(_precision_and_recall(curves))
    console.print(_first_bits(in_order), _intervals(in_order))


if __name__ == "__main__":
    main()
