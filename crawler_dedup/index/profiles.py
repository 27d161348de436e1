"""What is known about each site: how many of its pages are kept, its counts, and the snapshots of these counts for rules.

The matcher defines what is counted and what a snapshot contains; here both are bytes. They are read and written in the
transaction that decides about a page, so that all processes know the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec
from xxhash import xxh3_128_digest

from crawler_dedup.index.layout import SITE_KEY_BYTES, SNAPSHOT_NUMBER_BYTES
from crawler_dedup.index.limits import MAX_SNAPSHOTS
from crawler_dedup.signedpage import Count, SignedPage
from crawler_dedup.system.logs import logger_without_credentials
from crawler_dedup.urls import site_of

logger = logger_without_credentials(__name__)

_REMEMBERED = 512  # addresses: the site of a page is needed several times
_ENOUGH_PAGES = 100  # a warning is logged after this many pages, if the site of none is known


class Snapshot(NamedTuple):
    """What the rules know about a site.

    Attributes:
        number: how many pages had been counted when it was published; 0: nothing is known.
        content: the encoded snapshot.
    """

    number: int = 0
    content: bytes = b""


NO_SNAPSHOT = Snapshot()


class FrozenProfiles:
    """Fixed knowledge about sites, which no page changes.

    Args:
        snapshots: the snapshot of each site by its key (:func:`site_key`).
    """

    def __init__(self, snapshots: Mapping[bytes, Snapshot]) -> None:
        self._snapshots = snapshots

    @classmethod
    def of(cls, sites: Iterable[StoredSite]) -> FrozenProfiles:
        """Make profiles of the latest snapshots of *sites*, as far as they have one."""
        latest = ((site.key, site.number, dict(site.snapshots).get(site.number)) for site in sites)
        return cls({key: Snapshot(number, content) for key, number, content in latest if content is not None})

    def snapshot(self, key: bytes) -> Snapshot:
        """Return the snapshot of a site (:func:`site_key`)."""
        return self._snapshots.get(key, NO_SNAPSHOT)

    @property
    def keys(self) -> Collection[bytes]:
        """The keys of the known sites."""
        return self._snapshots.keys()

    def __len__(self) -> int:
        """Return how many sites are known."""
        return len(self._snapshots)


class ProfileCheck:
    """Logs a warning if frozen profiles know the site of none of the pages: they were probably made in another scope."""

    def __init__(self, profiles: FrozenProfiles) -> None:
        self._profiles = profiles
        self._is_done = not len(profiles)
        self._count = 0
        self._scope = ""

    def add(self, pages: Sequence[SignedPage]) -> None:
        """Look up the sites of *pages*, unless a page had a known site or the warning is logged already."""
        if self._is_done or not pages:
            return
        self._is_done = any(site_key(page.scope, page.url) in self._profiles.keys for page in pages)
        self._count += len(pages)
        self._scope = pages[-1].scope
        if self._count >= _ENOUGH_PAGES:
            self.finish()

    def finish(self) -> None:
        """Log the warning, if it is due after the pages so far."""
        if self._count and not self._is_done:
            warn_of_unknown_sites(self._count, self._scope)
        self._is_done = True


def warn_of_unknown_sites(count: int, scope: str) -> None:
    """Log that the given profiles know the site of none of *count* pages in *scope*."""
    logger.warning(
        "The site profiles are not used: they know the site of none of %d pages in the scope %r. They were made in another"
        " scope (DEDUP_SCOPE, batch sign --scope) or from other sites.",
        count,
        scope,
    )


class SiteFigures(NamedTuple):
    """How much is stored about sites.

    Attributes:
        sites: number of sites about which something is stored.
        known: number of sites that have a snapshot.
        content_bytes: length of all names and values.
    """

    sites: int
    known: int
    content_bytes: int


class StoredSite(msgspec.Struct, frozen=True, array_like=True):
    """All that is stored about a site, to move it into another index.

    Attributes:
        key: a hash of scope and site, 96 bits (:func:`site_key`).
        pages_counted: how many of its pages were counted, all in all.
        number: number of its latest snapshot; 0: there is none yet.
        since: the time since which decisions use these snapshots, in seconds since 1970: when its first page was counted, or
            when what was known about it was replaced by an import.
        counts: what was counted.
        snapshots: number and content of each snapshot that is kept.
    """

    key: Annotated[bytes, msgspec.Meta(min_length=SITE_KEY_BYTES, max_length=SITE_KEY_BYTES)]
    pages_counted: Count
    number: Count
    since: int
    counts: bytes
    snapshots: Annotated[
        list[tuple[Annotated[int, msgspec.Meta(ge=1, lt=1 << 8 * SNAPSHOT_NUMBER_BYTES)], bytes]],
        msgspec.Meta(max_length=MAX_SNAPSHOTS),
    ]

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return 100 + len(self.counts) + sum(len(content) for _, content in self.snapshots)


@lru_cache(maxsize=_REMEMBERED)
def site_key(scope: str, url: str) -> bytes:
    """Return a 96-bit hash of a scope and the site of an address; ``b""`` if the address has no host."""
    site = site_of(url)
    # The length distinguishes ("a", "bc") and ("ab", "c").
    return xxh3_128_digest(f"{len(scope)}:{scope}{site}".encode("utf-8", "replace"))[:SITE_KEY_BYTES] if site else b""
