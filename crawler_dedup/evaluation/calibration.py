"""Find the thresholds that find most duplicates among labelled pairs at a wanted precision.

The rules are applied at the points of a grid of ``max_distance``, ``min_resemblance`` and ``min_coverage``. Pages are
signed once, and the rules are applied to a pair only at points whose result does not follow from other points, so that
thousands of pairs take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.config import Config
from crawler_dedup.evaluation.counts import Counts
from crawler_dedup.evaluation.documents import DocumentKey
from crawler_dedup.evaluation.pairs import PairResult
from crawler_dedup.system.callbacks import Advance

THRESHOLD_NAMES = ("max_distance", "min_resemblance", "min_coverage")
"""The names of the thresholds that are chosen, as fields of :class:`Config`."""

MIN_PAIRS_PER_LABEL = 5
"""A site is left out in turn if it has at least this number of duplicates, and of pairs that are not duplicates."""

# Each from the strictest value to the loosest. The sketch's standard error of .06 makes finer steps pointless.
_DISTANCES = tuple(range(8))
_RESEMBLANCES = tuple(percent / 100 for percent in range(95, 35, -5))
_COVERAGES = tuple(percent / 100 for percent in range(95, 45, -5))
_SHAPE = (len(_DISTANCES), len(_RESEMBLANCES), len(_COVERAGES))

_Point = tuple[int, int, int]
_Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Grid:
    """The results of the filter for labelled pairs at every point of a grid of thresholds.

    Attributes:
        points: the settings at each point, the strictest first.
        results: the pairs.
        duplicate: bool, shape (pairs,): whether the pair is labelled a duplicate.
        called: bool, shape (pairs, points): whether the filter calls the pair a duplicate at this point.
    """

    points: Sequence[Config]
    results: Sequence[PairResult]
    duplicate: _Mask
    called: _Mask

    def counts(self, point: int, among: _Mask | None = None) -> Counts:
        """Count the outcomes at one point, of all pairs or of the pairs in *among* (bool, shape (pairs,))."""
        rows = slice(None) if among is None else among
        called, duplicate = self.called[rows, point], self.duplicate[rows]
        return Counts(
            found=int(np.count_nonzero(called & duplicate)),
            missed=int(np.count_nonzero(~called & duplicate)),
            false=int(np.count_nonzero(called & ~duplicate)),
            apart=int(np.count_nonzero(~called & ~duplicate)),
        )

    def best(self, precision: float, among: _Mask | None = None) -> int | None:
        """Return the point with the greatest recall among the points that reach *precision*; ``None`` if no point does.

        Of points with the same recall it is the most precise, and of equally precise points the strictest: that with the
        least distance, then the greatest resemblance, then the greatest coverage.

        Args:
            precision: from 0 to 1.
            among: bool, shape (pairs,): the pairs to count; ``None``: all pairs.
        """
        found, false = self._count_called(among)
        reaches = (found > 0) & (found / np.maximum(found + false, 1) >= precision)
        if not reaches.any():
            return None
        return int(np.lexsort((np.arange(len(found)), false, -found, ~reaches))[0])

    def most_precise(self) -> int | None:
        """Return the point with the greatest precision, and of equally precise points that with the greatest recall.

        Return ``None`` if no point finds a duplicate.
        """
        found, false = self._count_called(None)
        if not found.any():
            return None
        share = found / np.maximum(found + false, 1)
        return int(np.lexsort((np.arange(len(found)), -found, -share))[0])

    def _count_called(self, among: _Mask | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many duplicates, and how many other pairs, are called duplicates at each point."""
        rows = slice(None) if among is None else among
        called, duplicate = self.called[rows], self.duplicate[rows]
        return np.count_nonzero(called[duplicate], axis=0), np.count_nonzero(called[~duplicate], axis=0)


@dataclass(frozen=True)
class LeftOutSite:
    """A site that was evaluated with thresholds chosen on the other sites.

    Attributes:
        source: the site.
        config: the chosen settings; ``None`` if no point of the grid has the wanted precision on the other sites.
        counts: the outcomes of the site's pairs with these settings; all zero if *config* is ``None``.
    """

    source: str
    config: Config | None
    counts: Counts


