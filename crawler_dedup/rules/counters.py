"""Counters of the blocks, links and parts of titles on the pages of a site, as arrays.

A counter has 64 bits: 2 for the kind of the item that is counted, 32 for its hash, 8 for the count and 16 for titles.
Each title sets a bit, so that there were at least as many different titles as bits that are set (linear counting: Whang,
Vander-Zanden and Taylor, "A linear-time probabilistic counting algorithm for database applications", TODS 15, 1990).

An item that was counted once has 32 bits: its kind (2 bits), 16 bits of its hash, and 4 for the number of the bit that the
title of its page has set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers
from crawler_dedup.signing.blocks import block_hashes

KINDS = 3
SHORT_BITS = np.uint32(16)
KIND, ITEM, COUNT = np.uint64(56), np.uint64(24), np.uint64(16)
"""The lowest bits of the kind, of the hash and of the count in a counter."""
BLOCK, LINK, PART = (np.uint64(kind) << KIND for kind in range(KINDS))
HASH_BITS, COUNT_BITS, TITLE_BITS = np.uint64(0xFFFFFFFF), np.uint64(0xFF), np.uint64(0xFFFF)
TITLES_COUNTED = 16
TITLE_SHIFT, ANY_TITLE = np.uint32(4), np.uint32(TITLES_COUNTED - 1)
"""The lowest bit of the hash of an item that was counted once, and the bits below it."""

ONE = np.uint64(1)
_ONCE, _TWICE, _LOWER = np.uint64(1 << 16), np.uint64(2 << 16), np.uint64((1 << 24) - 1)
_SHORT_MASK = np.uint64((1 << 16) - 1)

_Number = TypeVar("_Number", np.uint32, np.uint64)
Once = NDArray[np.uint32]


def count_page(
    counters: Numbers, once: Once, blocks: bytes, links: bytes, parts: Sequence[int], title: int
) -> tuple[Numbers, Once]:
    """Count a page. Return the counters and the items that were counted once, both ascending; *counters* may be changed.

    An item without a counter gets one if it was on another page, too.

    Args:
        blocks: the blocks of the page, packed.
        links: 32 bits of each of its outlinks.
        parts: the hashes of the parts of its title.
        title: number of the bit that its title sets.
    """
    items, bit = _read_items(blocks, links, parts), ONE << np.uint64(title)
    places, is_counted = _find(counters, items, _LOWER)
    counted = places[is_counted]
    counters[counted] = counters[counted] + _ONCE | bit
    items = items[~is_counted]
    short = shorten(items)
    places, is_known = _find(once, short, ANY_TITLE)
    if is_known.any():
        known = places[is_known]
        bits = bit | ONE << (once[known] & ANY_TITLE).astype(np.uint64)
        counters = _merge(counters, items[is_known] | _TWICE | bits)
        is_left = np.ones(len(once), dtype=bool)
        is_left[known] = False
        once, short = once[is_left], short[~is_known]
    return counters, _distinct(_merge(once, short | np.uint32(title)))


def shorten(items: Numbers) -> Once:
    """Return the bits that are kept of *items* that were counted once; the bits of the title are 0."""
    short = items >> KIND << np.uint64(SHORT_BITS) | items >> ITEM & _SHORT_MASK
    shortened: Once = short.astype(np.uint32) << TITLE_SHIFT
    return shortened


def is_ascending(numbers: NDArray[_Number]) -> bool:
    """Return whether each of *numbers* is greater than the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


def without_least(numbers: NDArray[_Number], order: Numbers, count: int) -> NDArray[_Number]:
    """Return *numbers* without the *count* numbers whose values in *order* are least."""
    return numbers[np.sort(np.argpartition(order, count)[count:])] if 0 < count < len(numbers) else numbers[count:]


def _read_items(blocks: bytes, links: bytes, parts: Sequence[int]) -> Numbers:
    """Return the items of a page that are counted, distinct and ascending: kind and hash, placed as in a counter."""
    hashes, outlinks = block_hashes(blocks), np.frombuffer(links, dtype="<u4")
    items = np.concatenate([hashes, outlinks, np.array(parts, dtype=np.uint32)]).astype(np.uint64) << ITEM
    items[len(hashes) :] |= LINK
    items[len(hashes) + len(outlinks) :] ^= LINK | PART
    items.sort()
    return _distinct(items)


def _find(
    numbers: NDArray[_Number], wanted: NDArray[_Number], lower: _Number
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return for each of *wanted* its place in the ascending *numbers*, and whether the number there has the same bits.

    The bits of *lower* are not compared. In *wanted* they are 0.
    """
    places = numbers.searchsorted(wanted)
    if not len(numbers):
        return places, places != 0
    return places, numbers.take(places, mode="clip") ^ wanted <= lower


def _merge(first: NDArray[_Number], second: NDArray[_Number]) -> NDArray[_Number]:
    """Return the members of two arrays, ascending, of which *first* is ascending already."""
    merged = np.concatenate([first, second])
    merged.sort(kind="stable")  # fast if much is in order
    return merged


def _distinct(numbers: NDArray[_Number]) -> NDArray[_Number]:
    """Return ascending *numbers*, each once."""
    is_first = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]
