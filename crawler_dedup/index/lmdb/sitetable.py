"""The profiles of sites in LMDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import cast

import lmdb
import msgspec
import numpy as np
from xxhash import xxh32_digest

from crawler_dedup.index.layout import decode_struct
from crawler_dedup.index.limits import MAX_SNAPSHOTS
from crawler_dedup.index.lmdb.buckets import Tally, tally
from crawler_dedup.index.lmdb.deferred import DeferredRows
from crawler_dedup.index.profiles import (
    NO_SNAPSHOT,
    SITE_KEY_BYTES,
    SNAPSHOT_NUMBER_BYTES,
    Counts,
    CountsReader,
    SiteEntry,
    SiteFigures,
    Snapshot,
    StoredSite,
    site_key,
)
from crawler_dedup.signedpage import SignedPage

_DIGEST_BYTES = 4
_ENTRY, _COUNTS, _SNAPSHOT = b"0", b"1", b"2"  # in the order of a site's rows

_encode_entry = msgspec.msgpack.Encoder().encode
_decode_entry = msgspec.msgpack.Decoder(SiteEntry).decode


class Profiles:
    """The profiles of sites, by scope and site. A page without a host belongs to no site."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None, deferred: DeferredRows) -> None:
        self._sites = env.open_db(b"sites", txn)
        self._deferred = deferred

    def snapshot(self, txn: lmdb.Transaction, key: bytes) -> Snapshot:
        """Return the latest snapshot of a site (:func:`site_key`)."""
        number = self._entry(txn, key).number if key else 0
        return (self._snapshot(txn, key, number) if number else None) or NO_SNAPSHOT

    def find_snapshot(self, txn: lmdb.Transaction, key: bytes, number: int, moment: float) -> Snapshot | None:
        """Return the snapshot of a site that had *number* at a *moment*; ``None`` if it is no longer kept."""
        if not key or not number:
            return NO_SNAPSHOT
        # Numbers start again if all pages of a site were removed, and an import replaces them.
        return self._snapshot(txn, key, number) if self._entry(txn, key).since <= moment else None

    def add_record(self, txn: lmdb.Transaction, page: SignedPage) -> None:
        """Note that *page* is recorded."""
        if key := site_key(page.scope, page.url):
            entry = self._entry(txn, key)
            self._put_entry(txn, key, msgspec.structs.replace(entry, records=entry.records + 1))

    def remove_record(self, txn: lmdb.Transaction, page: SignedPage) -> None:
        """Note that the record of *page* was removed. With the last record of a site, remove its profile.

        A profile with a damaged entry is removed too, so that it does not keep pages from being removed.
        """
        if key := site_key(page.scope, page.url):
            try:
                entry = self._entry(txn, key)
            except msgspec.DecodeError:
                entry = SiteEntry()
            if entry.records > 1:
                self._put_entry(txn, key, msgspec.structs.replace(entry, records=entry.records - 1))
            else:
                self._remove(txn, key)

    def count_page(self, txn: lmdb.Transaction, page: SignedPage, reader: CountsReader, now: int) -> None:
        """Count a page that was handled in the profile of its site, and make a snapshot if one is due."""
        if not (key := site_key(page.scope, page.url)):
            return
        counts = self._counts(txn, key, reader)
        counts.add(page)
        entry = self._entry(txn, key)
        since = now if counts.pages_counted == 1 else entry.since
        number = counts.pages_counted if counts.snapshot_due else entry.number
        self._put_entry(txn, key, SiteEntry(entry.records, counts.pages_counted, number, since))
        if counts.snapshot_due:
            self._put(txn, _snapshot_name(key, number), counts.make_snapshot().encode())
            self._remove_old_snapshots(txn, key)

    def check(self, txn: lmdb.Transaction) -> tuple[Tally, int]:
        """Return a tally of the records that the entries count (:func:`tally_sites`), and the number of unreadable sites."""
        counted, unreadable = Tally(), 0
        for key in self._keys(txn):
            entry = self._read_site(txn, key)
            if entry is None:
                unreadable += 1
            else:
                counted += tally_sites([key], entry.records)
        return counted, unreadable

    def read_all(self, txn: lmdb.Transaction) -> Iterator[StoredSite]:
        """Yield all sites of which pages were counted and that can be read."""
        for key in self._keys(txn):
            entry = self._read_site(txn, key)
            if entry is not None and entry.pages_counted:
                names = [name for name in self._names(txn, key) if name.startswith(key + _SNAPSHOT)]
                snapshots = [(_number_in(name), self._get(txn, name) or b"") for name in names]
                counts = self._get(txn, key + _COUNTS) or b""
                yield StoredSite(key, entry.pages_counted, entry.number, entry.since, counts, snapshots)

    def merge(self, txn: lmdb.Transaction, site: StoredSite, now: int) -> None:
        """Replace the profile of a site by *site*, if that counts more pages and any page of the site is recorded.

        New snapshots may have the numbers of replaced ones, so :meth:`find_snapshot` no longer finds any for a decision
        before *now*.
        """
        entry = self._entry(txn, site.key)
        if not entry.records or entry.pages_counted >= site.pages_counted:
            return
        self._remove(txn, site.key)
        since = now + 1 if entry.number else site.since  # times are whole seconds
        self._put_entry(txn, site.key, SiteEntry(entry.records, site.pages_counted, site.number, since))
        self._put(txn, site.key + _COUNTS, site.counts)
        for number, content in site.snapshots:
            self._put(txn, _snapshot_name(site.key, number), content)

    def measure(self, txn: lmdb.Transaction) -> SiteFigures:
        """Count the sites, those with a snapshot that can be read, and the bytes of their rows."""
        sites = known = content = 0
        for key in self._keys(txn):
            sites += 1
            with suppress(msgspec.DecodeError):
                known += self._entry(txn, key).number > 0
            content += sum(len(name) + len(txn.get(name, b"", self._sites)) for name in self._names(txn, key))
        return SiteFigures(sites, known, content)

    def _keys(self, txn: lmdb.Transaction) -> Iterator[bytes]:
        """Yield the keys of all sites, ascending. Rows of a site may be changed before the next key is read."""
        after: bytes | None = b""
        while after is not None:
            with txn.cursor(db=self._sites) as cursor:
                if not cursor.set_range(after):
                    return
                key = bytes(cursor.key()[:SITE_KEY_BYTES])
            yield key
            after = _after_site(key)

    def _read_site(self, txn: lmdb.Transaction, key: bytes) -> SiteEntry | None:
        """Return the entry of a site; ``None`` where one of its rows cannot be read."""
        try:
            for name in self._names(txn, key):
                self._get(txn, name)
            return self._entry(txn, key) if len(key) == SITE_KEY_BYTES else None
        except msgspec.DecodeError:
            return None

    def _snapshot(self, txn: lmdb.Transaction, key: bytes, number: int) -> Snapshot | None:
        content = self._get(txn, _snapshot_name(key, number))
        return None if content is None else Snapshot(number, content)

    def _counts(self, txn: lmdb.Transaction, key: bytes, reader: CountsReader) -> Counts:
        """Return the counts of a site; the caller may change them, and they are written before the commit."""
        name = key + _COUNTS
        row = self._deferred.get(name)
        if row is None:
            row = self._deferred.take_written(name, txn.get(name, b"", self._sites))
            row = row or _Sealed(reader.read_counts(self._get(txn, name) or b""))
            self._deferred.put(txn, self._sites, name, row)
        return cast("_Sealed", row).counts

    def _remove_old_snapshots(self, txn: lmdb.Transaction, key: bytes) -> None:
        names = [name for name in self._names(txn, key) if name[SITE_KEY_BYTES:][:1] == _SNAPSHOT]
        for name in names[:-MAX_SNAPSHOTS]:
            txn.delete(name, db=self._sites)

    def _remove(self, txn: lmdb.Transaction, key: bytes) -> None:
        self._deferred.remove(key + _COUNTS)
        for name in self._names(txn, key):
            txn.delete(name, db=self._sites)

    def _names(self, txn: lmdb.Transaction, key: bytes) -> list[bytes]:
        """Return the names of all rows of a site, in ascending order."""
        with txn.cursor(db=self._sites) as cursor:
            cursor.set_range(key)
            following = (bytes(name) for name in cursor.iternext(values=False))
            return list(takewhile(lambda name: name.startswith(key), following))

    def _entry(self, txn: lmdb.Transaction, key: bytes) -> SiteEntry:
        content = self._get(txn, key + _ENTRY)
        return SiteEntry() if content is None else decode_struct(_decode_entry, content)

    def _put_entry(self, txn: lmdb.Transaction, key: bytes, entry: SiteEntry) -> None:
        self._put(txn, key + _ENTRY, _encode_entry(entry))

    def _get(self, txn: lmdb.Transaction, name: bytes) -> bytes | None:
        """Return the content of a row, or ``None``. Raises :class:`msgspec.DecodeError` where it is damaged."""
        sealed = txn.get(name, db=self._sites)
        return None if sealed is None else _open(sealed)

    def _put(self, txn: lmdb.Transaction, name: bytes, content: bytes) -> None:
        txn.put(name, _seal(content), db=self._sites)


