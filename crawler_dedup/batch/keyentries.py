"""Keys under which pages are filed or looked up."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from crawler_dedup.batch.neighbours import Places
from crawler_dedup.hamming import Numbers, mix_bits
from crawler_dedup.index.records import hash_scope

ENTRY_BYTES = 56
"""Bytes of memory that a key of a page takes while keys are compared."""

_SPREAD = 0x9E3779B97F4A7C15
_ALL_BITS = (1 << 64) - 1


class KeyEntries:
    """The keys of pages: 64 bits that stand for each key in its scope, and the place of its page."""

    def __init__(self) -> None:
        self._keys = array("Q")
        self._places = array("q")

    def __len__(self) -> int:
        """Return how many keys of pages there are."""
        return len(self._keys)

    def add(self, place: int, scope: str, keys: Iterable[int]) -> None:
        """Add the keys of a page."""
        spread = hash_scope(scope) * _SPREAD
        distinct = {(spread ^ key) & _ALL_BITS for key in keys}
        self._keys.extend(distinct)
        self._places.extend([place] * len(distinct))

    @property
    def keys(self) -> Numbers:
        """All keys, as 64 bits that stand for each in its scope."""
        return mix_bits(np.array(self._keys, dtype=np.uint64))

    @property
    def places(self) -> Places:
        """The place of the page of each key."""
        return np.array(self._places, dtype=np.int64)
