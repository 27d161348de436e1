"""An index directory: one LMDB environment, its header, its one writing thread.

Durability is LMDB's own: every commit synchronises its data, the map is read-only. A killed process loses nothing that was
committed. A power cut cannot corrupt the index, but may undo its last commit.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import lmdb
import msgspec

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.header import FORMAT, Header, check_header, decode_header
from crawler_dedup.index.jobs import WRITE_SECONDS, wait_for
from crawler_dedup.index.layout import META
from crawler_dedup.index.lmdb import engine
from crawler_dedup.index.lmdb.committer import Committer
from crawler_dedup.index.lmdb.openfiles import OpenFiles
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials(__name__)

_T = TypeVar("_T")

_CLOSE_TIMEOUT = 10.0


class Environment:
    """An open index directory. Use :meth:`open`.

    LMDB forbids a process to open a file twice: closing one opening would release the locks of the other. So all openings
    of a directory in one process share one environment, and the class lists the environments that the process has open.
    The list is class state because LMDB's rule applies to the whole process.

    Attributes:
        meta: the database that holds the header.
    """

    meta: Any

    _shared: dict[Path, Environment] = {}  # noqa: RUF012  (environments that are open in this process, by directory)
    _left_open: list[Environment] = []  # noqa: RUF012  (environments that could not be closed: see _leave)
    _open_in_parent: set[Path] = set()  # noqa: RUF012  (directories that the parent had open when it forked this process)
    _lock = threading.Lock()  # held while any of them changes

    def __init__(self, directory: Path, map_size: int, *, readonly: bool) -> None:
        self.directory = directory
        self.readonly = readonly
        self._users = 0
        self._forked = False
        self._files = OpenFiles(directory, map_size, readonly=readonly)
        self._lmdb = self._files.env
        require, complete = self._files.require_intact, partial(engine.complete_file, self._lmdb, directory)
        self._committer = None if readonly else Committer(self._lmdb, self._explain, require, complete)

    @classmethod
    def open(cls, directory: Path, *, map_size: int, readonly: bool = False) -> Environment:
        """Open or create the environment in *directory*.

        Args:
            map_size: largest size of the file in bytes; set by the first of several openings in one process.
            readonly: only read, and create nothing. If this process has the directory open, share that environment.

        Raises:
            IndexMissing: it is to be opened *readonly*, and does not exist.
            IndexUnusable: it cannot be opened.
        """
        directory = directory.resolve()
        with cls._lock:
            if any(left.directory == directory and not left._files.is_gone for left in cls._left_open):
                raise IndexUnusable(
                    f"The index in {directory} could not be closed in this process, because another process held its lock:"
                    " open it in a new process."
                )
            if directory in cls._open_in_parent:
                raise IndexUnusable(
                    f"The index in {directory} is open in the parent process, and LMDB does not allow a forked child to open"
                    " it as well. Start the child without a fork (in multiprocessing: spawn), or do not open the index in"
                    " the parent before it forks."
                )
            environment = cls._shared.get(directory)
            if environment is not None:
                if environment.readonly and not readonly:
                    raise IndexUnusable(
                        f"The index in {directory} is open for reading in this process: close it first."
                    )
                environment._users += 1
                return environment
            environment = cls(directory, map_size, readonly=readonly)
            environment._users = 1
            try:
                environment._open_meta()
            except BaseException:
                environment._leave()
                raise
            cls._shared[directory] = environment
            return environment

    def close(self) -> None:
        """Close this opening; the last one of a process closes the files."""
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        self._users -= 1
        if self._users:
            return
        if self._shared.get(self.directory) is self:
            del self._shared[self.directory]
        if self._forked:
            return
        if self._committer is None or self._committer.close(_CLOSE_TIMEOUT):
            self._files.close()
        else:  # closing under a thread that waits inside LMDB would crash the process
            self._left_open.append(self)
            logger.warning(
                "The index in %s cannot be closed, because another process is writing to it: this process leaves it open.",
                self.directory,
            )

    def prepare(self, spec: Mapping[str, str], libraries: Mapping[str, str], *, fresh: bool) -> Header:
        """Write the header, or compare a stored header with it; return the stored header.

        Args:
            fresh: empty the index first, unless this process has it open already.

        Raises:
            IndexMismatch: the header has another spec.
            IndexUnusable: the index cannot be read or written.
        """
        header = Header(FORMAT, dict(spec), dict(libraries))
        stored = self.write(partial(self._write_header, header=header, fresh=fresh and self._users == 1))
        check_header(self.directory, stored, header)
        return stored

    def read_header(self) -> Header:
        """Read the header; raise :class:`IndexUnusable` where there is none."""
        with self.read() as txn:
            header = self.header_in(txn)
        if header is None:
            raise engine.no_index_error(self.directory)
        return header

    def header_in(self, txn: lmdb.Transaction) -> Header | None:
        """Read the header within a transaction; ``None`` where there is none."""
        stored = txn.get(engine.HEADER, db=self.meta)
        if stored is None:
            return None
        try:
            return decode_header(stored)
        except msgspec.DecodeError as error:
            raise engine.damaged_error(self.directory, error) from error

    def _write_header(self, txn: lmdb.Transaction, header: Header, fresh: bool) -> Header:
        """Empty the index if *fresh*; write *header* unless there is a header, and return the one that is stored then."""
        if fresh:
            stored = self.header_in(txn)
            for name in engine.database_names(txn):
                # Delete databases of another format, which may be of another kind; ours stay open in other processes.
                txn.drop(
                    self._lmdb.open_db(name, txn, create=False), delete=stored is not None and stored.format != FORMAT
                )
            self.meta = self._lmdb.open_db(META, txn)
        txn.put(engine.HEADER, msgspec.json.encode(header), db=self.meta, overwrite=False)
        return self.header_in(txn) or header

    @contextmanager
    def read(self) -> Iterator[lmdb.Transaction]:
        """Begin a read transaction, which sees what is committed now. LMDB's errors in it are converted to clear ones."""
        if self._forked:
            raise IndexUnusable(
                f"The index in {self.directory} was opened before this process was forked: open it only after the fork."
            )
        try:
            self._files.require_intact()
            with self._begin() as txn:
                yield txn
        except (lmdb.Error, msgspec.DecodeError) as error:
            raise self._explain(error) from error

    def _begin(self) -> lmdb.Transaction:
        try:
            return self._lmdb.begin(buffers=True)
        except lmdb.ReadersFullError:
            self._lmdb.reader_check()
            return self._lmdb.begin(buffers=True)

    def submit(self, job: Callable[[lmdb.Transaction], _T], *, urgent: bool = True) -> Future[_T]:
        """Run *job* in the next write transaction; the future is done once the transaction is on disk.

        A job that is not *urgent* waits a moment, to share the transaction of other jobs.
        """
        if self._committer is None:
            raise IndexUnusable("The index is open for reading only.")
        return self._committer.submit(job, urgent=urgent)

    def write(self, job: Callable[[lmdb.Transaction], _T], timeout: float = WRITE_SECONDS) -> _T:
        """Run *job* in the next write transaction and wait until the transaction is on disk.

        Raises:
            IndexUnusable: the transaction did not begin within *timeout* seconds; *job* is not run then.
        """
        return wait_for(self.submit(job), timeout, self.directory)

    def make_databases(self, make: Callable[[lmdb.Environment, lmdb.Transaction | None], _T]) -> _T:
        """Open databases by calling *make* with the environment and a write transaction.

        LMDB allows only one thread at a time to open databases, so the writing thread does it. An environment that is only
        read passes ``None`` as the transaction: databases opened in a read transaction would be closed at its end.

        Raises:
            IndexMissing: the environment is only read, and a database is missing.
        """
        if not self.readonly:
            return self.write(lambda txn: make(self._lmdb, txn))
        with self.read():  # enlarges the map if necessary; opening a database does not
            pass
        try:
            return make(self._lmdb, None)
        except lmdb.ReadonlyError as error:
            raise engine.no_index_error(self.directory) from error
        except lmdb.Error as error:
            raise self._explain(error) from error

    def _open_meta(self) -> None:
        if self.readonly:
            with self.read() as txn:
                self._read_names(txn)
            self.meta = self.make_databases(lambda env, txn: env.open_db(META, txn))
        else:
            self.write(self._make_meta)

    def _make_meta(self, txn: lmdb.Transaction) -> None:
        names = self._read_names(txn)
        self.meta = self._lmdb.open_db(META, txn)
        if (len(names) > 1 or txn.stat(self.meta)["entries"]) and self.header_in(txn) is None:
            raise self._other_database_error()

    def _read_names(self, txn: lmdb.Transaction) -> list[bytes]:
        """Return the names of all databases; raise :class:`IndexUnusable` if they are not the databases of an index."""
        names = engine.database_names(txn)
        if names and META not in names:
            raise self._other_database_error()
        return names

    def _other_database_error(self) -> IndexUnusable:
        return IndexUnusable(f"{self.directory} holds another LMDB database, not an index.")

    def _explain(self, error: Exception) -> Exception:
        return engine.explain(error, self._lmdb, self.directory)


def _after_fork() -> None:
    # LMDB's handles and the writing threads stay with the parent. LMDB refuses the child an index that the parent has
    # open, also when the parent has closed it since; without this function, the child would wait for a thread that it
    # does not have.
    for environment in (*Environment._shared.values(), *Environment._left_open):
        environment._files.close_in_child()
        environment._forked = True
        Environment._open_in_parent.add(environment.directory)
        # Never close it in the child, not even when nothing refers to it: closing would wait for ever for a thread that was
        # inside LMDB when the process forked.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(environment._lmdb))
    Environment._shared.clear()
    Environment._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
