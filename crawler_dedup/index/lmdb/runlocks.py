"""The lock files that the runs of an index directory hold while they are alive."""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.runs import Run
from crawler_dedup.system.filelocks import LockFailed, ProcessLock, hold, is_held, is_held_or_raise
from crawler_dedup.system.files import owner_of

_LOCK_FILE = "run-{}.lock"
_REMEMBERED = 64  # paths of lock files: each transaction checks whether runs are alive


class RunLock(Run):
    """A new run, which keeps a file locked until it ends."""

    def __init__(self, directory: Path) -> None:
        """Begin a run.

        Raises:
            OSError: the lock file cannot be created.
            IndexUnusable: the lock file of another run may not be opened.
        """
        super().__init__(secrets.randbits(32) or 1)
        remove_dead_locks(directory)
        self._file: ProcessLock = hold(lock_file(directory, self.number))

    @property
    def is_held(self) -> bool:
        return self._file.is_held

    def release(self) -> None:
        self._file.release()


def remove_dead_locks(directory: Path) -> None:
    """Remove the lock files of the runs in *directory* that are over. Raises as :func:`_remove_if_dead`."""
    for left in directory.glob(_LOCK_FILE.format("*")):
        _remove_if_dead(left)


def _remove_if_dead(path: Path) -> None:
    """Remove the lock file of a run that is over.

    Raises:
        IndexUnusable: the file may not be opened, so that the run, and its claims, would count as alive for ever.
    """
    try:
        with suppress(LockFailed):
            is_held_or_raise(path)
    except PermissionError:
        raise IndexUnusable(
            f"The lock file {path} of another run, which belongs to {owner_of(path)}, cannot be opened"
            " (permission denied), so it is unknown whether that run has ended. Run as that user; or give the directory and"
            " its files to a group that both users are in (chgrp, chmod g+rwxs); or remove the file if that run has ended."
        ) from None


def is_run_alive(directory: Path, number: int, *, readonly: bool) -> bool | None:
    """Return whether a run is alive; ``None`` if this is not known.

    Args:
        readonly: do not remove the lock file of a run that is over.
    """
    return is_held(lock_file(directory, number), readonly=readonly)


@lru_cache(maxsize=_REMEMBERED)
def lock_file(directory: Path, number: int) -> Path:
    """Return the path of the lock file of a run."""
    return directory / _LOCK_FILE.format(f"{number:08x}")
