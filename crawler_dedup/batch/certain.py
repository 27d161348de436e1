"""Which candidates need no decision: they are new, whatever is decided about others.

Of each pair of near texts, or of texts under one title, it is computed whether the earlier one could cover the later one
at all (:mod:`crawler_dedup.rules.bounds`). A text that no earlier one could cover is new. If it could cover no later one
either, nothing needs to be compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from crawler_dedup.batch.candidates import Candidates
from crawler_dedup.batch.nearpairs import Pairs, list_near_pairs
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.rows import Rows, StoredPages
from crawler_dedup.config import Config
from crawler_dedup.errors import DedupError
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.keptpages import MAX_REPRESENTATIVES, MAX_UNDER_TITLE
from crawler_dedup.index.verdicts import MAX_COMPARED
from crawler_dedup.rules.bounds import Measures, may_be_covered
from crawler_dedup.signing.schemes import Scheme, SimHash

_MOST_NEAR = 16  # earlier texts with which one is compared here
_PIECE = 1 << 16  # pairs that are compared at a time


class Certain(NamedTuple):
    """What is certain of some pages, in the order in which they are decided.

    Attributes:
        new: whether each is new for certain.
        compared: whether each may be compared with a later one.
    """

    new: Flags
    compared: Flags


def nothing_certain(count: int) -> Certain:
    """Return that nothing is certain of so many pages."""
    return Certain(np.zeros(count, dtype=bool), np.ones(count, dtype=bool))


def find_certain(
    rows: Rows,
    chosen: Places,
    order: Places,
    candidates: Candidates,
    scheme: Scheme,
    measures: Measures | None,
    limits: Config,
) -> Certain:
    """Find what is certain of the rows *chosen*, which ascend.

    A row is new for certain if it is a text whose name no other page has, and no text before it that is near, or has its
    title, may cover it.

    Args:
        order: the places of the rows in the order in which they are decided.
        measures: of the rows; ``None``: there was no memory for them.
        limits: the settings with the thresholds.
    """
    if not isinstance(scheme, SimHash):
        return nothing_certain(len(order))
    in_order = chosen[order]
    texts = np.flatnonzero(rows.texts[in_order])
    before = candidates.existing_texts
    signatures = np.concatenate([before, rows.signatures[in_order[texts]]])
    comparison = _Comparison(signatures, len(before), order[texts], scheme.max_distance, measures, limits)
    comparison.compare_near()
    comparison.compare_under_titles(rows.titles[in_order[texts]])
    certain = nothing_certain(len(order))
    certain.new[texts] = ~comparison.uncertain & ~candidates.repeated[in_order[texts]]
    certain.compared[texts] = comparison.compared
    return certain


def measure_pages(picked: Iterable[StoredPages], measures: list[Measures]) -> Iterator[StoredPages]:
    """Yield *picked* pages, and add what is measured of them to *measures*.

    Raises:
        DedupError: a page is damaged.
    """
    for stored in picked:
        try:
            measures.append(Measures.of(stored.contents))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DedupError(f"A signed page is damaged: {error}") from None
        yield stored


class _Comparison:
    """Compares texts pair by pair.

    Args:
        signatures: of existing texts, and behind them of those that are decided, in their order.
        existing: how many of them are existing texts.
        places: of the texts that are decided, in *measures*.

    Attributes:
        uncertain: of each text that is decided whether an earlier one may cover it.
        compared: whether it may be compared with a later one.
    """

    def __init__(
        self,
        signatures: Numbers,
        existing: int,
        places: Places,
        max_distance: int,
        measures: Measures | None,
        limits: Config,
    ) -> None:
        self._signatures = signatures
        self._existing = existing
        self._places = places
        self._max_distance = max_distance
        self._measures = measures
        self._limits = limits
        self.uncertain = np.zeros(len(places), dtype=bool)
        self.compared = np.zeros(len(places), dtype=bool)

    def compare_near(self) -> None:
        """Compare the texts with near signatures."""
        crowded = np.zeros(len(self._signatures), dtype=bool)
        times = np.zeros(len(self._signatures), dtype=np.int32)  # how many earlier ones are near
        for earlier, later in self._list_near(crowded):
            np.add.at(times, later, 1)
            is_looked_at = (earlier >= self._existing) & (times[later] <= _MOST_NEAR)
            self._compare(earlier[is_looked_at], later[is_looked_at])
            self._note(earlier[~is_looked_at], later[~is_looked_at])
        own = slice(self._existing, None)
        self.uncertain |= crowded[own]
        # Where limits of the index cut candidates off, pages that cover nothing take the place of others.
        self.compared |= crowded[own] | _is_frequent(self._signatures, MAX_REPRESENTATIVES)[own]
        cut_off = crowded | (times > MAX_COMPARED - MAX_UNDER_TITLE)
        if cut_off.any():
            for earlier, later in self._list_near(crowded):
                needed = earlier[cut_off[later] & (earlier >= self._existing)]
                self.compared[needed - self._existing] = True

    def _list_near(self, crowded: Flags) -> Iterator[Pairs]:
        for earlier, later in list_near_pairs(self._signatures, self._max_distance, crowded):
            is_decided = later >= self._existing
            for first in range(0, len(later), _PIECE):
                piece = slice(first, first + _PIECE)
                yield earlier[piece][is_decided[piece]], later[piece][is_decided[piece]]

    def compare_under_titles(self, titles: Numbers) -> None:
        """Compare the texts that have one title; 0: none."""
        order = np.argsort(titles, kind="stable")
        order = order[titles[order] != 0]
        ordered = titles[order]
        are_first = np.ones(len(order), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=are_first[1:])
        starts = np.flatnonzero(are_first)
        lengths = np.diff(np.append(starts, len(order)))
        are_many = np.repeat(lengths > MAX_UNDER_TITLE, lengths)
        self.compared[order[are_many]] = True
        self.uncertain[order[are_many & ~are_first]] = True
        for step in range(1, MAX_UNDER_TITLE):
            pairs = np.flatnonzero((ordered[:-step] == ordered[step:]) & ~are_many[step:])
            for first in range(0, len(pairs), _PIECE):
                piece = pairs[first : first + _PIECE]
                self._compare(order[piece] + self._existing, order[piece + step] + self._existing)

    def _compare(self, earlier: Places, later: Places) -> None:
        """Note the pairs in which the earlier text may cover the later one."""
        if self._measures is not None:
            near = np.bitwise_count(self._signatures[earlier] ^ self._signatures[later]) <= self._max_distance
            kept, new = (self._places[ends - self._existing] for ends in (earlier, later))
            needed = may_be_covered(self._measures, new, kept, near, self._limits)
            earlier, later = earlier[needed], later[needed]
        self._note(earlier, later)

    def _note(self, earlier: Places, later: Places) -> None:
        self.uncertain[later - self._existing] = True
        self.compared[(earlier - self._existing)[earlier >= self._existing]] = True


def _is_frequent(numbers: Numbers, most: int) -> Flags:
    """Tell of each of *numbers* whether it is there more often than *most* times."""
    ascending = np.sort(numbers)
    frequent = ascending[most:][ascending[most:] == ascending[:-most]]
    return np.isin(numbers, np.unique(frequent))
