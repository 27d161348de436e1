"""What the pages of a site have in common: its navigation, and what it writes into every title.

Learned from the pages as they come, in memory, for the sites whose pages came last. As long as a site is not known,
nothing is left out: two titles must be the same on one host, and have a long part in common on two.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from functools import cached_property
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.titles import split_title
from crawler_dedup.urls import host_of

MIN_PAGES = 8
"""Pages after which a site is known."""
MAX_BYTES = 32 << 20
"""Of all profiles together. A hundred pages of a usual site take 20 KB, of a hostile one 1 MB."""

_NAVIGATION_SHARE = 0.2
_TITLE_SHARE = 0.3  # kinds and things, four of each, make sixteen titles: "Manual | Router"
_MIN_SHARED = 3
_MAX_LINKS = 6_000
_HALVE_AT = 64
_MAX_SITES = 512
_PROFILE_BYTES = 2_000
_PART_BYTES = 80
"""Of a part of a title beside its letters: its place in the table and its count."""


class _LinkCounts:
    """How often each link was counted: 6 bytes a link, where a Counter takes 100."""

    def __init__(self) -> None:
        self._links = np.empty(0, dtype=np.uint32)  # ascending
        self._counts = np.empty(0, dtype=np.uint16)  # below 2 × _HALVE_AT, even if two links of a page have one number

    def __len__(self) -> int:
        return len(self._links)

    @property
    def size(self) -> int:
        return self._links.nbytes + self._counts.nbytes

    def add(self, packed: bytes) -> None:
        """Count each of the packed links (:attr:`crawler_dedup.signing.links.Links.packed`)."""
        links, times = np.unique(np.frombuffer(packed, dtype="<u4"), return_counts=True)
        places = np.searchsorted(self._links, links)
        is_known = np.zeros(len(links), dtype=np.bool_)
        inside = places < len(self)
        is_known[inside] = self._links[places[inside]] == links[inside]
        self._counts[places[is_known]] += times[is_known].astype(np.uint16)
        self._links = np.insert(self._links, places[~is_known], links[~is_known])
        self._counts = np.insert(self._counts, places[~is_known], times[~is_known])

    def halve(self) -> None:
        """Halve all counts, and remove the links that were counted once."""
        stay = self._counts > 1
        self._links, self._counts = self._links[stay], self._counts[stay] // np.uint16(2)

    def shared(self, least: float) -> frozenset[int]:
        """Return the links that were counted at least *least* times."""
        links: NDArray[np.uint32] = self._links[self._counts >= least]
        return frozenset(links.tolist())


class SiteProfile:
    """On how many pages of a site each link and each part of a title stands.

    The counts are halved after every 32 pages, which keeps them small and lets them follow a site that changes.
    """

    def __init__(self) -> None:
        self._pages = 0
        self._links = _LinkCounts()
        self._titles: Counter[str] = Counter()

    @property
    def is_known(self) -> bool:
        """Whether enough pages were counted to tell what the site's pages have in common."""
        return self._pages >= MIN_PAGES

    def add(self, page: SignedPage) -> None:
        """Count the links and the title of a page that passed."""
        self._pages += 1
        self._links.add(page.links)
        self._titles.update(split_title(page.title))
        if self._pages >= _HALVE_AT or len(self._links) > _MAX_LINKS:
            self._pages //= 2
            self._links.halve()
            self._titles = Counter({part: count // 2 for part, count in self._titles.items() if count > 1})
        for name in ("navigation", "titles"):
            self.__dict__.pop(name, None)

    @property
    def size(self) -> int:
        """Bytes that the profile takes, roughly."""
        return _PROFILE_BYTES + self._links.size + sum(map(getsizeof, self._titles)) + _PART_BYTES * len(self._titles)

    @cached_property
    def navigation(self) -> frozenset[int]:
        """The links that stand on a fifth of the site's pages; none while the site is not known."""
        return self._links.shared(max(_MIN_SHARED, _NAVIGATION_SHARE * self._pages)) if self.is_known else frozenset()

    @cached_property
    def titles(self) -> frozenset[str]:
        """The parts that stand in three tenths of the site's titles; none while the site is not known."""
        if not self.is_known:
            return frozenset()
        least = max(_MIN_SHARED, _TITLE_SHARE * self._pages)
        return frozenset(part for part, count in self._titles.items() if count >= least)


UNKNOWN_SITE = SiteProfile()
"""The profile of a site of which no page was counted."""


class SiteProfiles:
    """The profiles of the sites whose pages came last, by scope and host. Not thread-safe.

    Attributes:
        size: bytes that all of them take, roughly: :data:`MAX_BYTES` at most.
    """

    def __init__(self) -> None:
        self._profiles: OrderedDict[tuple[str, str], SiteProfile] = OrderedDict()
        self._sizes: dict[tuple[str, str], int] = {}
        self.size = 0

    def profile_of(self, page: SignedPage) -> SiteProfile:
        """Return the profile of the site of *page*; :data:`UNKNOWN_SITE` if there is none."""
        return self._profiles.get((page.scope, host_of(page.url)), UNKNOWN_SITE)

    def add(self, page: SignedPage) -> None:
        """Count a page that passed in the profile of its site."""
        host = host_of(page.url)
        if not host:
            return
        key = page.scope, host
        profile = self._profiles.setdefault(key, SiteProfile())
        self._profiles.move_to_end(key)
        profile.add(page)
        size = profile.size + getsizeof(page.scope) + getsizeof(host)
        self.size += size - self._sizes.get(key, 0)
        self._sizes[key] = size
        while len(self._profiles) > _MAX_SITES or self.size > MAX_BYTES:
            oldest, _ = self._profiles.popitem(last=False)
            self.size -= self._sizes.pop(oldest)
