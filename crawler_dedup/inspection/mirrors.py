"""Hosts whose pages are represented by pages of another host, and which of them need not be crawled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_MIRROR_SHARE, MIN_MIRROR_PAGES = 0.5, 10


@dataclass(frozen=True)
class Mirror:
    """A host of which pages are represented by pages of another host.

    Attributes:
        host: the host.
        mirrors: the other host.
        duplicates: how many pages of *host* are represented there.
        pages: how many pages of *host* are known: kept or represented.
    """

    host: str
    mirrors: str
    duplicates: int
    pages: int

    @property
    def share(self) -> float:
        """The share of the pages of the host that the other host represents."""
        return self.duplicates / self.pages


def find_redundant_hosts(mirrors: Sequence[Mirror]) -> list[str]:
    """Return the hosts that need not be crawled: each mirrors a host that is none of them.

    Args:
        mirrors: the largest share first.
    """
    redundant: dict[str, None] = {}
    needed: set[str] = set()
    for mirror in mirrors:
        if mirror.host not in needed and mirror.mirrors not in redundant:
            redundant[mirror.host] = None
            needed.add(mirror.mirrors)
    return list(redundant)
