"""Writing an index anew without what is free in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import lmdb

from crawler_dedup.index.engine import COPY_DIRECTORY, DATA_FILE, unusable_error
from crawler_dedup.index.environment import Environment


def compact(directory: Path) -> tuple[int, int]:
    """Compact the index in *directory*; returns its bytes before and after.

    The new file takes the place of the old one when it is complete and on disk.

    Raises:
        IndexUnusable: it is open elsewhere, or cannot be read or written.
    """
    data, copy = directory / DATA_FILE, directory / COPY_DIRECTORY
    with Environment.open_alone(directory) as env:
        before = data.stat().st_size
        try:
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir(mode=0o700)
            env.copy(str(copy), compact=True)
            env.close()
            _keep_access(data, copy / DATA_FILE)
            _sync(copy / DATA_FILE, os.O_RDWR)
            (copy / DATA_FILE).replace(data)
            if os.name == "posix":
                _sync(directory, os.O_RDONLY)
        except (OSError, lmdb.Error) as error:
            raise unusable_error(directory, "cannot be compacted", error) from error
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        return before, data.stat().st_size


def _keep_access(old: Path, new: Path) -> None:
    """Give the new file the mode and owner of the old one, so that whoever could use the index still can."""
    shutil.copymode(old, new)
    if hasattr(os, "chown"):
        status = old.stat()
        os.chown(new, status.st_uid, status.st_gid)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
