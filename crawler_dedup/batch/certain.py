"""Find candidates that need no decision, because they are new whatever is decided about other pages.

For each pair of texts that are near each other or have the same title, it is computed whether the earlier text could cover
the later one at all (:mod:`crawler_dedup.rules.bounds`). A text that no earlier text could cover is new. If it could not
cover any later text either, no page needs to be compared with it.
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
from crawler_dedup.hamming import BITS, Numbers
from crawler_dedup.index.keptpages import MAX_REPRESENTATIVES, MAX_UNDER_TITLE
from crawler_dedup.index.verdicts import MAX_COMPARED
from crawler_dedup.rules.bounds import Measures, may_be_covered
from crawler_dedup.signing.schemes import Scheme, SimHash

_MOST_NEAR = 16  # near earlier texts with which a text is compared here
_MOST_PAIRS = 4  # pairs for each text, on average, that are held in memory
_PIECE = 1 << 16  # pairs that are compared at a time


class Certain(NamedTuple):
    """What is certain about pages before they are decided, in the order of the decisions.

    Attributes:
        new: whether the page is certainly new.
        paired: whether all earlier pages that may cover the page are known.
        filed: whether a later page that is neither new nor paired may be compared with the page.
        earlier: places of the pages that may cover each paired page, in the order in which they are compared with it.
        starts: index of the first of these places for each page, and at the end the number of all places.
    """

    new: Flags
    paired: Flags
    filed: Flags
    earlier: Places
    starts: Places


def nothing_certain(count: int) -> Certain:
    """Return the value for *count* pages about which nothing is certain."""
    new, paired = (np.zeros(count, dtype=bool) for _ in range(2))
    starts = np.zeros(count + 1, dtype=np.int64)
    return Certain(new, paired, np.ones(count, dtype=bool), starts[:0], starts)


def find_certain(
    rows: Rows,
    chosen: Places,
    order: Places,
    candidates: Candidates,
    scheme: Scheme,
    measures: Measures | None,
    limits: Config,
) -> Certain:
    """Find what is certain about the rows *chosen*, which ascend.

    Something is certain only about texts whose names no other pages have. Such a text is new if no earlier text that is near
    or has its title may cover it. It is paired if few earlier texts may cover it, none of which is replaced once it is kept.

    Args:
        order: the places of the rows in the order in which they are decided.
        measures: the measures of the rows; ``None``: there was no memory for them.
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
    return comparison.conclude(candidates.repeated[in_order[texts]], texts, len(order))


