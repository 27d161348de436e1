"""What the pages of a site have in common: its furniture, its navigation, and what it writes into every title.

Counted from the pages that were handled, in the order in which they were. Rules see a snapshot of the counts. As long as
there is none, nothing is known of the site, and nothing is left out: two titles must be the same on one host, and have a
long part in common on two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.hamming import Numbers, mix_bits
from crawler_dedup.signedpage import Count, SignedPage
from crawler_dedup.signing.blocks import block_hashes
from crawler_dedup.signing.titles import split_title
from crawler_dedup.system.compression import FrameDamaged, compress, decompress
from crawler_dedup.urls import site_of

if TYPE_CHECKING:
    from crawler_dedup.index.profiles import StoredSite

MIN_PAGES = 8
"""Pages after which a site is known, by its first snapshot."""
FURNITURE_SHARE = 0.5
"""Share of the pages on which a block is furniture: on so many or more."""
SHARED_SHARE = 0.15
"""Share of the pages on which a block is shared: on more than so many."""
TITLES = 4
"""Different titles under which a block must stand, where the site has so many: copies of one page tell nothing about it."""

_NAVIGATION_SHARE = 0.3
_TITLE_SHARE = 0.3  # kinds and things, four of each, make sixteen titles: "Manual | Router"
_MIN_SHARED = 3
MAX_COUNTERS = 5_000
"""Blocks, links and parts of titles that are counted of a site."""

_SECOND = 16
_INTERVAL = 32
_HALVE_AT = 240
_MAX_TAUGHT = 1 << 30  # that are believed of a site from elsewhere: its number must fit a name, and grow
_CACHED = 256
_LEVEL = 1

# A counter: what is counted (2 bits of its kind, 32 of its hash), 8 bits of the count, and 16 for titles, of which each sets
# one: as many bits as are set, so many different titles there were at least (linear counting: Whang, Vander-Zanden and
# Taylor, "A linear-time probabilistic counting algorithm for database applications", TODS 15, 1990).
_KIND, _ITEM, _COUNT = np.uint64(56), np.uint64(24), np.uint64(16)
_BLOCK, _LINK, _PART = np.uint64(0), np.uint64(1), np.uint64(2)
_HASH_BITS, _BYTE, _TITLE_BITS = np.uint64(0xFFFFFFFF), np.uint64(0xFF), np.uint64(0xFFFF)
_ONE, _ONCE = np.uint64(1), np.uint64(1 << 16)
_TITLES_COUNTED = 16
_BYTES = 7
_MAX_UNPACKED = _BYTES * MAX_COUNTERS + 64
_NO_COUNTERS: Numbers = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True)
class SiteProfile:
    """What is known of a site by one snapshot of its counts. All parts are 32-bit hashes.

    Attributes:
        number: how many of its pages were counted until then; 0: nothing is known.
        furniture: blocks that stand on half of the pages or more.
        shared: further blocks that stand on many pages, under different titles.
        navigation: links that stand on three tenths of the pages, under different titles.
        titles: parts that stand in three tenths of the titles (:func:`hash_part`).
    """

    number: int = 0
    furniture: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    navigation: frozenset[int] = frozenset()
    titles: frozenset[int] = frozenset()

    @property
    def is_known(self) -> bool:
        """Whether enough pages were counted to tell what the site's pages have in common."""
        return self.number > 0

    def own_parts(self, title: str) -> frozenset[str]:
        """Return the parts of *title* without those that the site writes into every title."""
        parts = split_title(title)
        return frozenset(part for part in parts if hash_part(part) not in self.titles) if self.titles else parts

    def encode(self) -> bytes:
        """Return the snapshot as it is stored: see :func:`decode_profile`."""
        parts = (self.furniture, self.shared, self.navigation, self.titles)
        return msgspec.msgpack.encode(_PackedProfile(self.number, *map(_pack_numbers, parts)))


UNKNOWN_SITE = SiteProfile()
"""The profile of a site of which nothing is known."""


class _PackedProfile(msgspec.Struct, frozen=True, array_like=True):
    number: Count
    furniture: bytes
    shared: bytes
    navigation: bytes
    titles: bytes


_decode_profile = msgspec.msgpack.Decoder(_PackedProfile).decode