def build_grid(results: Sequence[PairResult], config: Config, advance: Advance) -> Grid:
    """Apply the rules to every pair at every point of the grid.

    Args:
        results: the labelled pairs, without grey pairs.
        config: all settings but the thresholds.
        advance: called with the number of pairs that were done since the last call.
    """
    points = [
        replace(config, max_distance=distance, min_resemblance=resemblance, min_coverage=coverage)
        for distance, resemblance, coverage in product(_DISTANCES, _RESEMBLANCES, _COVERAGES)
    ]
    called = np.zeros((len(results), *_SHAPE), dtype=np.bool_)
    for row, result in zip(called, results, strict=True):
        _fill(row, _cached_calls(result, points), (0, 0, 0), (_SHAPE[0] - 1, _SHAPE[1] - 1, _SHAPE[2] - 1))
        advance(1)
    duplicate = np.array([result.labelled.label == 1 for result in results], dtype=np.bool_)
    return Grid(points, results, duplicate, called.reshape(len(results), len(points)))


def leave_one_out(grid: Grid, precision: float) -> list[LeftOutSite]:
    """Choose thresholds without a site and evaluate them on that site, for each site with enough pairs.

    A site's pages may occur in pairs of another source too (two states of one site): these pairs are left out with the site.
    """
    sources = np.array([result.source for result in grid.results])
    keys = [_document_keys(result) for result in grid.results]
    left_out = []
    for source in dict.fromkeys(result.source for result in grid.results):
        inside = sources == source
        duplicates = int(np.count_nonzero(inside & grid.duplicate))
        if min(duplicates, int(np.count_nonzero(inside)) - duplicates) < MIN_PAIRS_PER_LABEL:
            continue
        own_keys = {key for pair, is_inside in zip(keys, inside, strict=True) if is_inside for key in pair}
        is_unrelated = np.array([own_keys.isdisjoint(pair) for pair in keys], dtype=np.bool_)
        point = grid.best(precision, is_unrelated)
        if point is None:
            left_out.append(LeftOutSite(source, None, Counts()))
        else:
            left_out.append(LeftOutSite(source, grid.points[point], grid.counts(point, inside)))
    return left_out


def _document_keys(result: PairResult) -> list[DocumentKey]:
    return [(result.set_name, result.labelled.id_a), (result.set_name, result.labelled.id_b)]


def _cached_calls(result: PairResult, points: Sequence[Config]) -> Callable[[_Point], bool]:
    """Return a function that says whether the filter calls a pair a duplicate at a point, and remembers its results."""
    known: dict[_Point, bool] = {}

    def called(point: _Point) -> bool:
        if point not in known:
            known[point] = result.is_duplicate_with(points[int(np.ravel_multi_index(point, _SHAPE))])
        return known[point]

    return called


def _fill(row: _Mask, called: Callable[[_Point], bool], strictest: _Point, loosest: _Point) -> None:
    """Fill the box between two points, both included, and call *called* for few of its points.

    A pair that is a duplicate with strict thresholds is one with looser thresholds too. So if the strictest and the loosest
    corner have the same result, the whole box has it; otherwise the box is halved along its longest side.
    """
    answer = called(loosest)
    sides = [high - low for low, high in zip(strictest, loosest, strict=True)]
    if called(strictest) == answer:
        row[tuple(slice(low, high + 1) for low, high in zip(strictest, loosest, strict=True))] = answer
        return
    axis = sides.index(max(sides))
    middle = strictest[axis] + sides[axis] // 2
    _fill(row, called, strictest, _moved(loosest, axis, middle))
    _fill(row, called, _moved(strictest, axis, middle + 1), loosest)


def _moved(point: _Point, axis: int, to: int) -> _Point:
    a, b, c = (to if number == axis else at for number, at in enumerate(point))
    return a, b, c
