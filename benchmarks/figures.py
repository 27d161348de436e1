"""The figures of Manku, Jain and Das Sarma (WWW 2007) for labelled pages: ``python -m benchmarks.figures [FOLDER]``.

Figure 1: precision and recall for each distance k. Figure 2a: the first bit in which neighbours in the sorted order of
signatures differ. Figure 2b: the number of signatures in each of 128 equal parts of their space. A report
(``crawler-dedup report``) draws the second figure for an index.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crawler_dedup import Config
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.evaluation.counts import Counts
from crawler_dedup.evaluation.documents import sign_documents
from crawler_dedup.evaluation.labelled import read_folder
from crawler_dedup.evaluation.pairs import PARTS, PairResult, count_outcomes, evaluate_pairs
from crawler_dedup.report.data import SignatureDistribution
from crawler_dedup.report.signatures import SignatureSample, expected_first_different_bits
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


def _first_bits(distribution: SignatureDistribution) -> Table:
    table = Table(title=f"figure 2a: {distribution.sampled:,} signatures, {distribution.equal:,} equal to the next one")
    for column in ("first bit that differs", "neighbours", "of random signatures"):
        table.add_column(column, justify="right")
    expected = expected_first_different_bits(distribution.sampled).tolist()
    for first in range(0, 64, _BITS_TOGETHER):
        together = slice(first, first + _BITS_TOGETHER)
        measured, random = sum(distribution.first_different_bits[together]), sum(expected[together])
        table.add_row(f"{first}–{first + _BITS_TOGETHER - 1}", f"{measured:,}", f"{random:,.1f}")
    return table


def _intervals(distribution: SignatureDistribution) -> str:
    ordered = sorted(distribution.intervals)
    spread = ", ".join(f"{name} {ordered[at]}" for name, at in (("least", 0), ("median", 64), ("greatest", -1)))
    return f"figure 2b: signatures in each of 128 parts: {spread}; evenly {distribution.sampled / 128:.1f}"


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
    sample = SignatureSample()
    sample.add([document.page for document in documents.values() if document.page.kind is PageKind.TEXT])
    distribution = sample.distribution()
    console = Console(width=120)
    console.print(_precision_and_recall(curves))
    if distribution is not None:
        console.print(_first_bits(distribution), _intervals(distribution))


if __name__ == "__main__":
    main()
