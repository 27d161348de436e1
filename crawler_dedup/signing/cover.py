"""The blocks of a kept page, in the form with which the blocks of new pages are compared.

A block has 32 bits: 29 of its hash (:class:`crawler_dedup.signing.blocks.PackedBlock`), and whether
it is hidden, no text, or repeats the title. Of two blocks with different words, one in 500 million pairs has the same bits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from crawler_dedup.signedpage import SignedPage, Trait
from crawler_dedup.signing.blocks import IS_ADDRESS, read_rows

_IS_HIDDEN, _IS_EMBEDDED, _IS_NAME = 1, 2, 4
_FLAGS = _IS_HIDDEN | _IS_EMBEDDED | _IS_NAME
_TRAITS = ((Trait.HIDDEN, _IS_HIDDEN), (Trait.EMBEDDED, _IS_EMBEDDED), (Trait.NAME, _IS_NAME))
_FLAGS_BY_TRAITS = np.array(
    [sum(flag for trait, flag in _TRAITS if traits & trait) for traits in range(256)], np.uint32
)
_FILE_BITS = 16
_REMEMBERED = 128  # pages whose covers are read, because a page represents several others


class Cover(NamedTuple):
    """The keys of a kept page's blocks (:func:`key_of`).

    Attributes:
        shown: the blocks of text that are shown.
        hidden: those that are hidden, at least in part.
        pictures: pictures and the like that are shown.
        hidden_pictures: those that are hidden.
        names: those of *shown* and *hidden* that only repeat the title.
    """

    shown: frozenset[int]
    hidden: frozenset[int]
    pictures: frozenset[int]
    hidden_pictures: frozenset[int]
    names: frozenset[int]

    def shows_file(self, key: int) -> bool:
        """Return whether a picture with the same file name as that with *key* is shown, at any address."""
        return key >> _FILE_BITS in {picture >> _FILE_BITS for picture in self.pictures}


def key_of(number: int) -> int:
    """Return the part of a block's hash that is kept."""
    return number & ~_FLAGS


def pack_cover(blocks: bytes) -> bytes:
    """Return the packed *blocks* of a page (:attr:`SignedPage.blocks`) as a cover, without those that say nothing."""
    rows = read_rows(blocks)
    traits = rows["traits"]
    keys = rows["hash"] & ~np.uint32(_FLAGS) | _FLAGS_BY_TRAITS[traits]
    kept = keys[(rows["size"] > 0) | (traits & IS_ADDRESS == int(Trait.EMBEDDED))]
    kept.sort()
    return bytes(kept.astype("<u4").data)


def cover_of(page: SignedPage) -> Cover:
    """Return the cover of a kept page, also of a page that still has its blocks."""
    return _read_cover(page.cover or pack_cover(page.blocks))


@lru_cache(maxsize=_REMEMBERED)
def _read_cover(packed: bytes) -> Cover:
    numbers = np.frombuffer(packed, "<u4")
    flags, keys = numbers & _FLAGS, numbers & ~np.uint32(_FLAGS)
    kinds = (flags & (_IS_HIDDEN | _IS_EMBEDDED)).tolist()
    sets: tuple[set[int], ...] = (set(), set(), set(), set())
    for kind, key in zip(kinds, keys.tolist(), strict=True):
        sets[kind].add(key)
    shown, hidden, pictures, hidden_pictures = map(frozenset, sets)
    return Cover(shown, hidden, pictures, hidden_pictures, frozenset(keys[flags & _IS_NAME > 0].tolist()))
