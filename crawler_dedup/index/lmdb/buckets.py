"""Buckets of 8-byte payloads, by key and scope, in LMDB: the index under every scheme.

A bucket holds all 8-byte payloads that were filed under one key of one scope, packed into chunks of at most one LMDB
page: a look-up copies whole chunks and hands numpy one array, an insertion rewrites the last chunk only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import lmdb
import msgspec
import numpy as np

from crawler_dedup.hashes import Numbers
from crawler_dedup.index.layout import CHUNK_BYTES, FIRST_CHUNK_BYTES, decode_payloads

_TABLE_SHIFT = 40
_REST = (1 << _TABLE_SHIFT) - 1
_LONG = 0xFF
_LAST = b"\xff" * 4
_MAX_CHUNKS = 1 << 31


Chunk = tuple[int, int, Numbers]
"""A part of a bucket: its scope, its key, and payloads in it."""


class Buckets:
    """Buckets in one LMDB database.

    Transactions must be made with ``buffers=True``, so that chunks are read in LMDB's map.

    Args:
        env: the open environment. It must have a free slot for the named database.
        txn: a write transaction, in which a missing database is created. ``None``: the database exists.
        name: name of the database.
    """

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None, name: bytes) -> None:
        self.db = env.open_db(name, txn)

    def insert(self, txn: lmdb.Transaction, scope: int, keys: Iterable[int], payload: int) -> None:
        """File *payload* under each of *keys*; it must not be there already."""
        with txn.cursor(db=self.db) as cursor:
            for key in keys:
                _append(cursor, _name(scope, key), payload.to_bytes(8, "little"))

    def query(self, txn: lmdb.Transaction, scope: int, probes: Iterable[int], limit: int | None = None) -> Numbers:
        """Return all payloads under any of *probes*, joined; a payload under several probes is repeated.

        Args:
            limit: read only the first *limit* chunks of each bucket; ``None``: all.
        """
        with txn.cursor(db=self.db) as cursor:
            first = cursor.getmulti([_name(scope, key) for key in probes])
        chunks = [chunk for _, chunk in first]
        for name, chunk in first:
            if len(chunk) >= FIRST_CHUNK_BYTES or len(chunk) & 7:  # it may be full, or is damaged
                chunks += self._read_further(txn, bytes(name), chunk, limit)
        return decode_payloads(b"".join(chunks))

    def _read_further(
        self, txn: lmdb.Transaction, name: bytes, chunk: bytes | memoryview, limit: int | None
    ) -> Iterator[bytes | memoryview]:
        """Yield the chunks of a bucket after its first one, *chunk*."""
        number = 0
        while len(chunk) == _size(number) and number + 1 != limit:
            number += 1
            chunk = txn.get(_chunk_name(name, number), b"", self.db)
            yield chunk
        if len(chunk) & 7:
            decode_payloads(chunk)  # raises

    def remove(self, txn: lmdb.Transaction, scope: int, keys: Iterable[int], payload: int) -> None:
        """Remove *payload* from the buckets of *keys*; skip buckets that do not have it."""
        with txn.cursor(db=self.db) as cursor:
            for key in keys:
                _remove(cursor, _name(scope, key), payload)

    def chunks(self, txn: lmdb.Transaction) -> Iterator[Chunk]:
        """Yield all chunks, in ascending order of scope and key.

        Raises:
            msgspec.DecodeError: there is a chunk that look-ups would not find, or could not read.
        """
        bucket, expected = b"", 0
        with txn.cursor(db=self.db) as cursor:
            for name, chunk in cursor:
                own = _bucket_of(bytes(name))
                if own is None or len(chunk) % 8 or not 0 < len(chunk) <= CHUNK_BYTES:
                    raise _damaged(name, chunk)
                if own != bucket:
                    bucket, expected = own, 0
                number = int.from_bytes(name[len(bucket) :], "big")
                if number != expected:
                    raise _damaged(name, chunk)
                expected = number + 1 if len(chunk) == _size(number) else -1
                yield (int.from_bytes(bucket[:4], "big"), _key_of(bucket), decode_payloads(chunk))


def _name(scope: int, key: int) -> bytes:
    """Return the name of a bucket's first chunk: scope and key in ascending order, so that a table's buckets lie together.

    Names are as short as most keys allow, and no name is a prefix of another. Keys of permuted tables have the number of
    the table above 40 bits (:func:`crawler_dedup.permutedtables.keys`): the name has one byte for this number, one byte for
    the length of the rest of the key (2 or 5), and the rest.
    """
    table, key_in_table = key >> _TABLE_SHIFT, key & _REST
    if table >= _LONG:
        return (scope << 72 | _LONG << 64 | key).to_bytes(13, "big")
    if key_in_table < 1 << 16:
        return (scope << 32 | table << 24 | 2 << 16 | key_in_table).to_bytes(8, "big")
    return (scope << 56 | table << 48 | 5 << 40 | key_in_table).to_bytes(11, "big")


def _bucket_of(name: bytes) -> bytes | None:
    """Return the name of a bucket's first chunk from the name of any of its chunks; ``None`` for any other name."""
    length = 0 if len(name) < 6 else 13 if name[4] == _LONG else {2: 8, 5: 11}.get(name[5], 0)
    return name[:length] if length and len(name) in (length, length + 4) else None


