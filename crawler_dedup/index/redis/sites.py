"""What is known about each site, within one transaction of an index on a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, cast

import msgspec

from crawler_dedup.index.layout import decode_struct
from crawler_dedup.index.limits import MAX_SNAPSHOTS
from crawler_dedup.index.profiles import (
    NO_SNAPSHOT,
    Counts,
    CountsReader,
    SiteFigures,
    Snapshot,
    StoredSite,
    site_key,
)
from crawler_dedup.index.redis.cells import Row
from crawler_dedup.signedpage import Count, SignedPage

if TYPE_CHECKING:
    from crawler_dedup.index.redis.changes import Changes
from crawler_dedup.index.redis.client import Client

_SCANNED = 500


class SiteHead(msgspec.Struct, frozen=True, array_like=True):
    """What is stored about a site besides its counts. It changes with each snapshot, not with each page.

    Attributes:
        number: number of its latest snapshot; 0: there is none yet.
        since: from when on decisions were made by these snapshots, in seconds since 1970.
        numbers: numbers of the snapshots that are kept, ascending.
    """

    number: Count = 0
    since: int = 0
    numbers: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_SNAPSHOTS)] = ()


class _StoredCounts(msgspec.Struct, frozen=True, array_like=True):
    pages_counted: Count
    content: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(SiteHead).decode
_decode_counts = msgspec.msgpack.Decoder(_StoredCounts).decode
_NO_HEAD = SiteHead()


class SitesInTransaction:
    """The profiles of sites, by scope and site. A page without a host belongs to no site."""

    def __init__(self, client: Client, changes: Changes) -> None:
        self._client = client
        self._keys = client.keys
        self._changes = changes
        self._heads: dict[bytes, SiteHead] = {}  # the changed heads
        self._counts: dict[bytes, Counts] = {}  # the changed counts
        self._merged: dict[bytes, _StoredCounts] = {}  # counts that an import has replaced
        self._snapshots: dict[tuple[bytes, int], bytes] = {}  # the new snapshots
        self._dropped: set[tuple[bytes, int]] = set()  # snapshots that are no longer kept
        self._gone: set[bytes] = set()  # sites without records
        self._added: dict[bytes, int] = {}  # change of the number of records

    def snapshot(self, key: bytes) -> Snapshot:
        """Return the latest snapshot of a site (:func:`site_key`)."""
        number = self._head(key).number if key else 0
        return (self._snapshot(key, number) if number else None) or NO_SNAPSHOT

    def find_snapshot(self, key: bytes, number: int, moment: float) -> Snapshot | None:
        """Return the snapshot of a site that had *number* at a *moment*; ``None`` if it is no longer kept."""
        if not key or not number:
            return NO_SNAPSHOT
        head = self._head(key)
        return self._snapshot(key, number) if head.since <= moment and number in head.numbers else None

    def add_record(self, page: SignedPage) -> None:
        """Note that *page* is recorded."""
        if key := site_key(page.scope, page.url):
            self._added[key] = self._added.get(key, 0) + 1

    def remove_record(self, page: SignedPage) -> None:
        """Note that the record of *page* was removed. With the last record of a site, the site is forgotten."""
        if not (key := site_key(page.scope, page.url)):
            return
        self._added[key] = self._added.get(key, 0) - 1
        if self._client.read_count(self._changes, key) + self._added[key] <= 0:
            self._forget(key)

    def count_page(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        """Count a page that was handled in the profile of its site, and make a snapshot if one is due."""
        if not (key := site_key(page.scope, page.url)):
            return
        head, counts = self._head(key), self._learning(key, reader)
        counts.add(page)
        if counts.pages_counted == 1:
            head = self._heads[key] = SiteHead(head.number, now, head.numbers)
        if counts.snapshot_due:
            number = counts.pages_counted
            self._snapshots[key, number] = counts.make_snapshot().encode()
            kept = (*head.numbers, number)
            self._drop_snapshots(key, kept[:-MAX_SNAPSHOTS])
            self._heads[key] = SiteHead(number, head.since, kept[-MAX_SNAPSHOTS:])

    def merge(self, site: StoredSite, now: int) -> None:
        """Replace what is known about a site by *site*, if that counts more pages and any page of it is recorded."""
        key = site.key
        records = self._client.read_count(self._changes, key) + self._added.get(key, 0)
        if records <= 0 or self._pages_counted(key) >= site.pages_counted:
            return
        head = self._head(key)
        self._drop_snapshots(key, head.numbers)
        self._counts.pop(key, None)
        self._merged[key] = _StoredCounts(site.pages_counted, site.counts)
        for number, content in site.snapshots:
            self._dropped.discard((key, number))
            self._snapshots[key, number] = content
        since = now + 1 if head.number else site.since  # times are whole seconds
        self._heads[key] = SiteHead(site.number, since, tuple(number for number, _ in site.snapshots))

    def read_all(self) -> Iterator[StoredSite]:
        """Yield all sites of which pages were counted and that can be read."""
        for key, _ in self._items():
            try:
                head, counts = self._head(key), self._stored_counts(key)
                numbers = [number for number in head.numbers if self._snapshot(key, number) is not None]
            except msgspec.DecodeError:
                continue
            if counts is not None and counts.pages_counted:
                snapshots = [(number, cast("Snapshot", self._snapshot(key, number)).content) for number in numbers]
                yield StoredSite(key, counts.pages_counted, head.number, head.since, counts.content, snapshots)
            self._forget_read()

    def measure(self) -> SiteFigures:
        """Count the sites, and measure what is stored about them."""
        sites = known = size = 0
        for key, _ in self._items():
            head = self._sound_head(key)
            sites += 1
            known += head.number > 0
            names = [self._keys.site(key), self._keys.site_counts(key)]
            names += [self._keys.snapshot(key, number) for number in head.numbers]
            size += sum(len(name) + int(self._client.call(b"STRLEN", name)) for name in names)
            self._forget_read()
        return SiteFigures(sites, known, size)

    def collect(self) -> None:
        """Add the changes of sites to the changes of the transaction."""
        commands, written = self._changes.commands, self._changes.written
        for key, number in self._added.items():
            if key in self._gone and self._client.read_count(self._changes, key) + number <= 0:
                commands.append((b"HDEL", self._keys.counts, key))
            elif number:
                commands.append((b"HINCRBY", self._keys.counts, key, number))
        for key, head in self._heads.items():
            written[self._keys.site(key)] = _encode(head)
        for key, counts in self._counts.items():
            name = self._keys.site_counts(key)
            written[name] = _encode(_StoredCounts(counts.pages_counted, counts.encode()))
            self._changes.decoded[name] = counts
        for key, stored in self._merged.items():
            written[self._keys.site_counts(key)] = _encode(stored)
        for (key, number), content in self._snapshots.items():
            written[self._keys.snapshot(key, number)] = content
        removed = [self._keys.snapshot(key, number) for key, number in self._dropped]
        for key in self._gone:
            removed += (self._keys.site(key), self._keys.site_counts(key))
        commands += [(b"DEL", name) for name in removed if name not in written]  # rows are written before commands run

    def _forget(self, key: bytes) -> None:
        """Forget everything that is known about a site."""
        self._drop_snapshots(key, self._sound_head(key).numbers)
        self._heads.pop(key, None)
        self._counts.pop(key, None)
        self._merged.pop(key, None)
        self._gone.add(key)

    def _drop_snapshots(self, key: bytes, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            self._snapshots.pop((key, number), None)
            self._dropped.add((key, number))

    def _head(self, key: bytes) -> SiteHead:
        if key in self._heads:
            return self._heads[key]
        if key in self._gone:
            return _NO_HEAD
        row = self._read(self._keys.site(key), may_be_new=True)
        if row.decoded is None:
            row.decoded = decode_struct(_decode_head, row.content) if row.content else _NO_HEAD
        return cast("SiteHead", row.decoded)

    def _sound_head(self, key: bytes) -> SiteHead:
        try:
            return self._head(key)
        except msgspec.DecodeError:
            return _NO_HEAD

    def _snapshot(self, key: bytes, number: int) -> Snapshot | None:
        if (key, number) in self._snapshots:
            return Snapshot(number, self._snapshots[key, number])
        if (key, number) in self._dropped:
            return None
        row = self._read(self._keys.snapshot(key, number))
        if row.decoded is None and row.content:
            row.decoded = Snapshot(number, row.content)
        return cast("Snapshot | None", row.decoded)

    def _learning(self, key: bytes, reader: CountsReader) -> Counts:
        """Return the counts of a site to change them. They are taken out of the row, and put back when they are stored."""
        counts = self._counts.get(key)
        if counts is None:
            merged = self._merged.pop(key, None)
            if merged is not None or key in self._gone:
                counts = reader.read_counts(merged.content if merged else b"")
            else:
                row = self._read(self._keys.site_counts(key), may_be_new=True)
                counts = cast("Counts | None", row.decoded) or reader.read_counts(_stored(row).content)
                row.decoded = None
            self._counts[key] = counts
        return counts

    def _stored_counts(self, key: bytes) -> _StoredCounts | None:
        row = self._read(self._keys.site_counts(key))
        return _stored(row) if row.content else None

    def _pages_counted(self, key: bytes) -> int:
        if key in self._counts:
            return self._counts[key].pages_counted
        if key in self._merged:
            return self._merged[key].pages_counted
        stored = None if key in self._gone else self._stored_counts(key)
        return stored.pages_counted if stored else 0

    def _read(self, name: bytes, *, may_be_new: bool = False) -> Row:
        return self._client.cells.read_row(self._changes, name, may_be_new=may_be_new)

    def _items(self) -> Iterator[tuple[bytes, int]]:
        """Yield key and number of records of each site."""
        cursor = b"0"
        while True:
            cursor, flat = self._client.call(b"HSCAN", self._keys.counts, cursor, b"COUNT", _SCANNED)
            yield from ((flat[at], int(flat[at + 1])) for at in range(0, len(flat), 2))
            if cursor == b"0":
                return

    def _forget_read(self) -> None:
        """Forget the rows that were read, because a transaction that reads all sites needs each of them once."""
        self._changes.rows.clear()


def _stored(row: Row) -> _StoredCounts:
    return decode_struct(_decode_counts, row.content) if row.content else _StoredCounts(0, b"")
