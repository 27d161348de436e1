"""The numbers of records, by the hash of what leads to them: a page key, an alias, or a signature in its scope."""

from __future__ import annotations

import lmdb

from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.places import numbers_in, place_entry
from crawler_dedup.index.tally import Tally

_SCOPE = 0


class RecordNumbers:
    """Numbers of records under places, which are hashes of 64 bits (:mod:`crawler_dedup.index.places`).

    A bucket holds all places that begin with the same 16 bits: an entry of its own costs 42 bytes a number, one in a
    bucket 16. Beside a number stand the next 24 bits. So other records may share a place, and who asks looks at them; but
    no page key has the place of a signature.
    """

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        self._buckets = Buckets(env, txn, b"numbers")

    def insert(self, txn: lmdb.Transaction, place: int, number: int) -> None:
        """Let *place* lead to *number*; it must not do so already."""
        key, payload = place_entry(place, number)
        self._buckets.insert(txn, _SCOPE, [key], payload)

    def remove(self, txn: lmdb.Transaction, place: int, number: int) -> None:
        """Let *place* lead to *number* no more; where it does not, do nothing."""
        key, payload = place_entry(place, number)
        self._buckets.remove(txn, _SCOPE, [key], payload)

    def query(self, txn: lmdb.Transaction, place: int) -> list[int]:
        """Return the numbers to which *place* leads, ascending, perhaps with some of other places."""
        key, first = place_entry(place, 0)
        content = self._buckets.content(txn, _SCOPE, key)
        return numbers_in(content, first)

    def clear(self, txn: lmdb.Transaction) -> None:
        """Remove everything."""
        txn.drop(self._buckets.db, delete=False)

    def tally(self, txn: lmdb.Transaction) -> Tally:
        """Tally all entries. Raises the errors of :meth:`Buckets.tally`."""
        return self._buckets.tally(txn)
