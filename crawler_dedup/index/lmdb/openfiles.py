"""The open files of an index, which must remain the files in the directory.

Two processes with different lock files would write at the same time, and what is written into a deleted file is lost. So it
is checked before each transaction that the files are the same. A file that is cut off while it is open is not noticed:
reading beyond its end kills the process, in a crawl a worker.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

import lmdb

from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.lmdb import engine
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

    def __init__(self, directory: Path, map_size: int, *, readonly: bool = False, alone: bool = False) -> None:
        """Open or create the files.

        Args:
            readonly: open them for reading, and create nothing.
            alone: open existing files, while nobody else has them open.

        Raises:
            IndexMissing: they are to be opened *readonly* or *alone*, and there is no data file.
            IndexUnusable: they cannot be opened.
        """
        self._directory = directory
        self.data_path, self._lock_path = directory / engine.DATA_FILE, directory / engine.LOCK_FILE
        try:
            with ExitStack() as opened:
                refuse_network(directory)
                if not readonly:
                    make_private_directory(directory)
                self._lock = SharedLock(directory, engine.DATA_FILE, readonly=readonly)
                opened.callback(self._lock.release)
                self._lock_file = (
                    self._join_to_read() if readonly else self._join_alone() if alone else self._join(map_size)
                )
                if self._lock_file is not None:
                    # After LMDB's own handle: closing any handle releases LMDB's locks on the file.
                    opened.callback(self._lock_file.close)
                self._identity = self._identify()
                self.env = engine.open_lmdb(directory, map_size, readonly=readonly, lock=self._lock_file is not None)
                opened.callback(self.env.close)
                self.require_intact()
                self.env.reader_check()
                self._opened = opened.pop_all()
        except lmdb.InvalidError as error:
            raise engine.damaged_error(directory, error) from error
        except (FileExistsError, NotADirectoryError) as error:
            raise engine.unusable_error(directory, "cannot be opened: that is no directory") from error
        except (OSError, lmdb.Error) as error:
            raise engine.unusable_error(directory, "cannot be opened", error) from error

    def _join(self, map_size: int) -> IO[bytes]:
        """Take the shared lock of the directory, and return LMDB's lock file, open; the first process creates the files."""
        for _ in range(2):  # the first process may have died before it had created all files
            if self._lock.acquire_exclusive():
                self._prepare(map_size)
            # Check the files only now: a compaction in between replaces the data file.
            self._join_others()
            missing = [str(path) for path in (self.data_path, self._lock_path) if not engine.is_filled(path)]
            if not missing:
                return self._open_lock_file()
        raise IndexUnusable(
            f"The index in {self._directory} is open in another process, but these files are missing or empty:"
            f" {', '.join(missing)}. End that process first: two processes that do not share their locks would damage the"
            " index."
        )

    def _join_alone(self) -> IO[bytes]:
        """Lock the directory of an existing index for this process alone, and return LMDB's lock file, open."""
        if not self._lock.acquire_exclusive():
            raise IndexUnusable(
                f"The index in {self._directory} is open in another process, or elsewhere in this one: close it there first."
            )
        if not engine.is_filled(self.data_path):
            raise engine.no_index_error(self._directory)
        engine.allocate_lock_file(self._lock_path)
        return self._open_lock_file()

    def _join_to_read(self) -> IO[bytes] | None:
        """Take the shared lock of the directory and return LMDB's lock file, open.

        Where that file is missing or may not be written, lock the directory for this process alone and return ``None``.
        """
        self._join_others()
        if not engine.is_filled(self.data_path):
            raise engine.no_index_error(self._directory)
        with suppress(OSError):  # the file or the file system may be read-only
            if engine.is_filled(self._lock_path):
                return self._open_lock_file()
        if not self._lock.acquire_exclusive():
            raise IndexUnusable(
                f"The index in {self._directory} is open in another process, and its lock file {self._lock_path} is missing"
                f" or may not be written by this user. Read it after that process has ended, or as"
                f" {owner_of(self.data_path)}."
            )
        return None

    def _join_others(self) -> None:
        if not self._lock.acquire_shared(_WAIT):
            raise IndexUnusable(
                f"The index in {self._directory} is being compacted, or checked for damage, by another process: try again"
                " later."
            )

    def _open_lock_file(self) -> IO[bytes]:
        return open(self._lock_path, "r+b", buffering=0)

    def _prepare(self, map_size: int) -> None:
        if self.data_path.exists() and not engine.is_filled(self.data_path):
            logger.warning("%s is empty: any earlier index is lost. A new index is created.", self.data_path)
        left_by_compaction = self._directory / engine.COPY_DIRECTORY
        shutil.rmtree(left_by_compaction, ignore_errors=True)  # it was killed
        engine.allocate_lock_file(self._lock_path)
        is_new = not self.data_path.exists()
        engine.open_lmdb(self._directory, map_size).close()
        if is_new:
            inherit_access(self.data_path, self._directory)

    @property
    def is_gone(self) -> bool:
        """Whether one of the files is no longer the one in the directory."""
        try:
            self.require_intact()
        except IndexGone:
            return True
        return False

    def require_intact(self) -> None:
        """Raise :class:`IndexGone` unless both files are still there."""
        try:
            identity = self._identify()
        except OSError as error:
            raise IndexGone(f"The index in {self._directory}, or its lock file, was deleted: {error}.") from error
        if identity != self._identity:
            raise IndexGone(f"The index in {self._directory} or its lock file was deleted or replaced.")

    def _identify(self) -> list[tuple[int, int]]:
        """Return what distinguishes the data file, and the lock file if one is used, from other files."""
        paths = [self.data_path] if self._lock_file is None else [self.data_path, self._lock_path]
        return [(status.st_dev, status.st_ino) for status in map(os.stat, paths)]

    def close(self) -> None:
        """Close the files. Nothing may use :attr:`env` any more."""
        self._opened.close()

    def close_in_child(self) -> None:
        """Close the locked files in a forked child: otherwise they stay locked after the parent's death."""
        self._lock.release()
        if self._lock_file is not None:
            self._lock_file.close()
