"""Page key → record."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import lmdb
import msgspec
from xxhash import xxh3_128_digest

from crawler_dedup.signedpage import SignedPage, is_well_formed


class Claim(IntEnum):
    """How far the handling of a recorded page is."""

    OPEN = 0
    SETTLED = 1


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A page that is kept. Only a settled one stands for duplicates.

    Attributes:
        filed: when, in seconds since 1970.
        run: number of the run that filed it.
        stands: whether it may stand for others; if not, there was no room for more under its signature.
    """

    page: SignedPage
    claim: Claim
    filed: int = 0
    run: int = 0
    stands: bool = True


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


def decode(content: bytes | memoryview) -> Record:
    """The record that :func:`encode` made; raises :class:`msgspec.DecodeError` for anything else."""
    try:
        record = _decode(content)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error
    if not is_well_formed(record.page):
        raise msgspec.DecodeError("The signature has not 64 bits, or a part has a length that it cannot have.")
    return record


class Records:
    """Records by number and by page key. Numbers are given in ascending order, so that the database grows at its end."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction) -> None:
        self._records = env.open_db(b"records", txn)
        self._numbers = env.open_db(b"numbers", txn)

    def find(self, txn: lmdb.Transaction, scope: str, key: str) -> tuple[int, Record] | None:
        """The number and record of a page, or ``None``."""
        name = txn.get(_name(scope, key), db=self._numbers)
        if name is None:
            return None
        number = int.from_bytes(name, "big")
        record = self.get(txn, number)
        return None if record is None else (number, record)

    def get(self, txn: lmdb.Transaction, number: int) -> Record | None:
        """The record with *number*, or ``None``. Raises :class:`msgspec.DecodeError` for one that cannot be read."""
        if number >> 40:  # a damaged bucket may say anything
            return None
        found = txn.get(_number(number), db=self._records)
        return None if found is None else decode(found)

    def add(self, txn: lmdb.Transaction, record: Record) -> int:
        """Store *record* under a new number, which is returned."""
        with txn.cursor(db=self._records) as cursor:
            number = int.from_bytes(cursor.key(), "big") + 1 if cursor.last() else 1
        name = _number(number)
        txn.put(name, encode(record), db=self._records, append=True)
        txn.put(_name(record.page.scope, record.page.key), name, db=self._numbers)
        return number

    def replace(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Store *record* in the place of the one with *number*, whose page key it has."""
        txn.put(_number(number), encode(record), db=self._records)

    def remove(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Forget *record*, which has *number*."""
        txn.delete(_number(number), db=self._records)
        txn.delete(_name(record.page.scope, record.page.key), db=self._numbers)

    def has(self, txn: lmdb.Transaction, scope: str, key: str) -> bool:
        """Whether a page is recorded."""
        return txn.get(_name(scope, key), db=self._numbers) is not None

    def items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, Record | None]]:
        """(number, record) in ascending order; ``None`` for a record that cannot be read."""
        with txn.cursor(db=self._records) as cursor:
            for name, found in cursor:
                try:
                    record = decode(found)
                except msgspec.DecodeError:
                    record = None
                yield int.from_bytes(name, "big"), record

    def leads_to(self, txn: lmdb.Transaction, number: int, record: Record) -> bool:
        """Whether the page key of *record* leads to *number*."""
        name = txn.get(_name(record.page.scope, record.page.key), db=self._numbers)
        return name is not None and int.from_bytes(name, "big") == number

    def keys_count(self, txn: lmdb.Transaction) -> int:
        """How many page keys there are: as many as records."""
        entries: int = txn.stat(self._numbers)["entries"]
        return entries

    def rebuild_numbers(self, txn: lmdb.Transaction) -> None:
        """Make the page keys anew from the records. What cannot be read goes; of two records of a page the older."""
        txn.drop(self._numbers, delete=False)
        unreadable = []
        for number, record in self.items(txn):
            if record is None:
                unreadable.append(number)
                continue
            name = _name(record.page.scope, record.page.key)
            older = txn.get(name, db=self._numbers)
            if older is not None:
                unreadable.append(int.from_bytes(older, "big"))
            txn.put(name, _number(number), db=self._numbers)
        for number in unreadable:
            txn.delete(_number(number), db=self._records)

    def count(self, txn: lmdb.Transaction) -> int:
        """How many there are."""
        entries: int = txn.stat(self._records)["entries"]
        return entries


def _number(number: int) -> bytes:
    return number.to_bytes(5, "big")


def _name(scope: str, key: str) -> bytes:
    """96 bits: of 10^9 pages two have the same with a chance of 10^-11."""
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    return xxh3_128_digest(f"{len(scope)}:{scope}{key}".encode("utf-8", "replace"))[:12]
