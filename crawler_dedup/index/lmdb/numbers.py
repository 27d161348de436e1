"""The numbers of records, by the hash of what leads to them: a page key, an alias, or a signature in its scope."""

from __future__ import annotations

import lmdb
import msgspec
from xxhash import xxh3_64_intdigest

from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.tally import Tally

NUMBER_BYTES = 5

_SCOPE = 0
_OF_NAME = 1 << 24
"""The bit of a place, the last that is stored, that tells names from signatures."""


class RecordNumbers:
    """Numbers of records under places, which are hashes of 64 bits (:func:`place_of_name`, :func:`place_of_signature`).

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
        if len(content) % 8:
            raise msgspec.DecodeError(f"a bucket of numbers has {len(content)} bytes")
        wanted, numbers = first.to_bytes(8, "little")[NUMBER_BYTES:], []
        at = content.find(wanted)
        while at >= 0:
            if at % 8 == NUMBER_BYTES:
                numbers.append(int.from_bytes(content[at - NUMBER_BYTES : at], "little"))
            at = content.find(wanted, at + 1)
        return sorted(numbers)

    def clear(self, txn: lmdb.Transaction) -> None:
        """Remove everything."""
        txn.drop(self._buckets.db, delete=False)

    def tally(self, txn: lmdb.Transaction) -> Tally:
        """Tally all entries. Raises as :meth:`Buckets.tally`."""
        return self._buckets.tally(txn)


def place_of_name(name: bytes) -> int:
    """Return the place of a page key or alias (:func:`crawler_dedup.index.records.hash_page_key`)."""
    return int.from_bytes(name[:8], "big") | _OF_NAME


def place_of_signature(scope: int, signature: int) -> int:
    """Return the place of *signature* in the scope with the hash *scope*."""
    return xxh3_64_intdigest((scope << 64 | signature).to_bytes(12, "big")) & ~_OF_NAME


def place_entry(place: int, number: int) -> tuple[int, int]:
    """Return under which key, and as what payload, *number* stands at *place*."""
    return place >> 48, (place >> 24 & 0xFFFFFF) << 8 * NUMBER_BYTES | number
