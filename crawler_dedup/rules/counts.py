"""Counts of the pages of a site that have each block, link and part of a title, from handled pages in their order.

A counter has 64 bits: 2 for the kind of the item that is counted, 32 for its hash, 8 for the count and 16 for titles.
Each title sets a bit, so that there were at least as many different titles as bits that are set (linear counting: Whang,
Vander-Zanden and Taylor, "A linear-time probabilistic counting algorithm for database applications", TODS 15, 1990).

An item that was counted once has 22 bits: its kind (2 bits), 16 bits of its hash, and 4 for the number of the bit that the
title of its page has set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.hashes import Numbers, mix_bits, sort_distinct
from crawler_dedup.rules import limits
from crawler_dedup.rules.sites import SiteProfile, decode_profile, hash_part
from crawler_dedup.signedpage import Count, SignedPage
from crawler_dedup.signing.blocks import read_rows
from crawler_dedup.signing.titles import split_title

if TYPE_CHECKING:
    from crawler_dedup.index.profiles import StoredSite

_KINDS = 3
_SHORT_BITS = np.uint32(16)
_KIND, _ITEM, _COUNT = np.uint64(56), np.uint64(24), np.uint64(16)
"""The lowest bits of the kind, of the hash and of the count in a counter."""
_BLOCK, _LINK, _PART = (np.uint64(kind) << _KIND for kind in range(_KINDS))
_HASH_BITS, _COUNT_BITS, _TITLE_BITS = np.uint64(0xFFFFFFFF), np.uint64(0xFF), np.uint64(0xFFFF)
_TITLES_COUNTED = 16
_TITLE_SHIFT, _ANY_TITLE = np.uint32(4), np.uint32(_TITLES_COUNTED - 1)
"""The lowest bit of the hash of an item that was counted once, and the bits below it."""

_ONE = np.uint64(1)
_FIRST, _TWICE, _LOWER = np.uint64(1 << 16), np.uint64(2 << 16), np.uint64((1 << 24) - 1)
_SHORT_MASK = np.uint64((1 << 16) - 1)

_Number = TypeVar("_Number", np.uint32, np.uint64)
_Once = NDArray[np.uint32]

_ONCE_BYTES = 3
_MAX_PAGES_COUNTED = 1 << 30  # accepted of an imported site: the number must fit a name, and grow

_NO_COUNTERS: Numbers = np.empty(0, dtype=np.uint64)
_NOTHING: _Once = np.empty(0, dtype=np.uint32)


class SiteCounts:
    """Counts the pages of a site that have each block, each outlink and each part of a title.

    Most of these items are on one page only. Of them, only 16 bits of the hash and the bit of the title are kept; an item
    gets a counter with the second page (as with the doorkeeper of Einziger, Friedman and Manes, "TinyLFU", TOS 13, 2017).
    So a counter may be one too high, if another item had the same 16 bits.

    All counts are halved at 240 pages, and then after every 120, which keeps them small and lets them follow a site that
    changes. The same pages in the same order make the same counts. Not thread-safe.

    Attributes:
        pages_counted: how many pages were counted, all in all.
    """

    def __init__(self, pages_counted: int = 0) -> None:
        self.pages_counted = pages_counted
        self._pages = 0
        self._titles = 0  # the bits that titles have set
        self._counters = _NO_COUNTERS  # ascending
        self._once = _NOTHING

    @property
    def snapshot_due(self) -> bool:
        """Whether a snapshot of the counts is due for the rules: after 8, 16 and 32 pages, and then every 32."""
        return self.pages_counted in (limits.MIN_PAGES, limits.SECOND_SNAPSHOT) or (
            self.pages_counted > 0 and self.pages_counted % limits.SNAPSHOT_INTERVAL == 0
        )

    def add(self, page: SignedPage) -> None:
        """Count a page that was handled."""
        # Not earlier: a snapshot may be due at this number, and needs the exact counts.
        if self._pages >= limits.HALVE_AT:
            self._halve()
        self.pages_counted += 1
        self._pages += 1
        title = xxh3_64_intdigest(page.title.encode("utf-8", "replace")) % _TITLES_COUNTED
        self._titles |= 1 << title
        parts = [hash_part(part) for part in split_title(page.title)]
        self._counters, self._once = _count_page(self._counters, self._once, page.blocks, page.links, parts, title)
        if len(self._counters) + len(self._once) > limits.MAX_COUNTERS:
            self._forget_rarest()

    def _halve(self) -> None:
        """Halve all counts, and forget the items that were counted once."""
        self._pages //= 2
        counts = self._counters >> _COUNT & _COUNT_BITS
        halved = self._counters & ~(_COUNT_BITS << _COUNT) | counts >> _ONE << _COUNT
        self._counters = halved[counts > 1]
        self._once = _NOTHING

    def _forget_rarest(self) -> None:
        """Forget the items with the lowest counts.

        Of the items that were counted once, a random choice is forgotten, a different choice for each page: otherwise the
        same blocks would be forgotten each time, although they are on several pages.
        """
        excess = len(self._counters) + len(self._once) - limits.COUNTERS_LEFT
        from_once = min(excess, len(self._once))
        self._once = _without_least(self._once, self._shuffle(self._once.astype(np.uint64)), from_once)
        counts = self._counters >> _COUNT & _COUNT_BITS
        order = counts << _KIND | self._shuffle(self._counters >> _ITEM) >> np.uint64(8)
        self._counters = _without_least(self._counters, order, excess - from_once)

    def _shuffle(self, items: Numbers) -> Numbers:
        return mix_bits(items + np.uint64(self.pages_counted << 34))

    def make_snapshot(self) -> SiteProfile:
        """Return a snapshot of the present counts."""
        titles = limits.TITLES if self._titles.bit_count() >= limits.TITLES else 1
        furniture = self._frequent(_BLOCK, limits.FURNITURE_SHARE * self._pages, titles)
        more_than = max(int(limits.SHARED_SHARE * self._pages) + 1, limits.TITLES)
        shared = self._frequent(_BLOCK, more_than, titles) - furniture
        return SiteProfile(
            self.pages_counted,
            furniture,
            shared,
            self._frequent(_BLOCK, limits.MIN_SHARED, 2) - furniture - shared,
            self._frequent(_LINK, max(limits.MIN_SHARED, limits.NAVIGATION_SHARE * self._pages), titles),
            self._frequent(_PART, max(limits.MIN_SHARED, limits.TITLE_SHARE * self._pages)),
        )

    def _frequent(self, kind: np.uint64, pages: float, titles: int = 1) -> frozenset[int]:
        """Return the hashes of one *kind* that are on at least *pages* pages, under at least *titles* titles.

        On few pages, one title less than pages is enough: two different titles may have set the same bit.
        """
        begin, end = self._counters.searchsorted([kind, kind + (_ONE << _KIND)])
        counters = self._counters[begin:end]
        counts, bits = counters >> _COUNT & _COUNT_BITS, np.bitwise_count(counters & _TITLE_BITS)
        is_frequent = (counts >= pages) & (bits >= np.minimum(titles, counts - _ONE))
        return frozenset((counters[is_frequent] >> _ITEM & _HASH_BITS).tolist())

    def encode(self) -> bytes:
        """Return the counts as they are stored: see :meth:`decode`."""
        once = self._once.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :_ONCE_BYTES]
        counters = self._counters.astype("<u8").tobytes()
        return _encode_counts((self._pages, self._titles, counters, once.tobytes()))

    @classmethod
    def decode(cls, content: bytes, pages_counted: int) -> SiteCounts:
        """Return the counts that :meth:`encode` has packed; those of a site without pages if *content* is empty.

        Args:
            pages_counted: how many pages were counted, which is stored beside the counts.

        Raises:
            msgspec.DecodeError: the counts are damaged.
        """
        counts = cls(pages_counted)
        if not content:
            return counts
        counts._pages, counts._titles, packed, packed_once = _decode_counts(content)
        if len(packed) % 8 or len(packed_once) % _ONCE_BYTES:
            raise msgspec.DecodeError("the counts of a site have an impossible length")
        counts._counters = counters = np.frombuffer(packed, "<u8").copy()  # they are counted in place
        columns = np.zeros((len(packed_once) // _ONCE_BYTES, 4), dtype=np.uint8)
        columns[:, :_ONCE_BYTES] = np.frombuffer(packed_once, np.uint8).reshape(-1, _ONCE_BYTES)
        counts._once = once = columns.view("<u4").ravel()
        times = counters >> _COUNT & _COUNT_BITS
        least = 1 if len(times) or len(once) else 0
        if (
            len(counters) + len(once) > limits.MAX_COUNTERS
            or not max(least, times.max(initial=0)) <= counts._pages <= min(pages_counted, limits.HALVE_AT)
            or (times < least).any()
            or not (_is_ascending(counters >> _ITEM) and _is_ascending(once >> _TITLE_SHIFT))
            or max(counters[-1:] >> _KIND, default=0) >= _KINDS
            or max(once[-1:] >> _TITLE_SHIFT + _SHORT_BITS, default=0) >= _KINDS
        ):
            raise msgspec.DecodeError("the counts of a site have values that are not possible")
        return counts


# How many pages still count: this number is halved together with the counts; the bits that their titles have set; the
# counters, 8 bytes each; the items that were counted once, 3 bytes each.
_PackedCounts = tuple[Count, Annotated[int, msgspec.Meta(ge=0, lt=1 << _TITLES_COUNTED)], bytes, bytes]
_encode_counts = msgspec.msgpack.Encoder().encode
_decode_counts = msgspec.msgpack.Decoder(_PackedCounts).decode


def can_read(site: StoredSite) -> bool:
    """Return whether the stored counts and snapshots of a site can be read, and whether they are possible."""
    numbers = {snapshot for snapshot, _ in site.snapshots}
    if not max(numbers, default=0) <= site.pages_counted < _MAX_PAGES_COUNTED or site.number not in {0, *numbers}:
        return False
    try:
        SiteCounts.decode(site.counts, site.pages_counted)
        return all(decode_profile(content).number == snapshot for snapshot, content in site.snapshots)
    except msgspec.DecodeError:
        return False


def _count_page(
    counters: Numbers, once: _Once, blocks: bytes, links: bytes, parts: Sequence[int], title: int
) -> tuple[Numbers, _Once]:
    """Count a page. Return the counters and the items that were counted once, both ascending; *counters* may be changed.

    An item without a counter gets one if it was on another page, too.

    Args:
        blocks: the blocks of the page, packed.
        links: 32 bits of each of its outlinks.
        parts: the hashes of the parts of its title.
        title: number of the bit that its title sets.
    """
    items, bit = _read_items(blocks, links, parts), _ONE << np.uint64(title)
    places, is_counted = _find(counters, items, _LOWER)
    counted = places[is_counted]
    counters[counted] = counters[counted] + _FIRST | bit
    items = items[~is_counted]
    # Of an item that was counted once; the bits of the title are 0.
    short = (items >> _KIND << np.uint64(_SHORT_BITS) | items >> _ITEM & _SHORT_MASK).astype(np.uint32) << _TITLE_SHIFT
    places, is_known = _find(once, short, _ANY_TITLE)
    if is_known.any():
        known = places[is_known]
        bits = bit | _ONE << (once[known] & _ANY_TITLE).astype(np.uint64)
        counters = np.sort(np.concatenate([counters, items[is_known] | _TWICE | bits]), kind="stable")
        is_left = np.ones(len(once), dtype=bool)
        is_left[known] = False
        once, short = once[is_left], short[~is_known]
    return counters, sort_distinct(np.concatenate([once, short | np.uint32(title)]))


def _is_ascending(numbers: NDArray[_Number]) -> bool:
    """Return whether each of *numbers* is greater than the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


def _without_least(numbers: NDArray[_Number], order: Numbers, count: int) -> NDArray[_Number]:
    """Return *numbers* without the *count* numbers whose values in *order* are least."""
    return numbers[np.sort(np.argpartition(order, count)[count:])] if 0 < count < len(numbers) else numbers[count:]


def _read_items(blocks: bytes, links: bytes, parts: Sequence[int]) -> Numbers:
    """Return the items of a page that are counted, distinct and ascending: kind and hash, placed as in a counter."""
    hashes, outlinks = read_rows(blocks)["hash"], np.frombuffer(links, dtype="<u4")
    items = np.concatenate([hashes, outlinks, np.array(parts, dtype=np.uint32)]).astype(np.uint64) << _ITEM
    items[len(hashes) :] |= _LINK
    items[len(hashes) + len(outlinks) :] ^= _LINK | _PART
    return sort_distinct(items)


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
