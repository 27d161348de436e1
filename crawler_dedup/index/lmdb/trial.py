"""Buckets without pages, in which look-ups are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from crawler_dedup.config import MAP_SIZE
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.environment import Environment

_SCOPE = 0

Query = Callable[[Iterable[int], "int | None"], Numbers]
"""Returns the signatures in the given buckets, from at most so many chunks of each bucket (``None``: from all)."""


class TrialIndex:
    """Signatures in the buckets of an index of pages, without the pages. Use :func:`open_trial`."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._buckets = environment.make_databases(lambda env, txn: Buckets(env, txn, b"tables"))

    def insert(self, keys: Numbers, signatures: Numbers) -> None:
        """File ``signatures[i]`` under ``keys[i]``; both are uint64, of shape (n,)."""
        self._environment.write(partial(self._buckets.insert_many, scope=_SCOPE, keys=keys, payloads=signatures))

    @contextmanager
    def reading(self) -> Iterator[Query]:
        """Yield a function that looks up signatures, in one state of the index."""
        with self._environment.read() as txn:
            yield partial(self._buckets.query, txn, _SCOPE)


@contextmanager
def open_trial() -> Iterator[TrialIndex]:
    """Open an empty :class:`TrialIndex` in a temporary directory, which is removed at the end."""
    with TemporaryDirectory() as directory:
        environment = Environment.open(Path(directory), map_size=MAP_SIZE)
        try:
            yield TrialIndex(environment)
        finally:
            environment.close()
