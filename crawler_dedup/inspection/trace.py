"""Find the origins of a text: the passages that it shares with kept pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from crawler_dedup.hamming import Numbers, sort_distinct
from crawler_dedup.index.index import Index
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.schemes.passages import PassageScheme, PieceIndex, Pieces, Positions

MAX_CANDIDATES = 1_000
"""Largest number of signatures of a scope whose pages are compared, those with most keys in common with the text."""
MAX_PASSAGES = 100
"""Largest number of passages that are returned of a page, the longest."""

_MAX_PAIRS = 1 << 18  # pairs of places of common pieces in a text and in a page
_MAX_EXAMINED = 2_000  # of the passages, only the longest are checked for lying within others
_PROBES_TOGETHER = 1_024
_COUNTED_TOGETHER = 1 << 20


@dataclass(frozen=True)
class Passage:
    """A row of common pieces: letters *start* to *end* of the text, which begin at letter *at* of the page."""

    start: int
    end: int
    at: int


@dataclass(frozen=True)
class Source:
    """A kept page with which a text shares passages.

    Attributes:
        page: the page.
        share_of_text: share of the text's letters that lie in common passages.
        share_of_page: share of the page's pieces that the text has.
        passages: the longest common passages, in the order of the text.
    """

    page: SignedPage
    share_of_text: float
    share_of_page: float
    passages: Sequence[Passage]


@dataclass(frozen=True)
class _TracedText:
    """The pieces of a text, by their numbers.

    Attributes:
        letters: number of letters of the text.
        index: index of the distinct numbers, ascending.
        starts: the letters at which the pieces begin, ordered by the numbers of the pieces.
        first: for each distinct number, the place of its first piece in *starts*.
        times: for each distinct number, how many pieces have it.
    """

    letters: int
    index: PieceIndex
    starts: Positions
    first: Positions
    times: Positions

    def pair_with(self, page: Pieces) -> tuple[Positions, Positions, float]:
        """Return the starts of common pieces in the text, their starts in the page, and their share of the page's pieces."""
        page_numbers, page_pieces = np.unique(page.numbers, return_index=True)
        in_text, in_page = self.index.partners(page_numbers)
        times = np.minimum(self.times[in_text], max(1, _MAX_PAIRS // max(1, len(in_text))))
        before = np.append(0, np.cumsum(times))
        places = np.repeat(self.first[in_text] - before[:-1], times) + np.arange(before[-1])
        page_starts = np.repeat(page.starts[page_pieces[in_page]], times)
        return self.starts[places], page_starts, float(np.isin(page.numbers, page_numbers[in_page]).mean())


def find_sources(text: str, scheme: PassageScheme, store: Index) -> list[Source]:
    """Find the pages of every scope with which a normalised text shares passages, ordered by the share of the text.

    A text that is shorter than a piece has no sources.
    """
    pieces = scheme.pieces_of_text(text)
    if not len(pieces.starts):
        return []
    numbers, number_of_piece, times = np.unique(pieces.numbers, return_inverse=True, return_counts=True)
    starts = pieces.starts[np.argsort(number_of_piece, kind="stable")]
    index = scheme.index_pieces(numbers)
    traced = _TracedText(len(scheme.find_letters(text)), index, starts, np.cumsum(times) - times, times)
    probes = sort_distinct(scheme.keys_of_pieces(numbers))
    blocks = [probes[at : at + _PROBES_TOGETHER].tolist() for at in range(0, len(probes), _PROBES_TOGETHER)]
    sources = []
    for record in store.sharing(blocks, partial(_with_most_keys, scheme.least_keys)):
        try:
            page = scheme.pieces_of_page(record.page.value)
        except ValueError:  # the page is too short to have pieces, or its signature is damaged
            continue
        source = _compare(traced, record.page, page, scheme)
        if source is not None:
            sources.append(source)
    return sorted(sources, key=lambda source: (-source.share_of_text, source.page.url))


def _with_most_keys(least: int, filed: Iterable[Numbers]) -> list[int]:
    """Choose the signatures that are filed under most of the text's keys, at least under *least* keys.

    Args:
        filed: the signatures under the keys, in blocks.
    """
    numbers, hits = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    waiting: list[Numbers] = []
    size = 0  # of all waiting blocks
    for block in filed:
        waiting.append(block)
        size += len(block)
        if size >= max(_COUNTED_TOGETHER, len(numbers)):
            numbers, hits = _count(numbers, hits, waiting)
            waiting, size = [], 0
    numbers, hits = _count(numbers, hits, waiting)
    order = np.argsort(-hits, kind="stable")[:MAX_CANDIDATES]
    chosen: list[int] = numbers[order][hits[order] >= least].tolist()
    return chosen


def _count(numbers: Numbers, hits: Positions, blocks: Sequence[Numbers]) -> tuple[Numbers, Positions]:
    """Add the numbers in *blocks* to the counts *hits* of *numbers*; return the distinct numbers and their counts."""
    added, counts = np.unique(np.concatenate([*blocks, np.zeros(0, dtype=np.uint64)]), return_counts=True)
    together, places = np.unique(np.concatenate([numbers, added]), return_inverse=True)
    return together, np.bincount(places, np.concatenate([hits, counts]), len(together)).astype(np.int64)


def _compare(text: _TracedText, page: SignedPage, pieces: Pieces, scheme: PassageScheme) -> Source | None:
    """Return the passages that *text* shares with *page*; ``None`` if there are none."""
    starts, page_starts, share_of_page = text.pair_with(pieces)
    if not len(starts):
        return None
    joined = _join(starts, page_starts, scheme)
    return Source(page, joined.letters / text.letters, share_of_page, _longest(joined))


@dataclass(frozen=True)
class _Joined:
    """Passages: where each begins and ends in the text, and how many letters later it begins in the page."""

    starts: Positions
    ends: Positions
    shifts: Positions

    @property
    def letters(self) -> int:
        """Number of letters of the text that are in a passage."""
        order = np.argsort(self.starts, kind="stable")
        starts, ends = self.starts[order], np.maximum.accumulate(self.ends[order])
        return int(np.maximum(0, ends - np.maximum(starts, np.append(0, ends[:-1]))).sum())

    def by_length(self) -> Iterator[Passage]:
        order = np.lexsort((self.starts, self.starts - self.ends))[:_MAX_EXAMINED]
        for start, end, shift in zip(
            *(part[order].tolist() for part in (self.starts, self.ends, self.shifts)), strict=True
        ):
            yield Passage(start, end, start + shift)


def _join(starts: Positions, page_starts: Positions, scheme: PassageScheme) -> _Joined:
    """Join common pieces that are as far apart in the text as in the page, and within reach, to passages.

    Args:
        starts: the start of each piece in the text.
        page_starts: the start of the equal piece in the page.
    """
    shifts = page_starts - starts
    order = np.lexsort((starts, shifts))
    starts, shifts = starts[order], shifts[order]
    breaks = (np.diff(shifts) != 0) | (np.diff(starts) > scheme.reach)
    first, last = np.flatnonzero(np.append(True, breaks)), np.flatnonzero(np.append(breaks, True))
    return _Joined(starts[first], starts[last] + scheme.piece_letters, shifts[first])


def _longest(joined: _Joined) -> list[Passage]:
    """Return the longest passages, in the order of the text.

    A piece may match several neighbouring pieces of the page. Therefore a passage is left out if more than half of it lies
    within a longer passage.
    """
    kept: list[Passage] = []
    for passage in joined.by_length():
        if len(kept) == MAX_PASSAGES:
            break
        if not any(_lies_mostly_in(passage, longer) for longer in kept):
            kept.append(passage)
    return sorted(kept, key=lambda passage: passage.start)


def _lies_mostly_in(passage: Passage, longer: Passage) -> bool:
    overlap = min(passage.end, longer.end) - max(passage.start, longer.start)
    return 2 * overlap > passage.end - passage.start