def measure_pages(picked: Iterable[StoredPages], measures: list[Measures]) -> Iterator[StoredPages]:
    """Yield *picked* pages, and append their measures to *measures*.

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
        signatures: signatures of the existing texts, followed by those of the texts to decide, in the order of decisions.
        existing: how many existing texts there are.
        places: places of the texts to decide in *measures*.
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
        count = len(places)
        self._uncertain = np.zeros(count, dtype=bool)  # whether an earlier text may cover the text
        self._is_open = np.zeros(count, dtype=bool)  # whether not all of these earlier texts are known
        self._filed = np.zeros(count, dtype=bool)  # whether an open text may be compared with the text
        self._frequent = _is_frequent(signatures, MAX_REPRESENTATIVES)[existing:]
        self._pairs: list[Pairs] = []
        self._room = _MOST_PAIRS * count + _PIECE

    def compare_near(self) -> None:
        """Compare the texts with near signatures."""
        crowded = np.zeros(len(self._signatures), dtype=bool)
        times = np.zeros(len(self._signatures), dtype=np.int32)  # how many earlier texts are near
        for earlier, later in self._list_near(crowded):
            np.add.at(times, later, 1)
            is_looked_at = (earlier >= self._existing) & (times[later] <= _MOST_NEAR)
            self._compare(*(ends[is_looked_at] - self._existing for ends in (earlier, later)))
            self._leave_open(*(ends[~is_looked_at] - self._existing for ends in (earlier, later)))
        own = crowded[self._existing :]
        self._uncertain |= own
        self._is_open |= own | self._frequent
        # Where limits of the index cut candidates off, pages that cover nothing count towards the limit, too.
        self._filed |= own | self._frequent
        cut_off = crowded | (times > MAX_COMPARED - MAX_UNDER_TITLE)
        if cut_off.any():
            for earlier, later in self._list_near(crowded):
                needed = earlier[cut_off[later] & (earlier >= self._existing)]
                self._filed[needed - self._existing] = True

    def _list_near(self, crowded: Flags) -> Iterator[Pairs]:
        for earlier, later in list_near_pairs(self._signatures, self._max_distance, crowded):
            is_decided = later >= self._existing
            for first in range(0, len(later), _PIECE):
                piece = slice(first, first + _PIECE)
                yield earlier[piece][is_decided[piece]], later[piece][is_decided[piece]]

    def compare_under_titles(self, titles: Numbers) -> None:
        """Compare the texts that have the same title; 0: no title."""
        order = np.argsort(titles, kind="stable")
        order = order[titles[order] != 0]
        ordered = titles[order]
        are_first = np.ones(len(order), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=are_first[1:])
        starts = np.flatnonzero(are_first)
        lengths = np.diff(np.append(starts, len(order)))
        are_many = np.repeat(lengths > MAX_UNDER_TITLE, lengths)
        self._filed[order[are_many]] = True
        self._is_open[order[are_many]] = True
        self._uncertain[order[are_many & ~are_first]] = True
        for step in range(1, MAX_UNDER_TITLE):
            pairs = np.flatnonzero((ordered[:-step] == ordered[step:]) & ~are_many[step:])
            for first in range(0, len(pairs), _PIECE):
                piece = pairs[first : first + _PIECE]
                earlier, later = order[piece], order[piece + step]
                is_far = ~self._are_near(earlier, later)  # near ones were compared before
                self._compare(earlier[is_far], later[is_far])

    def _are_near(self, earlier: Places, later: Places) -> Flags:
        signatures = self._signatures[self._existing :]
        near: Flags = np.bitwise_count(signatures[earlier] ^ signatures[later]) <= self._max_distance
        return near

    def _compare(self, earlier: Places, later: Places) -> None:
        """Note the pairs in which the earlier text may cover the later one."""
        if self._measures is not None:
            kept, new = self._places[earlier], self._places[later]
            needed = may_be_covered(self._measures, new, kept, self._limits)
            earlier, later = earlier[needed], later[needed]
        if len(later) > self._room:
            self._leave_open(earlier, later)
            return
        self._room -= len(later)
        self._uncertain[later] = True
        self._pairs.append((earlier, later))

    def _leave_open(self, earlier: Places, later: Places) -> None:
        """Note pairs that are not listed: the later text is looked up, so the earlier one is filed (existing ones are)."""
        self._uncertain[later] = self._is_open[later] = True
        self._filed[earlier[earlier >= 0]] = True

    def conclude(self, repeated: Flags, texts: Places, count: int) -> Certain:
        """Return what is certain about all pages.

        Args:
            repeated: whether each text has the name of another page.
            texts: the positions of the texts.
            count: how many pages there are.
        """
        none = np.zeros(0, dtype=np.int64)
        earlier, later = map(np.concatenate, zip((none, none), *self._pairs, strict=True))
        # A page is replaced when its name comes again. Of many pages with the same signature, not all are compared.
        self._is_open |= repeated
        self._is_open[later[(repeated | self._frequent)[earlier]]] = True
        is_open = self._is_open[later]
        self._filed[earlier[is_open]] = True
        earlier, later = earlier[~is_open], later[~is_open]
        signatures = self._signatures[self._existing :]
        distances = np.bitwise_count(signatures[earlier] ^ signatures[later]).astype(np.int64)
        by_title = distances > self._max_distance
        nearest = np.where(by_title, np.uint64(0), signatures[earlier])
        distances[by_title] = BITS
        order = np.lexsort((earlier, nearest, distances, later))
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(texts[later], minlength=count), out=starts[1:])
        certain = nothing_certain(count)
        certain.new[texts] = ~self._uncertain & ~repeated
        certain.paired[texts] = self._uncertain & ~self._is_open
        certain.filed[texts] = self._filed
        return certain._replace(earlier=self._places[earlier[order]], starts=starts)


def _is_frequent(numbers: Numbers, most: int) -> Flags:
    """Return for each of *numbers* whether it occurs more than *most* times."""
    ascending = np.sort(numbers)
    frequent = ascending[most:][ascending[most:] == ascending[:-most]]
    return np.isin(numbers, np.unique(frequent))
