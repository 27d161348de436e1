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
from crawler_dedup.errors import IndexMismatch, IndexUnusable
from crawler_dedup.filesystem import Presence, refuse_network

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

FORMAT = 2
"""Version of the layout of the databases."""

_GIB = 1 << 30
MAP_SIZE = 4 * _GIB if os.name == "nt" else 1024 * _GIB
"""Default size of the map. On Linux and macOS it is sparse and costs address space only; Windows allocates the file."""

_OPEN_TIMEOUT = 30.0
_CLOSE_TIMEOUT = 10.0
_DATABASES = 8
_READERS = 1024
_FILE = "data.mdb"
_COPY = "compacting"


class Header(msgspec.Struct, frozen=True):
    """What an index is, written when it is created.

    Attributes:
        format: version of the layout.
        spec: what signatures depend on; must equal ours.
        libraries: versions that are noted; others are only warned about.
        kind: "pages" (:class:`~crawler_dedup.store.Store`) or "signatures"
            (:class:`~crawler_dedup.permuted.PermutedIndex`).
    """

    format: int
    spec: dict[str, str]
    libraries: dict[str, str]
    kind: str = "pages"


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
            shutil.rmtree(self.directory / _COPY, ignore_errors=True)  # of a compaction that was killed
            with self._lmdb_open() as env:
                _fill_up(env, self.directory / _FILE)
        # Only now: a compaction may come between, and it puts another file in the place of this one.
        if not self._presence.share(_OPEN_TIMEOUT):
            raise IndexUnusable(f"The index in {self.directory} is being compacted by another process.")
        env = self._lmdb_open()
        env.reader_check()
        return env

    def _lmdb_open(self) -> lmdb.Environment:
        return lmdb.open(
            str(self.directory),
            map_size=self.map_size,
            max_dbs=_DATABASES,
            max_readers=_READERS,
            metasync=True,
            sync=True,
        )

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
        self.check(stored, header)
        return stored

    def check(self, theirs: Header, ours: Header) -> None:
        """Raise :class:`IndexMismatch` where *theirs* cannot be used with *ours*; warn about other libraries."""
        differences = _differences(_identity(theirs), _identity(ours))
        if differences:
            raise IndexMismatch(str(self.directory), differences)
        for name, (then, now) in _differences(theirs.libraries, ours.libraries).items():
            logger.warning(
                "The index in %s was made with %s %s, this is %s: signatures of one text may differ a little.",
                self.directory,
                name,
                then,
                now,
            )

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
        file = (self.directory / _FILE).stat()
        info, main = self._lmdb.info(), self._lmdb.stat()
        used = self.write(self._used_pages)
        return {
            "file": file.st_size,
            "disk": getattr(file, "st_blocks", 0) * 512 or file.st_size,
            "page": main["psize"],
            "pages": info["last_pgno"] + 1,
            "used": used + _pages(main) + 2,
            "readers": info["num_readers"],
        }

    def _used_pages(self, txn: lmdb.Transaction) -> int:
        return sum(_pages(txn.stat(database)) for database in self._all_databases(txn))

    @classmethod
    def compact(cls, directory: Path, *, map_size: int) -> tuple[int, int]:
        """Write the index in *directory* anew without what is free in it; returns its bytes before and after.

        Raises:
            IndexUnusable: it is open elsewhere, or cannot be written.
        """
        environment = cls.open(directory, map_size=map_size)
        try:
            return environment._compact()
        finally:
            environment.close()

    def _compact(self) -> tuple[int, int]:
        if self.shared:
            raise IndexUnusable(f"The index in {self.directory} is open elsewhere in this process.")
        if not self._presence.alone():
            raise IndexUnusable(f"The index in {self.directory} is open in another process: end that first.")
        data, copy = self.directory / _FILE, self.directory / _COPY
        before = data.stat().st_size
        try:
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir()
            self._lmdb.copy(str(copy), compact=True)
            _sync(copy / _FILE)
            self._committer.close(_CLOSE_TIMEOUT)
            self._lmdb.close()
            (copy / _FILE).replace(data)
            _sync(self.directory)
        except (OSError, lmdb.Error) as error:
            raise self._unusable("cannot be compacted", error) from error
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        return before, data.stat().st_size

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
            return self._unusable(f"is full: its map has {self.map_size} bytes (DEDUP_MAP_SIZE)", None)
        if isinstance(error, lmdb.MapResizedError):
            return self._unusable(f"has outgrown our map of {self.map_size} bytes (DEDUP_MAP_SIZE)", None)
        if isinstance(error, lmdb.DiskError):
            return self._unusable("cannot be written: the disk is full", None)
        if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError, msgspec.DecodeError)):
            return self._unusable("is damaged", error)
        if isinstance(error, (OSError, lmdb.Error)):
            return self._unusable("cannot be read or written", error)
        return error

    def _unusable(self, what: str, error: Exception | None) -> IndexUnusable:
        ways_out = ""
        if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError)):
            ways_out = (
                " Ways out: `crawler-dedup index verify`, a copy, or a new one (DEDUP_FRESH, or another DEDUP_DIR)."
            )
        return IndexUnusable(f"The index in {self.directory} {what}{f': {error}' if error else ''}.{ways_out}")


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


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _identity(header: Header) -> dict[str, str]:
    return {"format": str(header.format), "kind": header.kind, **header.spec}


def _differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    names = [*theirs, *(name for name in ours if name not in theirs)]
    return {name: (theirs.get(name), ours.get(name)) for name in names if theirs.get(name) != ours.get(name)}


def _after_fork() -> None:
    # LMDB's handles and the writing threads stay with the parent. LMDB refuses the child an index that the parent has
    # open; without this, the child would wait for a thread that it does not have.
    for environment in Environment._open.values():
        environment._presence.leave()
    Environment._open.clear()
    Environment._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
