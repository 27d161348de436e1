"""What the pages of a site have in common: its navigation, and what it writes into every title.

Learned from the pages as they come, in memory, for the sites seen last. Of a site that is not known yet nothing is left
out: two titles must be the same on one host, and share a long part on two.
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

KNOWN = 8
"""Pages after which a site is known."""
_NAVIGATION = 0.2
_TITLES = 0.3  # kinds and things, four of each, make sixteen titles: "Manual | Router"
_MAX_ITEMS = 6_000
_SHARED_LEAST = 3
_HALVE_AT = 64
_MAX_SITES = 512
MAX_BYTES = 32 << 20
"""Of all sites together. A hundred pages of a usual site take 20 KB, of a hostile one 1 MB."""
_SITE_BYTES = 2_000
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
        """Count each of the links that :attr:`crawler_dedup.signing.links.Links.packed` holds."""
        links, times = np.unique(np.frombuffer(packed, dtype="<u4"), return_counts=True)
        places = np.searchsorted(self._links, links)
        is_known = np.zeros(len(links), dtype=np.bool_)
        inside = places < len(self)
        is_known[inside] = self._links[places[inside]] == links[inside]
        self._counts[places[is_known]] += times[is_known].astype(np.uint16)
        self._links = np.insert(self._links, places[~is_known], links[~is_known])
        self._counts = np.insert(self._counts, places[~is_known], times[~is_known])

    def halve(self) -> None:
        """Halve all counts, and forget what was counted once."""
        stay = self._counts > 1
        self._links, self._counts = self._links[stay], self._counts[stay] // np.uint16(2)

    def shared(self, least: float) -> frozenset[int]:
        """The links that were counted *least* times."""
        links: NDArray[np.uint32] = self._links[self._counts >= least]
        return frozenset(links.tolist())


class Site:
    """Counts of one site's links and parts of titles.

    They are halved after every 32 pages, which keeps them small and lets them follow a site that changes.
    """

    def __init__(self) -> None:
        self._pages = 0
        self._links = _LinkCounts()
        self._titles: Counter[str] = Counter()

    @property
    def known(self) -> bool:
        """Whether enough pages were seen."""
        return self._pages >= KNOWN

    def learn(self, page: SignedPage) -> None:
        """Count a page that passed."""
        self._pages += 1
        self._links.add(page.links)
        self._titles.update(split_title(page.title))
        if self._pages >= _HALVE_AT or len(self._links) > _MAX_ITEMS:
            self._pages //= 2
            self._links.halve()
            self._titles = Counter({part: count // 2 for part, count in self._titles.items() if count > 1})
        for name in ("navigation", "titles"):
            self.__dict__.pop(name, None)

    @property
    def size(self) -> int:
        """Bytes that it takes, roughly."""
        return _SITE_BYTES + self._links.size + sum(map(getsizeof, self._titles)) + _PART_BYTES * len(self._titles)

    @cached_property
    def navigation(self) -> frozenset[int]:
        """The links that a fifth of its pages have."""
        return self._links.shared(max(_SHARED_LEAST, _NAVIGATION * self._pages)) if self.known else frozenset()

    @cached_property
    def titles(self) -> frozenset[str]:
        """The parts that three tenths of its titles have."""
        if not self.known:
            return frozenset()
        least = max(_SHARED_LEAST, _TITLES * self._pages)
        return frozenset(part for part, count in self._titles.items() if count >= least)


UNKNOWN = Site()
"""A site of which nothing was seen."""


class Sites:
    """The sites seen last, by scope and host. Not for several threads at once.

    Attributes:
        size: bytes that all of them take, roughly: :data:`MAX_BYTES` at most.
    """

    def __init__(self) -> None:
        self._sites: OrderedDict[tuple[str, str], Site] = OrderedDict()
        self._sizes: dict[tuple[str, str], int] = {}
        self.size = 0

    def of(self, page: SignedPage) -> Site:
        """What is known of the site of *page*."""
        return self._sites.get((page.scope, host_of(page.url)), UNKNOWN)

    def learn(self, page: SignedPage) -> None:
        """Count a page that passed."""
        host = host_of(page.url)
        if not host:
            return
        name = page.scope, host
        site = self._sites.setdefault(name, Site())
        self._sites.move_to_end(name)
        site.learn(page)
        size = site.size + getsizeof(page.scope) + getsizeof(host)
        self.size += size - self._sizes.get(name, 0)
        self._sizes[name] = size
        while len(self._sites) > _MAX_SITES or self.size > MAX_BYTES:
            oldest, _ = self._sites.popitem(last=False)
            self.size -= self._sizes.pop(oldest)
