"""Counts of the pages of a site that have each block, link and part of a title, from handled pages in their order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.hamming import Numbers, mix_bits
from crawler_dedup.rules.counters import (
    BLOCK,
    COUNT,
    COUNT_BITS,
    HASH_BITS,
    ITEM,
    KIND,
    KINDS,
    LINK,
    ONE,
    PART,
    SHORT_BITS,
    TITLE_BITS,
    TITLE_SHIFT,
    TITLES_COUNTED,
    Once,
    count_page,
    is_ascending,
    without_least,
)
from crawler_dedup.rules.sites import SiteProfile, Sites, decode_profile, hash_part
from crawler_dedup.rules.thresholds import (
    COUNTERS_LEFT,
    FURNITURE_SHARE,
    HALVE_AT,
    MAX_COUNTERS,
    MIN_PAGES,
    MIN_SHARED,
    NAVIGATION_SHARE,
    SECOND_SNAPSHOT,
    SHARED_SHARE,
    SNAPSHOT_INTERVAL,
    TITLE_SHARE,
    TITLES,
)
from crawler_dedup.signedpage import Count, SignedPage
from crawler_dedup.signing.titles import split_title
from crawler_dedup.urls import site_of

if TYPE_CHECKING:
    from crawler_dedup.index.profiles import StoredSite

_ONCE_BYTES = 3
_MAX_TAUGHT = 1 << 30  # accepted of an imported site: the number must fit a name, and grow

_NO_COUNTERS: Numbers = np.empty(0, dtype=np.uint64)
_NOTHING: Once = np.empty(0, dtype=np.uint32)


class SiteCounts:
    """Counts the pages of a site that have each block, each outlink and each part of a title.

    Most of these items are on one page only. Of them, only 16 bits of the hash and the bit of the title are kept; an item
    gets a counter with the second page (as with the doorkeeper of Einziger, Friedman and Manes, "TinyLFU", TOS 13, 2017).
    So a counter may be one too high, if another item had the same 16 bits.

    All counts are halved after every 120 pages, which keeps them small and lets them follow a site that changes. The
    same pages in the same order make the same counts. Not thread-safe.

    Attributes:
        taught: how many pages were counted, all in all.
    """

    def __init__(self) -> None:
        self.taught = 0
        self._pages = 0
        self._titles = 0  # the bits that titles have set
        self._counters = _NO_COUNTERS  # ascending
        self._once = _NOTHING

    @property
    def is_due(self) -> bool:
        """Whether a snapshot of the counts is due for the rules: after 8, 16 and 32 pages, and then every 32."""
        return self.taught in (MIN_PAGES, SECOND_SNAPSHOT) or (self.taught > 0 and self.taught % SNAPSHOT_INTERVAL == 0)

    def add(self, page: SignedPage) -> None:
        """Count a page that was handled."""
        if self._pages >= HALVE_AT:  # not earlier: a snapshot may be due at this number, and needs the exact counts
            self._halve()
        self.taught += 1
        self._pages += 1
        title = xxh3_64_intdigest(page.title.encode("utf-8", "replace")) % TITLES_COUNTED
        self._titles |= 1 << title
        parts = [hash_part(part) for part in split_title(page.title)]
        self._counters, self._once = count_page(self._counters, self._once, page.blocks, page.links, parts, title)
        if len(self._counters) + len(self._once) > MAX_COUNTERS:
            self._forget_rarest()

    def _halve(self) -> None:
        """Halve all counts, and forget the items that were counted once."""
        self._pages //= 2
        counts = self._counters >> COUNT & COUNT_BITS
        halved = self._counters & ~(COUNT_BITS << COUNT) | counts >> ONE << COUNT
        self._counters = halved[counts > 1]
        self._once = _NOTHING

    def _forget_rarest(self) -> None:
        """Forget the items with the lowest counts.

        Of the items that were counted once, a random choice is forgotten, a different choice for each page: otherwise the
        same blocks would be forgotten each time, although they are on several pages.
        """
        excess = len(self._counters) + len(self._once) - COUNTERS_LEFT
        from_once = min(excess, len(self._once))
        self._once = without_least(self._once, self._shuffle(self._once.astype(np.uint64)), from_once)
        counts = self._counters >> COUNT & COUNT_BITS
        order = counts << KIND | self._shuffle(self._counters >> ITEM) >> np.uint64(8)
        self._counters = without_least(self._counters, order, excess - from_once)

    def _shuffle(self, items: Numbers) -> Numbers:
        return mix_bits(items + np.uint64(self.taught << 34))

    def publish(self) -> SiteProfile:
        """Return a snapshot of the present counts."""
        titles = TITLES if self._titles.bit_count() >= TITLES else 1
        furniture = self._frequent(BLOCK, FURNITURE_SHARE * self._pages, titles)
        more_than = max(int(SHARED_SHARE * self._pages) + 1, TITLES)
        return SiteProfile(
            self.taught,
            furniture,
            self._frequent(BLOCK, more_than, titles) - furniture,
            self._frequent(LINK, max(MIN_SHARED, NAVIGATION_SHARE * self._pages), titles),
            self._frequent(PART, max(MIN_SHARED, TITLE_SHARE * self._pages)),
        )

    def _frequent(self, kind: np.uint64, pages: float, titles: int = 1) -> frozenset[int]:
        """Return the hashes of one *kind* that are on at least *pages* pages, under at least *titles* titles.

        On few pages, one title less than pages is enough: two different titles may have set the same bit.
        """
        counters = self._counters[self._counters.searchsorted(kind) : self._counters.searchsorted(kind + (ONE << KIND))]
        counts, bits = counters >> COUNT & COUNT_BITS, np.bitwise_count(counters & TITLE_BITS)
        is_frequent = (counts >= pages) & (bits >= np.minimum(titles, counts - ONE))
        return frozenset((counters[is_frequent] >> ITEM & HASH_BITS).tolist())

    def encode(self) -> bytes:
        """Return the counts as they are stored: see :meth:`decode`."""
        once = self._once.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :_ONCE_BYTES]
        counters = self._counters.astype("<u8").tobytes()
        return _encode_counts(_PackedCounts(self.taught, self._pages, self._titles, counters, once.tobytes()))

    @classmethod
    def decode(cls, content: bytes) -> SiteCounts:
        """Return the counts that :meth:`encode` has packed; those of a site without pages if *content* is empty.

        Raises:
            msgspec.DecodeError: the counts are damaged.
        """
        counts = cls()
        if not content:
            return counts
        packed = _decode_counts(content)
        counts.taught, counts._pages, counts._titles = packed.taught, packed.pages, packed.titles
        if len(packed.counters) % 8 or len(packed.once) % _ONCE_BYTES:
            raise msgspec.DecodeError("the counts of a site have a length that they cannot have")
        counts._counters = counters = np.frombuffer(packed.counters, "<u8").copy()  # they are counted in place
        columns = np.zeros((len(packed.once) // _ONCE_BYTES, 4), dtype=np.uint8)
        columns[:, :_ONCE_BYTES] = np.frombuffer(packed.once, np.uint8).reshape(-1, _ONCE_BYTES)
        counts._once = once = columns.view("<u4").ravel()
        times = counters >> COUNT & COUNT_BITS
        least = 1 if len(times) or len(once) else 0
        if (
            len(counters) + len(once) > MAX_COUNTERS
            or not max(least, times.max(initial=0)) <= packed.pages <= HALVE_AT
            or (times < least).any()
            or not (is_ascending(counters >> ITEM) and is_ascending(once >> TITLE_SHIFT))
            or max(counters[-1:] >> KIND, default=0) >= KINDS
            or max(once[-1:] >> TITLE_SHIFT + SHORT_BITS, default=0) >= KINDS
        ):
            raise msgspec.DecodeError("the counts of a site have values that are not possible")
        return counts


class _PackedCounts(msgspec.Struct, frozen=True, array_like=True):
    """Counts as they are stored.

    Attributes:
        taught: how many pages were counted.
        pages: how many of them still count: this number is halved together with the counts.
        titles: the bits that their titles have set.
        counters: 8 bytes each.
        once: the items that were counted once, 3 bytes each.
    """

    taught: Count
    pages: Count
    titles: Annotated[int, msgspec.Meta(ge=0, lt=1 << TITLES_COUNTED)]
    counters: bytes
    once: bytes


_encode_counts = msgspec.msgpack.Encoder().encode
_decode_counts = msgspec.msgpack.Decoder(_PackedCounts).decode


def can_read(site: StoredSite) -> bool:
    """Return whether the stored counts and snapshots of a site can be read, and whether they are possible."""
    numbers = {snapshot for snapshot, _ in site.snapshots}
    if site.taught >= _MAX_TAUGHT or site.number not in {0, *numbers}:
        return False
    if any(snapshot > site.taught for snapshot in numbers):
        return False
    try:
        is_counted = SiteCounts.decode(site.counts).taught == site.taught
        return is_counted and all(decode_profile(content).number == snapshot for snapshot, content in site.snapshots)
    except msgspec.DecodeError:
        return False


def learn_sites(pages: Iterable[SignedPage]) -> Sites:
    """Learn what the sites of *pages* have in common, from these pages in this order."""
    counts: dict[tuple[str, str], SiteCounts] = {}
    for page in pages:
        counts.setdefault((page.scope, site_of(page.url)), SiteCounts()).add(page)
    return Sites({key: learned.publish() for key, learned in counts.items() if key[1] and learned.taught >= MIN_PAGES})
