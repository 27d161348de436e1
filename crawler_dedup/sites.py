"""What the pages of a site have in common: its navigation, and what it writes into every title.

Learned from the pages as they come, in memory, for the sites seen last. Of a site that is not known yet nothing is left
out: two titles must be the same on one host, and share a long part on two.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from functools import cached_property
from typing import TypeVar

from crawler_dedup.links import members
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.titles import parts
from crawler_dedup.urls import host_of

KNOWN = 8
"""Pages after which a site is known."""
_NAVIGATION = 0.2
_TITLES = 0.3  # kinds and things, four of each, make sixteen titles: "Manual | Router"
_MAX_ITEMS = 6_000
_SHARED_LEAST = 3
_HALVE_AT = 64
_MAX_SITES = 512

_Item = TypeVar("_Item", bound=Hashable)


class Site:
    """Counts of one site's links and parts of titles.

    They are halved after every 32 pages, which keeps them small and lets them follow a site that changes.
    """

    def __init__(self) -> None:
        self._pages = 0
        self._links: Counter[int] = Counter()
        self._titles: Counter[str] = Counter()

    @property
    def known(self) -> bool:
        """Whether enough pages were seen."""
        return self._pages >= KNOWN

    def learn(self, page: SignedPage) -> None:
        """Count a page that passed."""
        self._pages += 1
        self._links.update(members(page.links))
        self._titles.update(parts(page.title))
        if self._pages >= _HALVE_AT or len(self._links) > _MAX_ITEMS:
            self._pages //= 2
            self._links, self._titles = _halved(self._links), _halved(self._titles)
        for name in ("navigation", "titles"):
            self.__dict__.pop(name, None)

    @cached_property
    def navigation(self) -> frozenset[int]:
        """The links that a fifth of its pages have."""
        return _shared(self._links, _NAVIGATION * self._pages) if self.known else frozenset()

    @cached_property
    def titles(self) -> frozenset[str]:
        """The parts that three tenths of its titles have."""
        return _shared(self._titles, _TITLES * self._pages) if self.known else frozenset()


def _shared(counts: Counter[_Item], least: float) -> frozenset[_Item]:
    return frozenset(item for item, count in counts.items() if count >= max(_SHARED_LEAST, least))


def _halved(counts: Counter[_Item]) -> Counter[_Item]:
    return Counter({item: count // 2 for item, count in counts.items() if count > 1})


UNKNOWN = Site()
"""A site of which nothing was seen."""


class Sites:
    """The sites seen last, by scope and host. Not for several threads at once."""

    def __init__(self) -> None:
        self._sites: OrderedDict[tuple[str, str], Site] = OrderedDict()

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
        if len(self._sites) > _MAX_SITES:
            self._sites.popitem(last=False)
