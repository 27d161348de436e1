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

MAX_CANDIDATES = 1_000
"""Signatures of a scope whose pages are compared: those with most keys in common with the text."""
MAX_PASSAGES = 100
"""Passages that are returned of a page, the longest."""

_MIN_KEYS = 2


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
        share_of_text: share of the text's letters that lie in common windows.
        share_of_page: share of the page's windows that the text has.
        passages: the common windows, neighbours joined, in the order of the text.
    """

    page: SignedPage
    share_of_text: float
    share_of_page: float
    passages: Sequence[Passage]


def find_sources(text: str, scheme: Pinyin, store: Store) -> list[Source]:
    """Find the pages of every scope with which a normalised text shares windows, those first that it has most of.

    Texts that are shorter than a window have none.
    """
    classes = scheme.classes_of(text)
    if len(classes) < scheme.window:
        return []
    rolling = scheme.rolling(scheme.pack(classes))
    text_vectors, vector_of_window = np.unique(rolling.vectors, return_inverse=True)
    windows_by_vector = np.argsort(vector_of_window, kind="stable")
    first = np.searchsorted(vector_of_window[windows_by_vector], np.arange(len(text_vectors) + 1))
    sources = []
    for record in store.sharing(np.unique(scheme.keys_of_windows(rolling)).tolist(), _with_most_keys):
        try:
            stored = scheme.stored(record.page.value)
        except ValueError:  # it is too short to have windows, or damaged
            continue
        page_vectors, page_windows = np.unique(stored.vectors, return_index=True)
        in_text, in_page = scheme.partners(text_vectors, page_vectors)
        if len(in_text):
            times = np.minimum(np.diff(first)[in_text], max(1, MAX_PAIRS // len(in_text)))
            places = np.repeat(first[in_text] - np.append(0, np.cumsum(times)[:-1]), times) + np.arange(times.sum())
            starts = rolling.starts[windows_by_vector[places]]
            passages = _passages(starts, np.repeat(stored.starts[page_windows[in_page]], times), scheme.window)
            share_of_text = scheme.covered(np.unique(starts), len(classes))
            share_of_page = float(np.isin(stored.vectors, page_vectors[in_page]).mean())
            sources.append(Source(record.page, share_of_text, share_of_page, passages))
    return sorted(sources, key=lambda source: (-source.share_of_text, source.page.url))


def _with_most_keys(filed: Numbers) -> list[int]:
    """Choose the signatures that are filed under most of the text's keys."""
    numbers, hits = np.unique(filed, return_counts=True)
    order = np.argsort(-hits, kind="stable")[:MAX_CANDIDATES]
    chosen: list[int] = numbers[order][hits[order] >= _MIN_KEYS].tolist()
    return chosen


def _passages(starts: NDArray[np.int64], page_starts: NDArray[np.int64], window: int) -> list[Passage]:
    """Join windows that match into passages, the longest of them.

    Windows that are as far apart in the text as in the page, and touch, are one passage. A window matches the
    neighbours of its partner too: a passage of which more than half lies within a longer one is left out.

    Args:
        starts: where each window begins in the text.
        page_starts: where its partner begins in the page.
        window: letters of a window.
    """
    shifts = page_starts - starts
    order = np.lexsort((starts, shifts))
    starts, shifts = starts[order], shifts[order]
    ends = (np.diff(shifts) != 0) | (np.diff(starts) > window)
    first, last = np.flatnonzero(np.append(True, ends)), np.flatnonzero(np.append(ends, True))
    joined = [
        Passage(start, end + window, start + shift)
        for start, end, shift in zip(starts[first].tolist(), starts[last].tolist(), shifts[first].tolist(), strict=True)
    ]
    kept: list[Passage] = []
    for passage in sorted(joined, key=lambda passage: (passage.start - passage.end, passage.start)):
        if len(kept) == MAX_PASSAGES:
            break
        if not any(_lies_mostly_in(passage, longer) for longer in kept):
            kept.append(passage)
    return sorted(kept, key=lambda passage: passage.start)


def _lies_mostly_in(passage: Passage, longer: Passage) -> bool:
    overlap = min(passage.end, longer.end) - max(passage.start, longer.start)
    return 2 * overlap > passage.end - passage.start
