"""Site profiles: the furniture, the navigation and the parts of titles that the pages of a site have in common.

They are counted from the pages that were handled (:mod:`crawler_dedup.rules.counts`). Rules see a snapshot of the counts. As
long as there is no snapshot, nothing is known about the site, and nothing is left out: two titles must have what
the pages name of them in common, or a long part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.rules.limits import MAX_COUNTERS
from crawler_dedup.signedpage import Count, PageKind, SignedPage
from crawler_dedup.signing.cover import pack_cover
from crawler_dedup.signing.lookup import named_parts, with_keys
from crawler_dedup.signing.titles import split_title

_CACHED = 256  # profiles, and titles whose own parts are cached


@dataclass(frozen=True)
class SiteProfile:
    """What is known about a site by one snapshot of its counts. All sets contain 32-bit hashes.

    Attributes:
        number: number of the site's pages that were counted before the snapshot; 0: nothing is known.
        furniture: blocks on half of the pages or more.
        shared: further blocks on many pages, under different titles.
        recurring: further blocks on three pages or more, under different titles.
        navigation: links on three tenths of the pages or more, under different titles.
        titles: parts in three tenths of the titles or more (:func:`hash_part`).
    """

    number: int = 0
    furniture: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    recurring: frozenset[int] = frozenset()
    navigation: frozenset[int] = frozenset()
    titles: frozenset[int] = frozenset()

    @property
    def is_known(self) -> bool:
        """Whether enough pages were counted to know what the site's pages have in common."""
        return self.number > 0

    @cached_property
    def common(self) -> frozenset[int]:
        """The blocks that many pages have."""
        return self.furniture | self.shared

    @cached_property
    def packed_common(self) -> bytes:
        """The same as 4 bytes each, ascending."""
        return _pack_numbers(self.common)

    def own_parts(self, title: str) -> frozenset[str]:
        """Return the parts of *title* without those that the site writes into every title."""
        return _leave_out_parts(title, self.titles) if self.titles else split_title(title)

    def encode(self) -> bytes:
        """Return the snapshot as it is stored: see :func:`decode_profile`."""
        parts = (self.furniture, self.shared, self.recurring, self.navigation, self.titles)
        return msgspec.msgpack.encode((self.number, *map(_pack_numbers, parts)))


UNKNOWN_SITE = SiteProfile()
"""The profile of a site about which nothing is known."""


_decode_profile = msgspec.msgpack.Decoder(tuple[Count, bytes, bytes, bytes, bytes, bytes]).decode


@lru_cache(maxsize=_CACHED)  # of a hostile site a profile takes 400 KB
def decode_profile(content: bytes) -> SiteProfile:
    """Return the profile that :meth:`SiteProfile.encode` has packed; :data:`UNKNOWN_SITE` if *content* is empty.

    Raises:
        msgspec.DecodeError: the profile is damaged.
    """
    if not content:
        return UNKNOWN_SITE
    number, *parts = _decode_profile(content)
    if sum(map(len, parts)) > 4 * MAX_COUNTERS:
        raise msgspec.DecodeError("the snapshot of a site has more hashes than are counted")
    return SiteProfile(number, *map(_unpack_numbers, parts))


@lru_cache(maxsize=_CACHED)
def _leave_out_parts(title: str, common: frozenset[int]) -> frozenset[str]:
    return frozenset(part for part in split_title(title) if hash_part(part) not in common)


@lru_cache(maxsize=4096)
def hash_part(part: str) -> int:
    """Return the 32-bit hash of a part of a title."""
    return xxh3_64_intdigest(part.encode("utf-8", "replace")) >> 32


def _pack_numbers(numbers: Iterable[int]) -> bytes:
    return np.array(sorted(numbers), dtype="<u4").tobytes()


def _unpack_numbers(content: bytes) -> frozenset[int]:
    if len(content) % 4:
        raise msgspec.DecodeError("the hashes of a site have an impossible length")
    return frozenset(np.frombuffer(content, dtype="<u4").tolist())


def with_site_keys(page: SignedPage, site: SiteProfile) -> SignedPage:
    """Return *page*; a thin page gets the keys under which it is filed and looked up, by the profile of its *site*."""
    if page.kind is not PageKind.THIN:
        return page
    own_parts = site.own_parts(page.title)
    names = split_title(page.title), own_parts, named_parts(page) & own_parts
    return with_keys(page, names, site.common)


def is_list(page: SignedPage) -> bool:
    """Return whether a page mainly leads to other pages: an index, an archive, a tag page.

    The links inside the element of its main text are at least half as long as the text, or those of the whole page twice as
    long (an index without text, whose main text is a box at its side).
    """
    inside, outside = 2 * page.inner_link_chars >= page.chars, page.link_chars >= 2 * page.chars
    return page.kind is PageKind.THIN or (page.chars > 0 and (inside or outside))


def trim(page: SignedPage) -> SignedPage:
    """Return *page*, which was counted for its site, without the links and blocks that no rule uses."""
    cover = pack_cover(page.blocks) if page.blocks else page.cover
    return msgspec.structs.replace(page, blocks=b"", cover=cover, links=page.links if is_list(page) else b"")
