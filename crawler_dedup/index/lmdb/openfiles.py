"""The open files of an index, which must remain the files in the directory and must not become shorter.

LMDB reads its data and its lock file through maps. Reading a map behind the end of its file kills the process, and two
processes with different lock files write at the same time. So both files are checked before each transaction.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import lmdb

from crawler_dedup.errors import IndexDamaged, IndexGone, IndexUnusable
from crawler_dedup.index.lmdb.engine import (
    COPY_DIRECTORY,
    DATA_FILE,
    KEEP_MAP_SIZE,
    LOCK_FILE,
    allocate_lock_file,
    damaged_error,
    extend_file,
    file_length,
    no_index_error,
    open_lmdb,
    require_ours,
    require_pages,
    unusable_error,
)
from crawler_dedup.index.lmdb.locks import SharedLock, refuse_network
from crawler_dedup.system.files import inherit_access, make_private_directory, owner_of
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials(__name__)

_WAIT = 30.0
"""Seconds for which another process may hold the exclusive lock of an index."""


class OpenFiles:
    """LMDB's two files in a directory, open and checked.

    Attributes:
        data_path: path of the data file.
        env: LMDB's environment. Call :meth:`require_intact` before it is used. Once its map could not be moved, nothing
            may use it.
    """

    def __init__(self, directory: Path, map_size: int, *, readonly: bool = False) -> None:
        """Open or create the files.

        Args:
            readonly: open them for reading, and create nothing.

        Raises:
            IndexMissing: they are to be opened *readonly*, and there is no data file.
            IndexUnusable: they cannot be opened.
        """
        self._directory = directory
        self._readonly = readonly
        self.data_path, self._lock_path = str(directory / DATA_FILE), str(directory / LOCK_FILE)
        self._seen = 0, 0
        self._damage = ""
        try:
            refuse_network(directory)
            if not readonly:
                make_private_directory(directory)
            self._lock = SharedLock(directory, DATA_FILE, readonly=readonly)
        except OSError as error:
            raise _not_opened(directory, error) from error
        try:
            if readonly:
                self._lock_file = self._join_to_read()
            else:
                self._join(map_size)
                self._lock_file = self._open_lock_file()
            self._open_lmdb(map_size)
        except BaseException as error:
            self._lock.release()
            if isinstance(error, (OSError, lmdb.Error)):
                raise _not_opened(directory, error) from error
            raise

    def _join(self, map_size: int) -> None:
        """Take the shared lock of the directory; the first process creates missing files before that."""
        for _ in range(2):  # the first process may have died before it had created all files
            if self._lock.acquire_exclusive():
                self._prepare(map_size)
            # Check the files only now: a compaction in between replaces the data file.
            self._join_others()
            missing = [path for path in (self.data_path, self._lock_path) if not _is_filled(path)]
            if not missing:
                return
        raise IndexUnusable(
            f"The index in {self._directory} is open in another process, but {' and '.join(missing)} is missing or"
            " empty. End that process first: two that do not share their locks would damage the index."
        )

    def _join_to_read(self) -> IO[bytes] | None:
        """Take the shared lock of the directory and return LMDB's lock file, open.

        Where that file is missing or may not be written, lock the directory for this process alone and return ``None``.
        """
        self._join_others()
        if not _is_filled(self.data_path):
            raise no_index_error(self._directory)
        with suppress(OSError):  # the file or the file system may be read-only
            if _is_filled(self._lock_path):
                return self._open_lock_file()
        if not self._lock.acquire_exclusive():
            raise IndexUnusable(
                f"The index in {self._directory} is open in another process, and its lock file {self._lock_path} is missing"
                f" or may not be written by this user. Read it after that process has ended, or as"
                f" {owner_of(Path(self.data_path))}."
            )
        return None

    def _join_others(self) -> None:
        if not self._lock.acquire_shared(_WAIT):
            raise IndexUnusable(
                f"The index in {self._directory} is being compacted, or checked for damage, by another process."
            )

    def _open_lock_file(self) -> IO[bytes]:
        """Open LMDB's lock file. Close it after LMDB's own handle: closing any handle releases LMDB's locks on the file."""
        return open(self._lock_path, "r+b", buffering=0)

    def _prepare(self, map_size: int) -> None:
        if Path(self.data_path).exists() and not _is_filled(self.data_path):
            logger.warning("%s is empty: any earlier index is lost. A new index is created.", self.data_path)
        shutil.rmtree(self._directory / COPY_DIRECTORY, ignore_errors=True)  # left by a compaction that was killed
        allocate_lock_file(Path(self._lock_path))
        is_new = not Path(self.data_path).exists()
        with open_lmdb(self._directory, map_size) as env:
            extend_file(env, self._directory)
        if is_new:
            inherit_access(Path(self.data_path), self._directory)

    def _open_lmdb(self, map_size: int) -> None:
        try:
            data, lock = self._read_status()
            self._identity = _identity(data), _identity(lock)
            has_lock_file = self._lock_file is not None
            self.env = open_lmdb(self._directory, map_size, readonly=self._readonly, lock=has_lock_file)
        except BaseException:
            if self._lock_file is not None:
                self._lock_file.close()
            raise
        try:
            self.require_intact()
            require_pages(self.env, self._directory)
            self.env.reader_check()
        except BaseException:
            self._close_files()
            raise

    @property
    def is_gone(self) -> bool:
        """Whether one of the files is no longer the one in the directory, or LMDB's locks are lost."""
        try:
            self.require_intact()
        except IndexGone:
            return True
        except IndexDamaged:
            pass
        return False

    def require_intact(self) -> None:
        """Raise an error unless both files are still there and as long as before. A sound file never becomes shorter.

        Raises:
            IndexGone: a file was deleted or replaced, or the lock file was cut off.
            IndexDamaged: the data file was cut off, now or earlier: it may have grown since then, but with other content.
        """
        seen_data, seen_lock = self._seen  # read first: another thread may see a longer file meanwhile
        try:
            data, lock = self._read_status()
        except OSError as error:
            raise IndexGone(f"The index in {self._directory}, or its lock file, was deleted: {error}.") from error
        if (_identity(data), _identity(lock)) != self._identity:
            raise IndexGone(f"The index in {self._directory} or its lock file was deleted or replaced.")
        if data.st_size < seen_data and not self._damage:
            self._damage = f"{DATA_FILE} was cut off from {seen_data:,} to {data.st_size:,} bytes while it was open"
        if self._damage:
            raise damaged_error(self._directory, self._damage)
        if lock.st_size < seen_lock:
            raise IndexGone(f"The lock file of the index in {self._directory} was cut off.")
        if data.st_size > seen_data or lock.st_size > seen_lock:
            self._seen = data.st_size, lock.st_size

    def _read_status(self) -> tuple[os.stat_result, os.stat_result]:
        """Return the status of the data file and of the lock file; the first one twice if no lock file is used."""
        data = os.stat(self.data_path)
        return data, data if self._lock_file is None else os.stat(self._lock_path)

    def make_extend_job(self) -> Callable[[lmdb.Transaction], None] | None:
        """Return a job that makes the data file as long as LMDB says, after a commit that has not written its last page.

        Otherwise the next opening must search for every page, to distinguish the file from one that was cut off.
        """
        self.require_intact()  # even if nothing is to be done: file_length makes LMDB read the file
        return self._extend if self._seen[0] < file_length(self.env) else None

    def _extend(self, _: lmdb.Transaction) -> None:
        """Make the data file as long as LMDB says, in a write transaction: no other process makes it longer meanwhile."""
        length = file_length(self.env)
        if self._seen[0] < length:
            os.truncate(self.data_path, length)

    def close(self) -> None:
        """Close the files. Nothing may use :attr:`env` any more."""
        self._close_files()
        self._lock.release()

    def _close_files(self) -> None:
        if self._lock_file is None:
            self.env.close()
        else:
            self._lengthen_lock_file(self._lock_file)
            self.env.close()
            self._lock_file.close()

    def _lengthen_lock_file(self, file: IO[bytes]) -> None:
        """Make the lock file as long as it was: LMDB writes into its map once more when it is closed."""
        if file.closed or os.fstat(file.fileno()).st_size >= self._seen[1]:
            return  # closed in a forked child: its parent does this
        with suppress(OSError):
            if _identity(os.stat(self._lock_path)) == self._identity[1]:
                os.unlink(self._lock_path)  # no process may mistake the zeros for locks
        file.truncate(self._seen[1])

    def close_in_child(self) -> None:
        """Close the locked files in a forked child: otherwise they stay locked after the parent's death."""
        self._lock.release()
        if self._lock_file is not None:
            self._lock_file.close()


