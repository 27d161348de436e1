"""Where a text was copied from: which windows of which kept pages it shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.letters import letters_of
from crawler_dedup.schemes.pinyin import Pinyin, letters_in
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.store import Store

MAX_PAGES = 1_000
"""Pages that are compared, those with most windows in common."""

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
    letters = letters_of(plain)
    if len(letters) < scheme.window:
        return []
    rolling = scheme.rolling(letters)
    keys: list[int] = np.unique(scheme.keys_of_windows(rolling)).tolist()
    found = []
    for record in store.sharing(keys, _with_most_keys):
        if not record.page.value:
            continue
        stored = scheme.stored(letters_in(record.page.value))
        at, there = scheme.matches(rolling, stored)
        if len(at):
            of_page = len(np.unique(there)) / len(stored.starts)
            passages = _passages(at, there, scheme.window)
            found.append(Source(record.page, scheme.covered(at, len(letters)), of_page, passages))
    return sorted(found, key=lambda one: (-one.of_text, one.page.url))


def _with_most_keys(filed: NDArray[np.uint64]) -> list[int]:
    numbers, hits = np.unique(filed, return_counts=True)
    order = np.argsort(-hits, kind="stable")[:MAX_PAGES]
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
        if all(2 * (min(one.end, other.end) - max(one.start, other.start)) <= one.end - one.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)
