"""What is known about each site: how many of its pages are kept, its counts, and the snapshots of these counts for rules.

The matcher defines what is counted and what a snapshot contains; here both are bytes. They are read and written in the
transaction that decides about a page, so that all processes know the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec
from xxhash import xxh32_digest

from crawler_dedup.index import layout
from crawler_dedup.index.limits import MAX_SNAPSHOTS
from crawler_dedup.index.protocols import Matcher
from crawler_dedup.index.records import name_page
from crawler_dedup.index.storage import Storage
from crawler_dedup.signedpage import Count, SignedPage
from crawler_dedup.system.logs import logger_without_credentials
from crawler_dedup.urls import hash_page_key, site_of

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


class ProfileCheck:
    """Logs a warning if frozen profiles know the site of none of the pages: they were probably made in another scope."""

    def __init__(self, profiles: FrozenProfiles) -> None:
        self._profiles = profiles
        self._is_done = not profiles.keys
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
        "The site profiles are not used: of %d pages in the scope %r, none is of a site that they describe. They were made"
        " in another scope (DEDUP_SCOPE, batch sign --scope) or from other sites.",
        count,
        scope,
    )


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

    key: Annotated[bytes, msgspec.Meta(min_length=layout.SITE_KEY_BYTES, max_length=layout.SITE_KEY_BYTES)]
    pages_counted: Count
    number: Count
    since: int
    counts: bytes
    snapshots: Annotated[
        list[tuple[Annotated[int, msgspec.Meta(ge=1, lt=1 << 8 * layout.SNAPSHOT_NUMBER_BYTES)], bytes]],
        msgspec.Meta(max_length=MAX_SNAPSHOTS),
    ]


@lru_cache(maxsize=_REMEMBERED)
def site_key(scope: str, url: str) -> bytes:
    """Return a 96-bit hash of a scope and the site of an address; ``b""`` if the address has no host."""
    site = site_of(url)
    return hash_page_key(scope, site) if site else b""


_DIGEST_BYTES = 4
_COUNT_BYTES = 8


class SiteHead(msgspec.Struct, frozen=True, array_like=True):
    """What is stored about a site besides its counts. It changes with each snapshot, not with each page.

    Attributes:
        number: number of its latest snapshot; 0: there is none yet.
        since: the time since which decisions use these snapshots, in seconds since 1970: when its first page was counted, or
            when what was known about it was replaced by an import.
        numbers: numbers of the snapshots that are kept, ascending.
        only: name of the only page that was counted (:func:`~crawler_dedup.index.records.name_page`); empty: others were
            counted, too. While it is the only one, a change of it starts the counts again: what stays on one page is no
            furniture.
    """

    number: Count = 0
    since: int = 0
    numbers: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_SNAPSHOTS)] = ()
    only: bytes = b""


_NO_HEAD = SiteHead()
_encode_head = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(SiteHead).decode


class SiteStore:
    """The profiles of sites, within one transaction. A page without a host belongs to no site.

    Args:
        frozen: profiles to use instead of those in the index, which are not changed then.
    """

    def __init__(self, storage: Storage, frozen: FrozenProfiles | None = None) -> None:
        self._storage = storage
        self._frozen = frozen

    def snapshot(self, key: bytes) -> Snapshot:
        """Return what is known about a site (:func:`~crawler_dedup.index.profiles.site_key`)."""
        if self._frozen is not None:
            return self._frozen.snapshot(key)
        number = self._head(key).number if key else 0
        return (self._snapshot(key, number) if number else None) or NO_SNAPSHOT

    def name_snapshot(self, key: bytes) -> bytes:
        """Return the name of the row of the latest snapshot of a site; ``b""`` if there is none."""
        number = self._head(key).number
        return _snapshot_name(key, number) if number else b""

    def find_snapshot(self, key: bytes, number: int, moment: float) -> Snapshot | None:
        """Return the snapshot of a site that had *number* at a *moment*; ``None`` if it is no longer kept."""
        if not key or not number:
            return NO_SNAPSHOT
        # Numbers start again if all pages of a site were removed, and an import replaces them.
        return self._snapshot(key, number) if self._head(key).since <= moment else None

    def count_page(self, page: SignedPage, matcher: Matcher, now: int) -> None:
        """Count *page*, which was handled, for its site, and make a snapshot if one is due."""
        key = b"" if self._frozen is not None else site_key(page.scope, page.url)
        if not key:
            return
        head, name = self._head(key), name_page(page.scope, page.key)
        if head.only == name:
            self.remove(key)
        counted, counts = self._counts(key)
        counts, snapshot = matcher.count(page, counted, counts)
        counted += 1
        self._write(layout.COUNTS, key, _join_counts(counted, counts))
        if counted == 1:
            self._write_head(key, SiteHead(since=now, only=name))
        elif head.only:
            head = msgspec.structs.replace(head, only=b"")
            self._write_head(key, head)
        if snapshot:
            self._write(layout.SNAPSHOTS, _snapshot_name(key, counted), snapshot)
            kept = (*head.numbers, counted)
            self._drop_snapshots(key, kept[:-MAX_SNAPSHOTS])
            self._write_head(key, SiteHead(counted, head.since, kept[-MAX_SNAPSHOTS:]))

    def stored(self) -> Iterator[StoredSite]:
        """Yield all sites of which pages were counted and that can be read."""
        for key in self._keys():
            with suppress(msgspec.DecodeError):
                yield self._read_site(key)

    def _keys(self) -> Iterator[bytes]:
        """Yield the keys of all sites of which pages were counted."""
        return (name for name, _ in self._storage.scan(layout.SITES))

    def count_unreadable(self) -> int:
        """Return the number of sites with stored data that cannot be read."""
        return sum(1 for _ in self._keys()) - sum(1 for _ in self.stored())

    def merge(self, site: StoredSite, now: int) -> bool:
        """Replace what is known about a site by *site*, if that counts more pages; return whether it does.

        New snapshots may have the numbers of replaced ones, so :meth:`find_snapshot` no longer finds any for a decision
        before *now*.
        """
        key = site.key
        if self._counts(key)[0] >= site.pages_counted:
            return False
        head = self._head(key)
        self.remove(key)
        since = now + 1 if head.number else site.since  # times are whole seconds
        numbers = tuple(number for number, _ in site.snapshots)
        self._write_head(key, SiteHead(site.number, since, numbers))
        self._write(layout.COUNTS, key, _join_counts(site.pages_counted, site.counts))
        for number, content in site.snapshots:
            self._write(layout.SNAPSHOTS, _snapshot_name(key, number), content)
        return True

    def count_counted(self, key: bytes) -> int:
        """Return how many pages of a site were counted; 0 if this cannot be read."""
        with suppress(msgspec.DecodeError):
            return self._counts(key)[0]
        return 0

    def remove(self, key: bytes) -> None:
        """Remove what is known about a site."""
        with suppress(msgspec.DecodeError):
            self._drop_snapshots(key, self._head(key).numbers)
        self._storage.delete(layout.COUNTS, key)
        self._storage.delete(layout.SITES, key)

    def _read_site(self, key: bytes) -> StoredSite:
        """Return all that is stored about a site. Raises :class:`msgspec.DecodeError`."""
        head, (counted, counts) = self._head(key), self._counts(key)
        # On a server, a crawl may have removed the oldest snapshot since the head was read.
        snapshots = [self._snapshot(key, number) for number in head.numbers]
        if len(key) != layout.SITE_KEY_BYTES or not counted:
            raise msgspec.DecodeError("a row of a site is missing")
        stored = [(snapshot.number, snapshot.content) for snapshot in snapshots if snapshot is not None]
        return StoredSite(key, counted, head.number, head.since, counts, stored)

    def _head(self, key: bytes) -> SiteHead:
        content = self._read(layout.SITES, key)
        return _NO_HEAD if content is None else layout.decode_struct(_decode_head, content)

    def _write_head(self, key: bytes, head: SiteHead) -> None:
        self._write(layout.SITES, key, _encode_head(head))

    def _snapshot(self, key: bytes, number: int) -> Snapshot | None:
        content = self._read(layout.SNAPSHOTS, _snapshot_name(key, number))
        return None if content is None else Snapshot(number, content)

    def _drop_snapshots(self, key: bytes, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._storage.delete(layout.SNAPSHOTS, _snapshot_name(key, number))

    def _counts(self, key: bytes) -> tuple[int, bytes]:
        """Return how many pages of a site were counted, and the encoded counts."""
        content = self._read(layout.COUNTS, key) or b""
        return int.from_bytes(content[:_COUNT_BYTES], "big"), content[_COUNT_BYTES:]

    def _read(self, table: layout.RowTable, name: bytes) -> bytes | None:
        """Return the content of a row, or ``None``. Raises :class:`msgspec.DecodeError` where it is damaged."""
        sealed = self._storage.read(table, name)
        if sealed is None:
            return None
        content = bytes(sealed[_DIGEST_BYTES:])
        if sealed[:_DIGEST_BYTES] != xxh32_digest(content):
            raise msgspec.DecodeError("the profile of a site is damaged")
        return content

    def _write(self, table: layout.RowTable, name: bytes, content: bytes) -> None:
        # With a checksum: otherwise a wrong bit in a hash would not be noticed.
        self._storage.write(table, name, xxh32_digest(content) + content)


def _join_counts(pages_counted: int, content: bytes) -> bytes:
    return pages_counted.to_bytes(_COUNT_BYTES, "big") + content


def _snapshot_name(key: bytes, number: int) -> bytes:
    return key + number.to_bytes(layout.SNAPSHOT_NUMBER_BYTES, "big")
