"""The dictionaries of an index in LMDB."""

from __future__ import annotations

from collections.abc import Iterable

import lmdb
import msgspec

from crawler_dedup.index.decoding import decode_number
from crawler_dedup.index.dictionary import DIGEST_BYTES, Dictionary, is_sound, load, train


class Dictionaries:
    """The dictionaries of one index, by number. The numbers begin with 1; 0 means none."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        self._dictionaries = env.open_db(b"dictionaries", txn)
        self._last: Dictionary | None = None  # replaced in one step: several threads read it

    def find(self, txn: lmdb.Transaction, number: int) -> Dictionary:
        """Return the dictionary with *number*; raise :class:`msgspec.DecodeError` where it is missing or damaged."""
        stored = txn.get(_name(number), db=self._dictionaries)
        if stored is None:
            raise msgspec.DecodeError(f"there is no dictionary {number}")
        last = self._last
        # Compare digests: another process may have emptied the index and trained another dictionary with this number.
        if last is None or last.number != number or last.digest != stored[:DIGEST_BYTES]:
            last = self._last = load(number, bytes(stored))
        return last

    def find_newest(self, txn: lmdb.Transaction) -> Dictionary | None:
        """Return the dictionary with the highest number, or ``None``. Raises as :meth:`find`."""
        newest = self._find_newest_number(txn)
        return self.find(txn, newest) if newest else None

    def add(self, txn: lmdb.Transaction, texts: Iterable[bytes]) -> bool:
        """Train a dictionary on *texts* and store it; return ``False`` if they are too short for a dictionary."""
        content = train(texts)
        if content is None:
            return False
        txn.put(_name(self._find_newest_number(txn) + 1), content, db=self._dictionaries)
        return True

    def find_unreadable(self, txn: lmdb.Transaction) -> list[bytes]:
        """Find the dictionaries that cannot be read, and return their names."""
        with txn.cursor(db=self._dictionaries) as cursor:
            return [bytes(name) for name, content in cursor if len(name) != 1 or not is_sound(bytes(content))]

    def rebuild(self, txn: lmdb.Transaction) -> None:
        """Remove the dictionaries that cannot be read."""
        for name in self.find_unreadable(txn):
            txn.delete(name, db=self._dictionaries)

    def _find_newest_number(self, txn: lmdb.Transaction) -> int:
        with txn.cursor(db=self._dictionaries) as cursor:
            return decode_number(cursor.key(), 1) if cursor.last() else 0


def _name(number: int) -> bytes:
    return number.to_bytes(1, "big")
