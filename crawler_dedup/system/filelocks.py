"""Locks on open files, which the system releases when the file is closed or the process ends, however that happens."""

from __future__ import annotations

import errno
import sys
from typing import IO, Any


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

    def unlock(file: IO[Any]) -> None:
        """Release the lock on *file*."""
        portalocker.unlock(file)

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

    def unlock(file: IO[Any]) -> None:
        """Release the lock on *file*."""
        fcntl.flock(file, fcntl.LOCK_UN)
