"""Page key → record."""

from __future__ import annotations

from enum import IntEnum

import lmdb
import msgspec
from xxhash import xxh3_128_digest

from crawler_dedup.signedpage import SignedPage


class Claim(IntEnum):
    """How far the handling of a recorded page is."""

    OPEN = 0
    SETTLED = 1


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A page that is kept. Only a settled one stands for duplicates."""

    page: SignedPage
    claim: Claim


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


class Records:
    """Records by number and by page key. Numbers are given in ascending order, so that the database grows at its end."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction) -> None:
        self._records = env.open_db(b"records", txn)
        self._numbers = env.open_db(b"numbers", txn)
        self.databases = (self._records, self._numbers)

    def find(self, txn: lmdb.Transaction, scope: str, key: str) -> tuple[int, Record] | None:
        """The number and record of a page, or ``None``."""
        number = txn.get(_name(scope, key), db=self._numbers)
        if number is None:
            return None
        return int.from_bytes(number, "big"), self.get(txn, int.from_bytes(number, "big"))

    def get(self, txn: lmdb.Transaction, number: int) -> Record:
        """The record with *number*. Raises :class:`KeyError` when there is none."""
        found = txn.get(number.to_bytes(8, "big"), db=self._records)
        if found is None:
            raise KeyError(number)
        return _decode(found)

    def add(self, txn: lmdb.Transaction, record: Record) -> int:
        """Store *record* under a new number, which is returned."""
        with txn.cursor(db=self._records) as cursor:
            number = int.from_bytes(cursor.key(), "big") + 1 if cursor.last() else 1
        name = number.to_bytes(8, "big")
        txn.put(name, _encode(record), db=self._records, append=True)
        txn.put(_name(record.page.scope, record.page.key), name, db=self._numbers)
        return number

    def replace(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Store *record* in the place of the one with *number*, whose page key it has."""
        txn.put(number.to_bytes(8, "big"), _encode(record), db=self._records)

    def remove(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Forget *record*, which has *number*."""
        txn.delete(number.to_bytes(8, "big"), db=self._records)
        txn.delete(_name(record.page.scope, record.page.key), db=self._numbers)

    def count(self, txn: lmdb.Transaction) -> int:
        """How many there are."""
        entries: int = txn.stat(self._records)["entries"]
        return entries


def _name(scope: str, key: str) -> bytes:
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    return xxh3_128_digest(f"{len(scope)}:{scope}{key}".encode("utf-8", "replace"))
