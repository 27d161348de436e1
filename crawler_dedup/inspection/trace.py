"""Where a text was copied from: which windows of which kept pages it shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.store import Store
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.schemes.pinyin import MAX_PAIRS, Pinyin

MAX_SIGNATURES = 1_000
"""Signatures of a scope whose pages are compared, those with most windows in common."""
MAX_PASSAGES = 100
"""Passages that are told of a page, the longest."""

_LEAST_KEYS = 2


@dataclass(frozen=True)
class Passage:
    """Windows in a row that match: letters *start* to *end* of the text, which begin at letter *at* of the page."""

    start: int
    end: int
    at: int


@dataclass(frozen=True)
class Source:
    """A kept page with which a text shares windows.

    Attributes:
        page: the page.
        of_text: share of the text's letters that lie in common windows.
        of_page: share of the page's windows that the text has.
        passages: the common windows, neighbours joined, in the order of the text.
    """

    page: SignedPage
    of_text: float
    of_page: float
    passages: Sequence[Passage]


def sources(plain: str, scheme: Pinyin, store: Store) -> list[Source]:
    """The pages of every scope with which a normalised text shares windows, those first that it has most of.

    Shorter texts than a window have none.
    """
    classes = scheme.classes_of(plain)
    if len(classes) < scheme.window:
        return []
    rolling = scheme.rolling(scheme.pack(classes))
    ours, which = np.unique(rolling.vectors, return_inverse=True)
    by_vector = np.argsort(which, kind="stable")
    first = np.searchsorted(which[by_vector], np.arange(len(ours) + 1))
    found = []
    for record in store.sharing(np.unique(scheme.keys_of_windows(rolling)).tolist(), _with_most_keys):
        try:
            stored = scheme.stored(record.page.value)
        except ValueError:  # it is too short to have windows, or damaged
            continue
        theirs, where = np.unique(stored.vectors, return_index=True)
        at, there = scheme.partners(ours, theirs)
        if len(at):
            times = np.minimum(np.diff(first)[at], max(1, MAX_PAIRS // len(at)))
            places = np.repeat(first[at] - np.append(0, np.cumsum(times)[:-1]), times) + np.arange(times.sum())
            starts = rolling.starts[by_vector[places]]
            passages = _passages(starts, np.repeat(stored.starts[where[there]], times), scheme.window)
            of_text = scheme.covered(np.unique(starts), len(classes))
            of_page = float(np.isin(stored.vectors, theirs[there]).mean())
            found.append(Source(record.page, of_text, of_page, passages))
    return sorted(found, key=lambda one: (-one.of_text, one.page.url))


def _with_most_keys(filed: Numbers) -> list[int]:
    numbers, hits = np.unique(filed, return_counts=True)
    order = np.argsort(-hits, kind="stable")[:MAX_SIGNATURES]
    chosen: list[int] = numbers[order][hits[order] >= _LEAST_KEYS].tolist()
    return chosen


def _passages(starts: NDArray[np.int64], there: NDArray[np.int64], window: int) -> list[Passage]:
    """Windows that are as far apart in the text as in the page, and touch, are one passage.

    A window is near its neighbours too: a passage of which more than half lies within a longer one is left out.
    """
    shifts = there - starts
    order = np.lexsort((starts, shifts))
    starts, shifts = starts[order], shifts[order]
    ends = (np.diff(shifts) != 0) | (np.diff(starts) > window)
    first, last = np.flatnonzero(np.append(True, ends)), np.flatnonzero(np.append(ends, True))
    joined = [
        Passage(start, end + window, start + shift)
        for start, end, shift in zip(starts[first].tolist(), starts[last].tolist(), shifts[first].tolist(), strict=True)
    ]
    kept: list[Passage] = []
    for one in sorted(joined, key=lambda one: (one.start - one.end, one.start)):
        if len(kept) == MAX_PASSAGES:
            break
        if all(2 * (min(one.end, other.end) - max(one.start, other.start)) <= one.end - one.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)
