"""The records of an index, by number, and their numbers by the hash of a page key, an alias or a signature in its scope."""

from __future__ import annotations

from collections.abc import Iterator

import lmdb
import msgspec

from crawler_dedup.index.layout import NUMBER_BYTES, decode_number, numbers_in, place_entry
from crawler_dedup.index.lmdb.buckets import Buckets, Tally
from crawler_dedup.index.packing import as_unpacked, pack, unpack, unpack_sound
from crawler_dedup.index.records import Record

_SCOPE = 0


class RecordNumbers:
    """Numbers of records under places, which are hashes of 64 bits (:mod:`crawler_dedup.index.layout`).

    A bucket holds all places that begin with the same 16 bits: a number costs 16 bytes in a bucket, and 42 bytes as an
    entry of its own. Each number is stored with the next 24 bits of its place. So several records may share a place, and
    callers must check the records; but no page key has the place of a signature.
    """

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        self._buckets = Buckets(env, txn, b"numbers")

    def insert(self, txn: lmdb.Transaction, place: int, number: int) -> None:
        """Make *place* lead to *number*; it must not do so already."""
        key, payload = place_entry(place, number)
        self._buckets.insert(txn, _SCOPE, [key], payload)

    def remove(self, txn: lmdb.Transaction, place: int, number: int) -> None:
        """Remove *number* from *place* if present."""
        key, payload = place_entry(place, number)
        self._buckets.remove(txn, _SCOPE, [key], payload)

    def query(self, txn: lmdb.Transaction, place: int) -> list[int]:
        """Return the numbers to which *place* leads, ascending, perhaps with numbers of other places."""
        key, first = place_entry(place, 0)
        content = self._buckets.content(txn, _SCOPE, key)
        return numbers_in(content, first)

    def tally(self, txn: lmdb.Transaction) -> Tally:
        """Tally all entries. Raises the errors of :meth:`Buckets.tally`."""
        return self._buckets.tally(txn)


_REMEMBERED = 128  # records that were read or written last; up to twice as many are kept
_MOST_REMEMBERED = 8_000  # bytes; larger records are not kept


class _RecentRecords:
    """A cache of the records that were read or written last, by their stored content: several threads read.

    A representative is read for each of its duplicates, and a claimed record is read again when it is settled.
    """

    def __init__(self) -> None:
        self._latest: dict[bytes, Record] = {}
        self._before: dict[bytes, Record] = {}

    def find(self, content: bytes) -> Record | None:
        """Return the record that is stored as *content*, if it is in the cache."""
        latest = self._latest.get(content)
        if latest is None and (latest := self._before.get(content)) is not None:
            self.add(content, latest)
        return latest

    def add(self, content: bytes, record: Record) -> None:
        """Remember *record*, which is stored as *content*."""
        if len(content) > _MOST_REMEMBERED:
            return
        if len(self._latest) >= _REMEMBERED:
            self._before, self._latest = self._latest, {}
        self._latest[content] = record


class Records:
    """Records by number. Numbers are given in ascending order, so that the database grows at its end."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        self._records = env.open_db(b"records", txn)
        self._recent = _RecentRecords()

    def get(self, txn: lmdb.Transaction, number: int) -> Record | None:
        """Return the record with *number*, or ``None``. Raises :class:`msgspec.DecodeError` if it is unreadable."""
        stored = txn.get(_number(number), db=self._records)
        if stored is None:
            return None
        content = bytes(stored)
        record = self._recent.find(content)
        if record is None:
            record = unpack(content)
            self._recent.add(content, record)
        return record

    def last_number(self, txn: lmdb.Transaction) -> int:
        """Return the highest number of a record; 0 if there is none."""
        with txn.cursor(db=self._records) as cursor:
            return decode_number(cursor.key(), NUMBER_BYTES) if cursor.last() else 0

    def append(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Store *record* under *number*, which is higher than the number of any other."""
        content = pack(record)
        txn.put(_number(number), content, db=self._records, append=True)
        self._remember(content, record)

    def replace(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Replace the record with *number* by *record*, which is of the same page."""
        content = pack(record)
        txn.put(_number(number), content, db=self._records)
        self._remember(content, record)

    def _remember(self, content: bytes, record: Record) -> None:
        """Remember *record*, which was stored as *content*, if it is certain that reading returns it unchanged."""
        unpacked = as_unpacked(record)
        if unpacked is not None:
            self._recent.add(content, unpacked)

    def delete(self, txn: lmdb.Transaction, number: int) -> None:
        """Delete the record with *number*."""
        txn.delete(_number(number), db=self._records)

    def items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, Record | None]]:
        """Yield (number, record) in ascending order; ``None`` for a record that cannot be read, or has no number."""
        with txn.cursor(db=self._records) as cursor:
            for name, content in cursor:
                has_number = len(name) == NUMBER_BYTES
                yield int.from_bytes(name, "big"), unpack_sound(content) if has_number else None

    def count(self, txn: lmdb.Transaction) -> int:
        """Return how many records there are."""
        entries: int = txn.stat(self._records)["entries"]
        return entries


def _number(number: int) -> bytes:
    try:
        return number.to_bytes(NUMBER_BYTES, "big")
    except OverflowError as error:  # the number after the largest possible one
        raise msgspec.DecodeError(f"{number} is no number of a record") from error