class _Sealed:
    """The counts of a site, which are sealed when they are written."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def encode(self) -> bytes:
        return _seal(self.counts.encode())


def tally_sites(keys: Sequence[bytes], times: int = 1) -> Tally:
    """Tally records by the keys of their sites; each key counts *times* times."""
    numbers = np.array([int.from_bytes(key[:8], "big") for key in keys], dtype=np.uint64)
    once = tally(0, 0, numbers)
    return Tally(once.entries * times, once.total * times & (1 << 64) - 1)


def _after_site(key: bytes) -> bytes | None:
    """Return the lowest name after those of the rows of a site; ``None`` if there is none. A damaged key may be short."""
    if len(key) < SITE_KEY_BYTES:
        return key + b"\0"
    return None if key == b"\xff" * SITE_KEY_BYTES else (int.from_bytes(key, "big") + 1).to_bytes(SITE_KEY_BYTES, "big")


def _snapshot_name(key: bytes, number: int) -> bytes:
    return key + _SNAPSHOT + number.to_bytes(SNAPSHOT_NUMBER_BYTES, "big")


def _number_in(name: bytes) -> int:
    return int.from_bytes(name[SITE_KEY_BYTES + 1 :], "big")


def _seal(content: bytes) -> bytes:
    """Return *content* with its checksum: otherwise a wrong bit in a hash would not be noticed."""
    return xxh32_digest(content) + content


def _open(sealed: bytes | memoryview) -> bytes:
    """Return the content that :func:`_seal` has sealed."""
    content = bytes(sealed[_DIGEST_BYTES:])
    if sealed[:_DIGEST_BYTES] != xxh32_digest(content):
        raise msgspec.DecodeError("the profile of a site is damaged")
    return content
