"""An index directory with signatures alone, to test LMDB and its buckets without pages."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import SupportsInt

import lmdb
import numpy as np

from crawler_dedup import IndexUnusable, permutedtables
from crawler_dedup.config import MAP_SIZE
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.layout import SIGNATURES
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.inspection.verification import tally, tally_chunks

_SCOPE = 0
_FIRST_TABLE = 1 << 40
"""The keys of the first table are below."""

Signatures = int | Iterable[SupportsInt]


class SignatureIndex:
    """The tables of a crawl's index in a directory, filled with signatures of no page."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._buckets = environment.make_databases(lambda env, txn: Buckets(env, txn, SIGNATURES))

    @classmethod
    def open(cls, directory: str | Path, map_size: int = MAP_SIZE) -> SignatureIndex:
        environment = Environment.open(Path(directory), map_size=map_size)
        try:
            environment.prepare({"scheme": "signatures"}, {}, fresh=False)
            return cls(environment)
        except BaseException:
            environment.close()
            raise

    def insert(self, signatures: Signatures) -> int:
        """Insert *signatures* in one transaction, and return how many were new."""
        return self.submit(signatures).result()

    def submit(self, signatures: Signatures) -> Future[int]:
        """Insert *signatures* as :meth:`insert` does, without waiting."""
        return self.environment.submit(partial(self._insert, signatures=_as_set(signatures)))

    def remove(self, signatures: Signatures) -> int:
        """Remove *signatures* in one transaction, and return how many there were."""
        return self.environment.submit(partial(self._remove, signatures=_as_set(signatures))).result()

    def query(self, signature: int, max_distance: int = 3) -> list[int]:
        """Return every signature within *max_distance*, nearest first."""
        with self.environment.read() as txn:
            filed = self._buckets.query(txn, _SCOPE, permutedtables.probes(signature, max_distance))
        return permutedtables.near(signature, filed, max_distance)

    def held(self) -> list[int]:
        """Return the signatures of the first table, in ascending order; a signature that is there twice, twice."""
        with self.environment.read() as txn:
            return sorted(number for numbers in self._first_table(txn) for number in numbers.tolist())

    def verify(self) -> list[str]:
        """Return the faults of the index: the tables are damaged, or do not have the same signatures."""
        try:
            with self.environment.read() as txn:
                filed = tally_chunks(self._buckets.chunks(txn))
            held = self.held()
        except IndexUnusable as error:
            return [str(error)]
        entries = [(key, signature) for signature in held for key in permutedtables.keys(signature)]
        keys, payloads = np.array(entries, dtype=np.uint64).reshape(-1, 2).T
        expected = tally(_SCOPE, keys, payloads) if entries else np.zeros(2, dtype=np.uint64)
        sound = filed.tolist() == expected.tolist() and len(held) == len(set(held))
        return [] if sound else ["The tables differ."]

    def __len__(self) -> int:
        return len(self.held())

    def close(self) -> None:
        self.environment.close()

    def __enter__(self) -> SignatureIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _has(self, txn: lmdb.Transaction, signature: int) -> bool:
        return bool((self._buckets.query(txn, _SCOPE, permutedtables.probes(signature, 0)) == signature).any())

    def _insert(self, txn: lmdb.Transaction, signatures: set[int]) -> int:
        new = [signature for signature in sorted(signatures) if not self._has(txn, signature)]
        for signature in new:
            self._buckets.insert(txn, _SCOPE, permutedtables.keys(signature), signature)
        return len(new)

    def _remove(self, txn: lmdb.Transaction, signatures: set[int]) -> int:
        present = [signature for signature in sorted(signatures) if self._has(txn, signature)]
        for signature in present:
            self._buckets.remove(txn, _SCOPE, permutedtables.keys(signature), signature)
        return len(present)

    def _first_table(self, txn: lmdb.Transaction) -> Iterable[Numbers]:
        return (numbers for _, key, numbers in self._buckets.chunks(txn) if key < _FIRST_TABLE)


def _as_set(signatures: Signatures) -> set[int]:
    return {signatures} if isinstance(signatures, int) else {int(signature) for signature in signatures}