@contextmanager
def open_alone(directory: Path) -> Iterator[lmdb.Environment]:
    """Open the LMDB environment of an existing index for the caller alone.

    Raises:
        IndexUnusable: the index is open elsewhere, cannot be opened, or is no index.
    """
    refuse_network(directory)
    try:
        lock = SharedLock(directory, DATA_FILE)
    except OSError as error:
        raise _not_opened(directory, error) from error
    try:
        try:
            if not lock.acquire_exclusive():
                raise IndexUnusable(f"The index in {directory} is open in another process: end that process first.")
            env = open_lmdb(directory, KEEP_MAP_SIZE)
        except (OSError, lmdb.Error) as error:
            raise _not_opened(directory, error) from error
        with env:
            extend_file(env, directory)
            require_ours(env, directory)
            yield env
    finally:
        lock.release()


def _not_opened(directory: Path, error: Exception) -> IndexUnusable:
    if isinstance(error, lmdb.InvalidError):
        return damaged_error(directory, error)
    return unusable_error(directory, "cannot be opened", error)


def _is_filled(path: str) -> bool:
    with suppress(FileNotFoundError):
        return os.stat(path).st_size > 0
    return False


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


class Readers:
    """The read transactions of a process, counted so that the files are not closed while any is open.

    Args:
        require: raises an error if the files must not be used; called before each transaction.

    Attributes:
        count: number of open transactions.
        has_lost_map: whether the files are no longer mapped, so that nothing may use them.
    """

    def __init__(self, files: OpenFiles, require: Callable[[], None], *, readonly: bool) -> None:
        self._files = files
        self._require = require
        self._readonly = readonly
        self._counting = threading.Lock()
        self.count = 0
        self.has_lost_map = False

    @contextmanager
    def begin(self) -> Iterator[lmdb.Transaction]:
        """Begin a transaction, which sees what is committed now."""
        with self._counting:
            self.count += 1  # from here on the files are not closed
        try:
            self._require()
            with self._begin() as txn:
                yield txn
        finally:
            with self._counting:
                self.count -= 1

    def _begin(self) -> lmdb.Transaction:
        env = self._files.env
        try:
            return env.begin(buffers=True)
        except lmdb.ReadersFullError:
            env.reader_check()
        except lmdb.MapResizedError:
            self._enlarge_map()
        return env.begin(buffers=True)

    def _enlarge_map(self) -> None:
        """Enlarge the map to read what another process with a larger map has written; a writing process keeps its limit.

        If this process has another transaction open, the map cannot be moved and stays as it is.
        """
        with self._counting:
            if self._readonly and self.count == 1:
                try:
                    self._files.env.set_mapsize(2 * os.stat(self._files.data_path).st_size)
                except lmdb.Error:
                    self.has_lost_map = True
                    raise
