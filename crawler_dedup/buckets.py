"""Key → payloads: the one index under every scheme.

A bucket holds all 8-byte payloads that were filed under one key of one scope. Buckets are LMDB duplicates of fixed
size (``DUPSORT | DUPFIXED``): they are read a page at a time, joined, and handed to numpy as one array.
"""

from __future__ import annotations

from collections.abc import Iterable

import lmdb
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_digest

_PAYLOAD = np.dtype("<u8")
_ENTRY = np.dtype([("key", "V16"), ("payload", _PAYLOAD)])


class Buckets:
    """Buckets in one LMDB database.

    Args:
        env: the open environment. It must have a free slot for the named database.
        txn: a write transaction; the database is made in it where it is not there.
        name: of the database.
    """

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction, name: bytes) -> None:
        self.db = env.open_db(name, txn, dupsort=True, dupfixed=True)

    def insert(self, txn: lmdb.Transaction, scope: str, keys: NDArray[np.uint64], payload: int) -> None:
        """File *payload* under each of *keys*; filing it twice changes nothing."""
        value = payload.to_bytes(8, "little")
        for key in _bucket_names(scope, keys):
            txn.put(key, value, db=self.db)

    def query(self, txn: lmdb.Transaction, scope: str, probes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """All payloads under any of *probes*, joined; one that stands under several comes several times."""
        with txn.cursor(db=self.db) as cursor:
            found = cursor.getmulti(_bucket_names(scope, probes), dupdata=True, dupfixed_bytes=8, keyfixed=True)
        return np.frombuffer(found, dtype=_ENTRY)["payload"].astype(np.uint64)

    def remove(self, txn: lmdb.Transaction, scope: str, keys: NDArray[np.uint64], payload: int) -> None:
        """Take *payload* out of the buckets of *keys*; where it does not stand nothing happens."""
        value = payload.to_bytes(8, "little")
        for key in _bucket_names(scope, keys):
            txn.delete(key, value, db=self.db)


def _bucket_names(scope: str, keys: NDArray[np.uint64]) -> Iterable[bytes]:
    """16 bytes each: the scope's hash, then the key, big-endian, so that a table's buckets lie together."""
    prefix = xxh3_64_digest(scope.encode("utf-8", "replace"))
    return [prefix + key.to_bytes(8, "big") for key in keys.tolist()]
