"""Locks on open files, and lock files that show that a process is alive: the system releases them, however that ends."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from crawler_dedup.system.files import opener


class LockFailed(OSError):
    """The system or the file system cannot lock a file."""


if sys.platform == "win32":
    import portalocker

    def lock(file: IO[Any], *, shared: bool) -> bool:
        """Lock *file*, exclusively or *shared*, without waiting; return ``False`` if another lock forbids it.

        Raises :class:`LockFailed`.
        """
        kind = portalocker.LockFlags.SHARED if shared else portalocker.LockFlags.EXCLUSIVE
        try:
            portalocker.lock(file, kind | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.AlreadyLocked:
            return False
        except portalocker.LockException as error:
            raise LockFailed(str(error)) from error
        return True

else:
    import fcntl

    def lock(file: IO[Any], *, shared: bool) -> bool:
        """Lock *file*, exclusively or *shared*, without waiting; return ``False`` if another lock forbids it.

        Raises :class:`LockFailed`.
        """
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise LockFailed(str(error)) from error
        return True


_CHECKS = 20  # processes that may check a new file before it is locked, so that it must be made again


class ProcessLock:
    """A new file that is locked until it is released or the process ends, however that happens."""

    _held: dict[Path, ProcessLock] = {}  # noqa: RUF012  (locks of this process: asking the file system takes longer)

    def __init__(self, path: Path) -> None:
        """Make the file and lock it.

        Raises :class:`FileExistsError` if the file exists or another process checks it at this moment, or :class:`OSError`.
        """
        self._path = path
        self._file = open(path, "x", opener=opener)  # noqa: SIM115  (open as long as it is held)
        try:
            is_ours = lock(self._file, shared=False) and path.stat().st_ino == os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            is_ours = False
        except OSError as error:
            self._file.close()
            raise OSError(f"{path} cannot be locked: {error}") from error
        if not is_ours:
            self._file.close()
            raise FileExistsError(path)
        self._held[path] = self

    @property
    def is_held(self) -> bool:
        """Whether this process still holds the lock."""
        return not self._file.closed

    def release(self) -> None:
        """Release the lock and remove the file. Idempotent."""
        if self.is_held:
            self._held.pop(self._path, None)
            self._file.close()
            with suppress(OSError):
                self._path.unlink(missing_ok=True)


def hold(path: Path) -> ProcessLock:
    """Return a lock on the new file *path*. Raises :class:`OSError`; :class:`FileExistsError` only if it is not new."""
    for _ in range(_CHECKS):
        with suppress(FileExistsError):
            return ProcessLock(path)
    raise FileExistsError(errno.EEXIST, "it exists already", str(path))


def is_held(path: Path, *, readonly: bool = False) -> bool | None:
    """Return whether a living process holds the :class:`ProcessLock` *path*; remove a file that nobody holds.

    ``None`` if this cannot be determined: the file belongs to another user, or this process has too many files open.

    Args:
        readonly: remove nothing.
    """
    try:
        return is_held_or_raise(path, readonly=readonly)
    except OSError:
        return None


def is_held_or_raise(path: Path, *, readonly: bool = False) -> bool:
    """Return what :func:`is_held` returns, but raise :class:`OSError`, also :class:`LockFailed`, in place of ``None``."""
    if path in ProcessLock._held:
        return True
    try:
        with path.open("r" if readonly else "r+") as file:
            if not lock(file, shared=True):
                return True
            # Remove it while it is locked: a process that makes the file again must not lose it.
            if not readonly:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
    except FileNotFoundError:
        return False
    if os.name == "nt" and not readonly:  # where an open file cannot be removed
        with suppress(OSError):
            path.unlink(missing_ok=True)
    return False


def _close_in_child() -> None:
    """Close the files in a forked child: while a child has them open, they stay locked after the parent's death."""
    for held in ProcessLock._held.values():
        held._file.close()
    ProcessLock._held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
