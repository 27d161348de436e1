"""Thresholds chosen without a site and evaluated on that site: ``python -m benchmarks.left_out [FOLDER]``.

For each site with enough labelled pairs, the thresholds with the greatest recall at the wanted precision are chosen from
a grid, on the pairs of all other sites. The last row adds the sites up.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from crawler_dedup import Config
from crawler_dedup.cli.evaluate import format_share
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.evaluation.counts import Counts
from crawler_dedup.evaluation.labelled import read_folder
from crawler_dedup.evaluation.pairs import PairResult, evaluate_pairs, sign_documents
from crawler_dedup.system.callbacks import Advance
from tests.support.data import DATA, require_data

_LEAST_PAIRS = 5  # of each label, for a site to be left out
# Each from the strictest value to the loosest. The sketch's standard error of .06 makes finer steps pointless.
_DISTANCES = tuple(range(8))
_RESEMBLANCES = tuple(percent / 100 for percent in range(95, 35, -5))
_COVERAGES = tuple(percent / 100 for percent in range(95, 45, -5))

_Mask = NDArray[np.bool_]


def _call_duplicates(results: Sequence[PairResult], advance: Advance) -> _Mask:
    """Return whether each pair is called a duplicate at each point of the grid: bool, shape (pairs, 8, 12, 10)."""
    called = np.zeros((len(results), len(_DISTANCES), len(_RESEMBLANCES), len(_COVERAGES)), dtype=np.bool_)
    for row, result in zip(called, results, strict=True):
        _fill(row, result, (slice(0, len(_DISTANCES)), slice(0, len(_RESEMBLANCES)), slice(0, len(_COVERAGES))))
        advance(1)
    return called


def _fill(row: _Mask, result: PairResult, box: tuple[slice, slice, slice]) -> None:
    """Fill a box of the grid. If its strictest and its loosest corner agree, so do all points; else it is halved."""
    loosest = _is_duplicate(result, *(side.stop - 1 for side in box))
    if loosest == _is_duplicate(result, *(side.start for side in box)):
        row[box] = loosest
        return
    axis = max(range(3), key=lambda number: box[number].stop - box[number].start)
    middle = (box[axis].start + box[axis].stop) // 2
    for half in (slice(box[axis].start, middle), slice(middle, box[axis].stop)):
        a, b, c = (half if number == axis else side for number, side in enumerate(box))
        _fill(row, result, (a, b, c))


def _is_duplicate(result: PairResult, distance: int, resemblance: int, coverage: int) -> bool:
    with patch.multiple(
        "crawler_dedup.rules.pair",
        MIN_RESEMBLANCE=_RESEMBLANCES[resemblance],
        MIN_COVERAGE=_COVERAGES[coverage],
    ):
        return result.is_duplicate_within(_DISTANCES[distance])


def _choose(called: _Mask, duplicate: _Mask, precision: float) -> int | None:
    """Return the point with the greatest recall at *precision*: of equal ones the most precise, then the strictest."""
    found, false = np.count_nonzero(called[duplicate], axis=0), np.count_nonzero(called[~duplicate], axis=0)
    reaches = (found > 0) & (found / np.maximum(found + false, 1) >= precision)
    return int(np.lexsort((np.arange(len(found)), false, -found, ~reaches))[0]) if reaches.any() else None


def _count(called: _Mask, duplicate: _Mask) -> Counts:
    return Counts(*(int(np.count_nonzero(a & b)) for b in (duplicate, ~duplicate) for a in (called, ~called)))


def _print_sites(results: Sequence[PairResult], called: _Mask, precision: float) -> None:
    table = Table(title=f"thresholds chosen on the other sites for a precision of {precision}")
    for column in (
        "site left out",
        "distance, resemblance, coverage",
        "found / missed / false / apart",
        "precision",
        "recall",
    ):
        table.add_column(column, no_wrap=True)
    duplicate = np.array([result.labelled.label == 1 for result in results], dtype=np.bool_)
    sources = np.array([result.source for result in results])
    # A site's pages may be in pairs of another source too (two states of one site): these are left out with the site.
    pages = [{(result.set_name, result.labelled.id_a), (result.set_name, result.labelled.id_b)} for result in results]
    points = list(product(_DISTANCES, _RESEMBLANCES, _COVERAGES))
    total = Counts()
    for source in dict.fromkeys(sources.tolist()):
        inside = sources == source
        if min(np.count_nonzero(inside & duplicate), np.count_nonzero(inside & ~duplicate)) < _LEAST_PAIRS:
            continue
        own = set().union(*(pages[number] for number in np.flatnonzero(inside)))
        others = np.array([own.isdisjoint(pair) for pair in pages], dtype=np.bool_)
        point = _choose(called[others], duplicate[others], precision)
        if point is None:
            table.add_row(source, "none")
            continue
        counts = _count(called[inside, point], duplicate[inside])
        table.add_row(source, " / ".join(map(str, points[point])), *_cells(counts))
        total += counts
    table.add_section()
    table.add_row("all of these", "", *_cells(total))
    Console(width=200).print(table)


def _cells(counts: Counts) -> tuple[str, str, str]:
    numbers = f"{counts.found} / {counts.missed} / {counts.false} / {counts.apart}"
    return numbers, format_share(counts.precision), format_share(counts.recall)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--precision", type=float, default=0.99)
    parser.add_argument("--tokenizer", default="rjieba" if find_spec("rjieba") else "jieba")
    given = parser.parse_args()
    require_data(given.folder)
    config, sets = Config(tokenizer=given.tokenizer), read_folder(given.folder)
    with progress_bars() as start:
        documents = sign_documents(given.folder, sets, config, 1, start("reading", None))
        results = [result for result in evaluate_pairs(sets, documents, config) if result.labelled.label != "grey"]
        called = _call_duplicates(results, start("choosing", len(results)))
    _print_sites(results, called.reshape(len(results), -1), given.precision)


if __name__ == "__main__":
    main()