def _key_of(bucket: bytes) -> int:
    """Return the key in the name of a bucket."""
    if bucket[4] == _LONG:
        return int.from_bytes(bucket[5:], "big")
    return bucket[4] << _TABLE_SHIFT | int.from_bytes(bucket[6:], "big")


def _chunk_name(name: bytes, number: int) -> bytes:
    """Return the name of a chunk. The first one has no number: most buckets have one chunk only."""
    return name + number.to_bytes(4, "big") if number else name


def _damaged(name: bytes | memoryview, chunk: bytes | memoryview) -> msgspec.DecodeError:
    return msgspec.DecodeError(f"a bucket is damaged: chunk {bytes(name).hex()} of {len(chunk)} bytes")


def _size(number: int) -> int:
    """Return the size in bytes of a full chunk by its *number* in the bucket; the first chunk has number 0."""
    return CHUNK_BYTES if number else FIRST_CHUNK_BYTES


def _last(cursor: lmdb.Cursor, name: bytes) -> tuple[int, bytes]:
    """Return number and content of a bucket's last chunk; (0, b"") where there is no bucket.

    Raises:
        msgspec.DecodeError: the chunk cannot be the last one.
    """
    chunk = cursor.get(name)
    if chunk is None:
        return 0, b""
    number = 0
    if len(chunk) == FIRST_CHUNK_BYTES:
        if not (cursor.set_range(name + _LAST) and cursor.prev()):
            cursor.last()
        last, chunk = bytes(cursor.key()), cursor.value()
        number = int.from_bytes(last[len(name) :], "big")
        if _bucket_of(last) != name or number >= _MAX_CHUNKS:
            raise _damaged(last, chunk)
    if len(chunk) % 8 or len(chunk) > _size(number):
        raise _damaged(_chunk_name(name, number), chunk)
    return number, bytes(chunk)


def _append(cursor: lmdb.Cursor, name: bytes, added: bytes) -> None:
    number, chunk = _last(cursor, name)
    if len(chunk) == _size(number):
        number, chunk = number + 1, b""
    cursor.put(_chunk_name(name, number), chunk + added)


def _remove(cursor: lmdb.Cursor, name: bytes, payload: int) -> None:
    """Remove *payload* from a bucket: the last payload of the bucket takes its place."""
    number, chunk = 0, cursor.get(name)
    while chunk is not None:
        at = np.flatnonzero(decode_payloads(chunk) == payload)
        if len(at):
            break
        number += 1
        chunk = cursor.get(_chunk_name(name, number))
    else:
        return
    start, content = 8 * int(at[0]), bytes(chunk)
    last_number, last = _last(cursor, name)
    changed = content[:start] + last[-8:] + content[start + 8 :]
    if number != last_number:
        cursor.put(_chunk_name(name, number), changed)
    last_chunk = changed if number == last_number else last
    if shorter := last_chunk[:-8]:
        cursor.put(_chunk_name(name, last_number), shorter)
    else:
        cursor.set_key(_chunk_name(name, last_number))
        cursor.delete()
