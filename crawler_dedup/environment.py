"""An index directory: one LMDB environment, its header, its one writing thread.

Durability is LMDB's own: every commit is an fsync, the map is read-only. A killed process loses nothing that was
committed, and a power cut cannot corrupt the index.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lmdb
import msgspec

from crawler_dedup.committer import Committer
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.filesystem import Presence, refuse_network
from crawler_dedup.header import FORMAT, Header, check

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_GIB = 1 << 30
MAP_SIZE = 4 * _GIB if os.name == "nt" else 1024 * _GIB
"""Default size of the map. On Linux and macOS it is sparse and costs address space only; Windows allocates the file."""

_OPEN_TIMEOUT = 30.0
_CLOSE_TIMEOUT = 10.0
_FULL = 1 << 16
_DAMAGE = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError)
_DATABASES = 8
_READERS = 1024
_LOCK_FILE = "lock.mdb"
FILE = "data.mdb"
COPY = "compacting"
"""Where a compaction writes."""


class Environment:
    """One open index directory. Use :meth:`open`; all openings of a directory in one process share it."""

    _open: dict[Path, Environment] = {}  # noqa: RUF012  (LMDB allows one opening per process: here it is shared)
    _left_open: list[Environment] = []  # noqa: RUF012
    _lock = threading.Lock()

    def __init__(self, directory: Path, map_size: int) -> None:
        self.directory = directory
        self.map_size = map_size
        self._users = 0
        try:
            refuse_network(directory)
            directory.mkdir(parents=True, exist_ok=True)
            self._presence = Presence(directory)
        except OSError as error:
            raise self._unusable("cannot be opened", error) from error
        try:
            self._lmdb = self._open_lmdb()
        except BaseException as error:
            self._presence.leave()
            if isinstance(error, (OSError, lmdb.Error)):
                raise self._unusable("cannot be opened", error) from error
            raise
        self._committer = Committer(self._lmdb, self._explain)

    def _open_lmdb(self) -> lmdb.Environment:
        if self._presence.alone():
            shutil.rmtree(self.directory / COPY, ignore_errors=True)  # of a compaction that was killed
            _allocate(self.directory / _LOCK_FILE)
            with _lmdb_open(self.directory, self.map_size) as env:
                _fill_up(env, self.directory / FILE)
        # Only now: a compaction may come between, and it puts another file in the place of this one.
        if not self._presence.share(_OPEN_TIMEOUT):
            raise IndexUnusable(f"The index in {self.directory} is being compacted by another process.")
        env = _lmdb_open(self.directory, self.map_size)
        env.reader_check()
        return env

    @classmethod
    def open(cls, directory: Path, *, map_size: int) -> Environment:
        """Open or create the environment in *directory*.

        Raises:
            IndexUnusable: it cannot be opened.
        """
        directory = directory.resolve()
        with cls._lock:
            environment = cls._open.get(directory)
            if environment is not None:
                environment._users += 1
                return environment
            environment = cls(directory, map_size)
            environment._users = 1
            try:
                environment.write(environment._open_meta)
            except BaseException:
                environment._leave()
                raise
            cls._open[directory] = environment
            return environment

    @classmethod
    @contextmanager
    def alone(cls, directory: Path) -> Iterator[lmdb.Environment]:
        """The LMDB environment in *directory*, for nobody but the caller. Raises as :meth:`open`."""
        directory = directory.resolve()
        with cls._lock:
            if directory in cls._open:
                raise IndexUnusable(f"The index in {directory} is open elsewhere in this process.")
            presence = Presence(directory)
            try:
                if not presence.alone():
                    raise IndexUnusable(f"The index in {directory} is open in another process: end that first.")
                try:
                    env = _lmdb_open(directory, MAP_SIZE)
                except lmdb.Error as error:
                    raise unusable(directory, "cannot be opened", error) from error
                with env:
                    _fill_up(env, directory / FILE)
                    yield env
            finally:
                presence.leave()

    def close(self) -> None:
        """Give it up; the last user closes it for the process."""
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        self._users -= 1
        if self._users:
            return
        self._open.pop(self.directory, None)
        if self._committer.close(_CLOSE_TIMEOUT):
            self._lmdb.close()
            self._presence.leave()
        else:  # closing under a thread that waits inside LMDB would crash the process
            self._left_open.append(self)
            logger.warning("The index in %s is locked by another process; it was left open.", self.directory)

    @property
    def shared(self) -> bool:
        """Whether there are other users of it in this process."""
        return self._users > 1

    def prepare(self, kind: str, spec: Mapping[str, str], libraries: Mapping[str, str], *, fresh: bool) -> Header:
        """Write the header, or hold an existing one against ours.

        Args:
            fresh: empty the index first, unless this process has it open already.

        Raises:
            IndexMismatch: the header has another kind or spec.
            IndexUnusable: it cannot be read or written.
        """
        if fresh and not self.shared:
            self.write(self._empty)
        header = Header(FORMAT, dict(spec), dict(libraries), kind)
        stored = self.stored_header()
        if stored is None:
            # Another process may have been faster: what stands there then is checked like any other.
            stored = self.write(lambda txn: self._put_header(txn, header))
        check(self.directory, stored, header)
        return stored

    def stored_header(self) -> Header | None:
        """The header that stands in the index; ``None`` where there is none."""
        with self.read() as txn:
            return self.header_in(txn)

    def existing_header(self) -> Header:
        """As :meth:`stored_header`; raises :class:`IndexUnusable` where there is none."""
        header = self.stored_header()
        if header is None:
            raise IndexUnusable(f"There is no index in {self.directory}.")
        return header

    def header_in(self, txn: lmdb.Transaction) -> Header | None:
        """As :meth:`stored_header`, within a transaction."""
        stored = txn.get(b"header", db=self.meta)
        if stored is None:
            return None
        try:
            return msgspec.json.decode(stored, type=Header)
        except msgspec.DecodeError as error:
            raise IndexUnusable(f"The header of the index in {self.directory} cannot be read: {error}") from error

    @contextmanager
    def read(self) -> Iterator[lmdb.Transaction]:
        """A read transaction: what was committed when it began. What LMDB raises in it becomes a clear error."""
        try:
            try:
                txn = self._lmdb.begin(buffers=True)
            except lmdb.ReadersFullError:
                self._lmdb.reader_check()
                txn = self._lmdb.begin(buffers=True)
            with txn:
                yield txn
        except lmdb.Error as error:
            raise self._explain(error) from error

    def submit(self, job: Callable[[lmdb.Transaction], _T]) -> Future[_T]:
        """Run *job* in the next write transaction; its future is done once that is on disk."""
        return self._committer.submit(job)

    def write(self, job: Callable[[lmdb.Transaction], _T]) -> _T:
        """Run *job* in the next write transaction and wait, for the lock not longer than a time limit."""
        future = self.submit(job)
        try:
            return future.result(_OPEN_TIMEOUT)
        except FutureTimeout:
            if future.cancel():
                raise IndexUnusable(f"The index in {self.directory} is locked by another process.") from None
            return future.result()

    def databases(self, make: Callable[[lmdb.Environment, lmdb.Transaction], _T]) -> _T:
        """Open databases: *make* gets the environment and a write transaction.

        LMDB wants that done by one thread at a time, so it is the writing one that does it.
        """
        return self.write(lambda txn: make(self._lmdb, txn))

    def figures(self) -> dict[str, int]:
        """The file in bytes (``file``, of which ``disk`` are taken) and pages (``page`` bytes each; ``pages``, of which
        ``used`` hold something), and the number of ``readers``."""
        file = (self.directory / FILE).stat()
        info, main = self._lmdb.info(), self._lmdb.stat()
        used = self.write(self._used_pages)
        return {
            "file": file.st_size,
            "disk": getattr(file, "st_blocks", 0) * 512 or file.st_size,
            "page": main["psize"],
            "pages": info["last_pgno"] + 1,
            "used": used + _pages(main) + 2,
            "readers": len(self._lmdb.readers().splitlines()) - 1,
        }

    def _used_pages(self, txn: lmdb.Transaction) -> int:
        return sum(_pages(txn.stat(database)) for database in self._all_databases(txn))

    def _open_meta(self, txn: lmdb.Transaction) -> None:
        self.meta = self._lmdb.open_db(b"meta", txn)

    def _all_databases(self, txn: lmdb.Transaction) -> list[Any]:
        with txn.cursor() as cursor:
            names = [bytes(name) for name, _ in cursor]
        return [self._lmdb.open_db(name, txn, create=False) for name in names]

    def _put_header(self, txn: lmdb.Transaction, header: Header) -> Header:
        txn.put(b"header", msgspec.json.encode(header), db=self.meta, overwrite=False)
        return self.header_in(txn) or header

    def _empty(self, txn: lmdb.Transaction) -> None:
        header = self.header_in(txn)
        for database in self._all_databases(txn):
            # Databases of another format may be of another kind; those of ours stay open in other processes.
            txn.drop(database, delete=header is not None and header.format != FORMAT)
        self._open_meta(txn)

    def _explain(self, error: Exception) -> Exception:
        if isinstance(error, lmdb.MapFullError):
            return self._unusable(f"is full: its map has {self.map_size} bytes (DEDUP_MAP_SIZE)")
        if isinstance(error, lmdb.MapResizedError):
            return self._unusable(f"has outgrown our map of {self.map_size} bytes (DEDUP_MAP_SIZE)")
        if isinstance(error, lmdb.DiskError) or (isinstance(error, lmdb.Error) and self._disk_is_full()):
            return self._unusable("cannot be written: the disk is full")
        if isinstance(error, (*_DAMAGE, msgspec.DecodeError)):
            return self._unusable("is damaged", error)
        if isinstance(error, (OSError, lmdb.Error)):
            return self._unusable("cannot be read or written", error)
        return error

    def _disk_is_full(self) -> bool:
        """LMDB calls a page of which only a part could be written an input/output error."""
        return shutil.disk_usage(self.directory).free < _FULL

    def _unusable(self, what: str, error: Exception | None = None) -> IndexUnusable:
        return unusable(self.directory, what, error)


def unusable(directory: Path, what: str, error: Exception | None = None) -> IndexUnusable:
    """An error that says *what* is with the index in *directory*, with the reason and ways out."""
    ways_out = ""
    if isinstance(error, _DAMAGE):
        ways_out = " Ways out: an export or copy of it, or another directory (DEDUP_DIR)."
    return IndexUnusable(f"The index in {directory} {what}{f': {error}' if error else ''}.{ways_out}")


def _lmdb_open(directory: Path, map_size: int) -> lmdb.Environment:
    return lmdb.open(
        str(directory),
        map_size=map_size,
        max_dbs=_DATABASES,
        max_readers=_READERS,
        metasync=True,
        sync=True,
        readahead=False,  # a look-up reads scattered pages: what lies around them is of no use
    )


def _allocate(lock_file: Path) -> None:
    """Take the room of LMDB's lock file now: it is sparse, and on a full disk writing to its map kills the process."""
    if hasattr(os, "posix_fallocate"):
        with lock_file.open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, 64 * _READERS + 4096)


def _fill_up(env: lmdb.Environment, file: Path) -> None:
    """Make a truncated file as long as it says it is.

    Reading behind its end would kill the process (SIGBUS); zeros are found by LMDB, which says that the index is
    damaged. A sound file can be shorter too: the last pages may be free ones.
    """
    length = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    if file.stat().st_size < length:
        os.truncate(file, length)


def _pages(stat: Any) -> int:
    return int(stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"])


def _after_fork() -> None:
    # LMDB's handles and the writing threads stay with the parent. LMDB refuses the child an index that the parent has
    # open; without this, the child would wait for a thread that it does not have.
    for environment in Environment._open.values():
        environment._presence.leave()
    Environment._open.clear()
    Environment._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
