"""The pages of an index directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import lmdb

from crawler_dedup.index.header import Header, check_header
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb.engine import KEEP_MAP_SIZE, disk_bytes
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.locks import lock_file, remove_dead_locks
from crawler_dedup.index.lmdb.storage import Databases, DirectoryStorage
from crawler_dedup.index.runs import Run
from crawler_dedup.index.storage import NO_NEEDS, Needs
from crawler_dedup.index.transaction import Transaction

_T = TypeVar("_T")


class DirectoryIndex(Index):
    """The pages of one index directory. Use :meth:`open` or :meth:`attach`.

    Attributes:
        directory: the directory of the index.
        environment: the open files of the index.
        databases: the databases in them.
    """

    def __init__(self, environment: Environment, header: Header) -> None:
        super().__init__(header, environment.directory)
        self.environment = environment
        self.directory = environment.directory
        self.databases = environment.make_databases(Databases)

    @classmethod
    def open(
        cls, directory: Path, spec: Mapping[str, str], libraries: Mapping[str, str], *, map_size: int, fresh: bool
    ) -> DirectoryIndex:
        """Open or create the index in *directory*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions to write into a new header; if a stored header has others, a warning is logged.
            fresh: empty the index first, unless this process has it open already.

        Raises:
            IndexMismatch: the header has another *spec*.
            IndexUnusable: it cannot be opened.
        """
        environment = Environment.open(directory, map_size=map_size)
        try:
            return cls(environment, environment.prepare(spec, libraries, fresh=fresh))
        except BaseException:
            environment.close()
            raise

    @classmethod
    def attach(
        cls, directory: Path, spec: Mapping[str, str] | None = None, *, readonly: bool = False
    ) -> DirectoryIndex:
        """Open an existing index of pages.

        Args:
            spec: what signatures depend on; must equal the header's. ``None``: it may be anything.
            readonly: nothing in it is changed, so that this user need not be allowed to write it. Methods that write raise
                :class:`IndexUnusable`, unless this process also has the index open to write.

        Raises:
            IndexMissing: there is no index.
            IndexMismatch: the header has another *spec*, format or kind.
            IndexUnusable: it cannot be opened.
        """
        environment = Environment.open(directory, map_size=KEEP_MAP_SIZE, readonly=readonly)
        try:
            header = environment.read_header()
            check_header(environment.directory, header, header.expected(spec))
            return cls(environment, header)
        except BaseException:
            environment.close()
            raise

    @property
    def stored_bytes(self) -> int:
        return disk_bytes(self.directory)

    def close(self) -> None:
        """Close this opening of the index; the last one of a process closes the files."""
        self.environment.close()

    def join_run(self, number: int, offset: float | None = None) -> Run:
        remove_dead_locks(self.directory)
        return Run(number, offset, str(lock_file(self.directory, number)))

    def _submit(self, job: Callable[[Transaction], _T], *, urgent: bool = True, needs: Needs = NO_NEEDS) -> Future[_T]:  # noqa: ARG002
        # What it needs is not read ahead: reading costs no round trips.
        return self.environment.submit(lambda txn: job(self.transaction_in(txn)), urgent=urgent)

    @contextmanager
    def _read(self) -> Iterator[Transaction]:
        with self.environment.read() as txn:
            yield self.transaction_in(txn)

    def transaction_in(self, txn: lmdb.Transaction) -> Transaction:
        """Return the transaction of the index that reads and writes by *txn*."""
        return self._make_transaction(DirectoryStorage(self.databases, txn, self.environment))