@lru_cache(maxsize=_CACHED)  # of a hostile site a profile takes 400 KB
def decode_profile(content: bytes) -> SiteProfile:
    """Return the profile that :meth:`SiteProfile.encode` has packed; of nothing :data:`UNKNOWN_SITE`.

    Raises:
        msgspec.DecodeError: it is damaged.
    """
    if not content:
        return UNKNOWN_SITE
    packed = _decode_profile(content)
    parts = (packed.furniture, packed.shared, packed.navigation, packed.titles)
    if sum(map(len, parts)) > 4 * MAX_COUNTERS:
        raise msgspec.DecodeError("the snapshot of a site has more hashes than are counted")
    return SiteProfile(packed.number, *map(_unpack_numbers, parts))


class SiteCounts:
    """On how many of a site's pages each block, each outlink and each part of a title stands.

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

    @property
    def is_due(self) -> bool:
        """Whether the rules are to get a snapshot of what is counted now: after 8, 16 and 32 pages, and every 32."""
        return self.taught in (MIN_PAGES, _SECOND) or (self.taught > 0 and self.taught % _INTERVAL == 0)

    def add(self, page: SignedPage) -> None:
        """Count a page that was handled."""
        if self._pages >= _HALVE_AT:  # not before: a snapshot was due at this number, and saw the exact counts
            self._halve()
        self.taught += 1
        self._pages += 1
        title = 1 << xxh3_64_intdigest(page.title.encode("utf-8", "replace")) % _TITLES_COUNTED
        self._titles |= title
        self._count(_read_page(page), np.uint64(title))
        if len(self._counters) > MAX_COUNTERS:
            self._forget_rarest()

    def _count(self, items: Numbers, title: np.uint64) -> None:
        """Count each of *items* (ascending, distinct) once, on a page whose *title* sets this bit."""
        places = np.searchsorted(self._counters, items)
        is_known = places < np.searchsorted(self._counters, items + (_ONE << _ITEM))
        self._counters[places[is_known]] = (self._counters[places[is_known]] + _ONCE) | title
        is_new = ~is_known
        self._counters = np.insert(self._counters, places[is_new], items[is_new] | _ONCE | title)

    def _halve(self) -> None:
        """Halve all counts, and forget what was counted once."""
        self._pages //= 2
        counts = self._counters >> _COUNT & _BYTE
        halved = self._counters & ~(_BYTE << _COUNT) | counts >> _ONE << _COUNT
        self._counters = halved[counts > 1]

    def _forget_rarest(self) -> None:
        """Forget what was counted least. Of much that was counted once it is chance which, another one for each page: some
        of what stands on several pages must not be forgotten each time."""
        counts, items = self._counters >> _COUNT & _BYTE, self._counters >> _ITEM
        order = counts << np.uint64(56) | mix_bits(items + np.uint64(self.taught << 34)) >> np.uint64(8)
        first = len(order) - MAX_COUNTERS
        self._counters = self._counters[np.sort(np.argpartition(order, first)[first:])]

    def publish(self) -> SiteProfile:
        """Return the snapshot of what is counted now."""
        titles = min(TITLES, self._titles.bit_count())
        furniture = self._frequent(_BLOCK, FURNITURE_SHARE * self._pages, titles)
        more_than = max(int(SHARED_SHARE * self._pages) + 1, TITLES)
        return SiteProfile(
            self.taught,
            furniture,
            self._frequent(_BLOCK, more_than, titles) - furniture,
            self._frequent(_LINK, max(_MIN_SHARED, _NAVIGATION_SHARE * self._pages), titles),
            self._frequent(_PART, max(_MIN_SHARED, _TITLE_SHARE * self._pages)),
        )

    def _frequent(self, kind: np.uint64, pages: float, titles: int = 1) -> frozenset[int]:
        """Return the hashes of one kind that stand on so many pages, under so many titles.

        On few pages two different titles may have set one bit.
        """
        first, end = np.searchsorted(self._counters, (kind << _KIND, (kind + _ONE) << _KIND))
        counters = self._counters[first:end]
        counts, bits = counters >> _COUNT & _BYTE, np.bitwise_count(counters & _TITLE_BITS)
        is_frequent = (counts >= pages) & (bits >= np.minimum(titles, counts - _ONE))
        return frozenset((counters[is_frequent] >> _ITEM & _HASH_BITS).tolist())

    def encode(self) -> bytes:
        """Return the counts as they are stored: see :meth:`decode`."""
        links, parts = np.searchsorted(self._counters, (_LINK << _KIND, _PART << _KIND)).tolist()
        hashes = (self._counters >> _ITEM).astype("<u4")
        steps = np.diff(hashes, prepend=hashes[:0].dtype.type(0))  # modulo 2^32, where one kind follows another too
        rest = self._counters.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3]
        columns = [steps.view(np.uint8).reshape(-1, 4).T.tobytes(), rest.T.tobytes()]
        packed = _PackedCounts(self.taught, self._pages, self._titles, links, parts, b"".join(columns))
        return compress(msgspec.msgpack.encode(packed), _LEVEL)

    @classmethod
    def decode(cls, content: bytes) -> SiteCounts:
        """Return the counts that :meth:`encode` has packed; of nothing those of a site without pages.

        Raises:
            msgspec.DecodeError: they are damaged.
        """
        counts = cls()
        if not content:
            return counts
        try:
            packed = _decode_counts(decompress(content, _MAX_UNPACKED))
        except FrameDamaged as error:
            raise msgspec.DecodeError(str(error)) from error
        counts.taught, counts._pages, counts._titles = packed.taught, packed.pages, packed.titles
        counts._counters = packed.read_counters()
        return counts


class _PackedCounts(msgspec.Struct, frozen=True, array_like=True):
    """Counts as they are stored.

    Attributes:
        taught: how many pages were counted.
        pages: how many of them count still: all are halved together.
        titles: the bits that their titles have set.
        links: number of the first counter of a link; before it stand those of blocks.
        parts: number of the first counter of a part of a title.
        columns: of each counter the 32-bit hash less the one before, bytes of equal significance together; the last three
            bytes in the same way.
    """

    taught: Count
    pages: Annotated[int, msgspec.Meta(ge=0, le=_HALVE_AT)]
    titles: Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
    links: Count
    parts: Count
    columns: bytes

    def read_counters(self) -> Numbers:
        if len(self.columns) % _BYTES or len(self.columns) > _BYTES * MAX_COUNTERS:
            raise msgspec.DecodeError("the counts of a site have a length that they cannot have")
        columns = np.frombuffer(self.columns, dtype=np.uint8)
        split = len(columns) // _BYTES * 4
        steps = columns[:split].reshape(4, -1).T.copy().view("<u4").ravel()
        rest = np.zeros((len(steps), 4), dtype=np.uint8)
        rest[:, :3] = columns[split:].reshape(3, -1).T
        kinds = np.repeat(np.arange(3, dtype=np.uint64), self._lengths(len(steps)))
        counters: Numbers = (
            kinds << _KIND | np.cumsum(steps, dtype=np.uint32).astype(np.uint64) << _ITEM | rest.view("<u4").ravel()
        )
        counts = counters >> _COUNT & _BYTE
        if (counters[1:] <= counters[:-1]).any() or (counts < 1).any() or (counts > self.pages).any():
            raise msgspec.DecodeError("the counts of a site are not what they can be")
        return counters

    def _lengths(self, count: int) -> tuple[int, int, int]:
        if not self.links <= self.parts <= count:
            raise msgspec.DecodeError("the counts of a site are not in order")
        return self.links, self.parts - self.links, count - self.parts


_decode_counts = msgspec.msgpack.Decoder(_PackedCounts).decode


def _read_page(page: SignedPage) -> Numbers:
    """Return what is counted of *page*, each once, ascending: kind and hash in the place that they have in a counter."""
    parts = np.array([hash_part(part) for part in split_title(page.title)], dtype=np.uint64)
    kinds = (
        (_BLOCK, np.array(block_hashes(page.blocks), dtype=np.uint64)),
        (_LINK, np.frombuffer(page.links, dtype="<u4").astype(np.uint64)),
        (_PART, parts),
    )
    return np.unique(np.concatenate([kind << _KIND | hashes << _ITEM for kind, hashes in kinds]))


def can_read(site: StoredSite) -> bool:
    """Tell whether what is stored of a site can be read, and is what can be stored of one."""
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


@dataclass(frozen=True)
class Sites:
    """What is known of some sites, by scope and site."""

    profiles: Mapping[tuple[str, str], SiteProfile] = field(default_factory=dict)

    def profile_of(self, page: SignedPage) -> SiteProfile:
        """Return the profile of the site of *page*; :data:`UNKNOWN_SITE` if there is none."""
        return self.profiles.get((page.scope, site_of(page.url)), UNKNOWN_SITE)


@lru_cache(maxsize=4096)
def hash_part(part: str) -> int:
    """Return the 32 bits that stand for a part of a title."""
    return xxh3_64_intdigest(part.encode("utf-8", "replace")) >> 32


def _pack_numbers(numbers: Iterable[int]) -> bytes:
    return np.array(sorted(numbers), dtype="<u4").tobytes()


def _unpack_numbers(content: bytes) -> frozenset[int]:
    if len(content) % 4:
        raise msgspec.DecodeError("hashes of a site have a length that they cannot have")
    return frozenset(np.frombuffer(content, dtype="<u4").tolist())
