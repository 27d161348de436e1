"""Writing an index anew without what is free in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import lmdb

from crawler_dedup.environment import COPY, FILE, Environment, unusable


def compact(directory: Path) -> tuple[int, int]:
    """Compact the index in *directory*; returns its bytes before and after.

    The new file takes the place of the old one when it is complete and on disk.

    Raises:
        IndexUnusable: it is open elsewhere, or cannot be read or written.
    """
    data, copy = directory / FILE, directory / COPY
    with Environment.alone(directory) as env:
        before = data.stat().st_size
        try:
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir()
            env.copy(str(copy), compact=True)
            env.close()
            _sync(copy / FILE)
            (copy / FILE).replace(data)
            _sync(directory)
        except (OSError, lmdb.Error) as error:
            raise unusable(directory, "cannot be compacted", error) from error
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        return before, data.stat().st_size


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
