"""Numbers of records by the hash of a page key, an alias, or a signature in its scope."""

from __future__ import annotations

import lmdb

from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.places import numbers_in, place_entry
from crawler_dedup.index.tally import Tally

_SCOPE = 0


class RecordNumbers:
    """Numbers of records under places, which are hashes of 64 bits (:mod:`crawler_dedup.index.places`).

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
