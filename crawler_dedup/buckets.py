"""Key → payloads: the one index under every scheme.

A bucket holds all 8-byte payloads that were filed under one key of one scope, packed into chunks of at most one LMDB
page: a look-up copies whole chunks and hands numpy one array, an insertion rewrites the last chunk only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import lmdb
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

Keys = NDArray[np.uint64]

_PAYLOAD = np.dtype("<u8")
_NAME = np.dtype(">u8")
_CHUNK = 4080
"""Bytes of a full chunk: one page of 4,096 bytes less LMDB's header. 510 payloads."""
_LAST = b"\xff" * 4


class Buckets:
    """Buckets in one LMDB database.

    Transactions must be made with ``buffers=True``: chunks are read where they lie.

    Args:
        env: the open environment. It must have a free slot for the named database.
        txn: a write transaction; the database is made in it where it is not there.
        name: of the database.
    """

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction, name: bytes) -> None:
        self.db = env.open_db(name, txn)

    def insert(self, txn: lmdb.Transaction, scope: int, keys: Keys, payloads: Keys) -> None:
        """File each of *payloads* under the key beside it: uint64, shapes (n,).

        A payload must not stand in its bucket already. Many at once are filed bucket by bucket, which is several times
        faster than one by one.
        """
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        payload_bytes = payloads[order].astype(_PAYLOAD).tobytes()
        ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1) + 1
        with txn.cursor(db=self.db) as cursor:
            for name, (start, end) in zip(_names(scope, keys[ends - 1]), pairwise([0, *ends.tolist()]), strict=True):
                _append(cursor, name, payload_bytes[8 * start : 8 * end])

    def query(self, txn: lmdb.Transaction, scope: int, probes: Keys) -> Keys:
        """All payloads under any of *probes*, joined; one that stands under several comes several times."""
        with txn.cursor(db=self.db) as cursor:
            found = cursor.getmulti(_names(scope, probes))
            chunks = [chunk for _, chunk in found]
            full = [name for name, chunk in found if len(chunk) == _CHUNK]
            number = 1
            while full:
                found = cursor.getmulti([_chunk_name(name, number) for name in full])
                chunks += [chunk for _, chunk in found]
                full = [name[:16] for name, chunk in found if len(chunk) == _CHUNK]
                number += 1
        return np.frombuffer(b"".join(chunks), dtype=_PAYLOAD)

    def remove(self, txn: lmdb.Transaction, scope: int, keys: Keys, payload: int) -> None:
        """Take *payload* out of the buckets of *keys*; where it does not stand nothing happens."""
        with txn.cursor(db=self.db) as cursor:
            for name in _names(scope, keys):
                _remove(cursor, name, payload)

    def items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, int, Keys]]:
        """(scope, key, payloads) of every chunk, in ascending order of scope and key.

        Raises:
            ValueError: there is a chunk that look-ups would not find, or could not read.
        """
        bucket, expected = b"", 0
        with txn.cursor(db=self.db) as cursor:
            for name, chunk in cursor:
                number = int.from_bytes(name[16:], "big")
                if name[:16] != bucket:
                    bucket, expected = bytes(name[:16]), 0
                if len(name) not in (16, 20) or number != expected or len(chunk) % 8 or not 0 < len(chunk) <= _CHUNK:
                    raise ValueError(f"chunk {bytes(name).hex()} of {len(chunk)} bytes")
                expected = number + 1 if len(chunk) == _CHUNK else -1
                yield (
                    int.from_bytes(bucket[:8], "big"),
                    int.from_bytes(bucket[8:], "big"),
                    np.frombuffer(chunk, dtype=_PAYLOAD),
                )


def scope_number(scope: str) -> int:
    """The 64 bits that stand for *scope* in the names of buckets."""
    return xxh3_64_intdigest(scope.encode("utf-8", "replace"))


def _names(scope: int, keys: Keys) -> list[bytes]:
    """16 bytes each: scope, then key, big-endian, so that a table's buckets lie together. A bucket's first chunk."""
    prefix = scope.to_bytes(8, "big")
    joined = keys.astype(_NAME).tobytes()
    return [prefix + joined[at : at + 8] for at in range(0, len(joined), 8)]


def _chunk_name(name: bytes | memoryview, number: int) -> bytes:
    """The first chunk has no number: most buckets have one chunk only."""
    return bytes(name) + number.to_bytes(4, "big") if number else bytes(name)


def _last(cursor: lmdb.Cursor, name: bytes) -> tuple[int, bytes]:
    """Number and content of a bucket's last chunk; (0, b"") where there is no bucket."""
    chunk = cursor.get(name)
    if chunk is None:
        return 0, b""
    if len(chunk) == _CHUNK:
        if not (cursor.set_range(name + _LAST) and cursor.prev()):
            cursor.last()
        found = bytes(cursor.key())
        return int.from_bytes(found[16:], "big"), bytes(cursor.value())
    return 0, bytes(chunk)


def _append(cursor: lmdb.Cursor, name: bytes, added: bytes) -> None:
    number, chunk = _last(cursor, name)
    joined = chunk + added
    for at in range(0, len(joined), _CHUNK):
        cursor.put(_chunk_name(name, number), joined[at : at + _CHUNK])
        number += 1


def _remove(cursor: lmdb.Cursor, name: bytes, payload: int) -> None:
    """The bucket's last payload takes the place of *payload*."""
    number, chunk = 0, cursor.get(name)
    while chunk is not None:
        at = np.flatnonzero(np.frombuffer(chunk, dtype=_PAYLOAD) == payload)
        if len(at):
            break
        number += 1
        chunk = cursor.get(_chunk_name(name, number))
    else:
        return
    start, content = 8 * int(at[0]), bytes(chunk)
    last_number, last = _last(cursor, name)
    if number != last_number:
        cursor.put(_chunk_name(name, number), content[:start] + last[-8:] + content[start + 8 :])
        shorter = last[:-8]
    else:
        shorter = content[:start] + (last[-8:] if start + 8 < len(content) else b"") + content[start + 8 : -8]
    if shorter:
        cursor.put(_chunk_name(name, last_number), shorter)
    else:
        cursor.set_key(_chunk_name(name, last_number))
        cursor.delete()


@dataclass(frozen=True)
class Tally:
    """How many entries there are, and a sum of their hashes: equal tallies mean equal sets of entries.

    (But for a chance of 2^-64, and for damage made on purpose.)
    """

    entries: int = 0
    total: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.entries + other.entries, (self.total + other.total) & (1 << 64) - 1)


def tally(scopes: Keys | int, keys: Keys | int, payloads: Keys) -> Tally:
    """The :class:`Tally` of *payloads*, each filed under the scope and key beside it (arrays or one for all)."""
    mixed = np.atleast_1d(np.asarray(scopes, dtype=np.uint64) ^ np.asarray(keys, dtype=np.uint64))
    mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + payloads
    for _ in range(2):  # the finaliser of MurmurHash3
        mixed = (mixed ^ mixed >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    return Tally(mixed.size, int(mixed.sum(dtype=np.uint64)))
