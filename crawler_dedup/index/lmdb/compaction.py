"""Compaction: rewriting an index without its free pages."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import lmdb

from crawler_dedup.index.header import check_header
from crawler_dedup.index.lmdb.engine import COPY_DIRECTORY, DATA_FILE, KEEP_MAP_SIZE, unusable_error
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.openfiles import OpenFiles
from crawler_dedup.system.callbacks import Advance, ignore_progress

_PIPED = 1 << 20


def compact(directory: Path, advance: Advance = ignore_progress) -> tuple[int, int]:
    """Compact the index in *directory*; return its size in bytes before and after.

    The new file takes the place of the old one when it is complete and on disk. Until then, and if the work is interrupted,
    the index stays as it was.

    Args:
        advance: called with the number of bytes of each block that was written.

    Raises:
        IndexMismatch: the index has another format.
        IndexUnusable: the index is open elsewhere, or cannot be read or written.
    """
    data, copy = directory / DATA_FILE, directory / COPY_DIRECTORY
    with closing(Environment.open(directory, map_size=KEEP_MAP_SIZE, readonly=True)) as environment:
        header = environment.read_header()
    check_header(directory, header, header.expected(None))  # nothing but an index of this format may be rewritten
    with closing(OpenFiles(directory, KEEP_MAP_SIZE, alone=True)) as files:
        before = data.stat().st_size
        try:
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir(mode=0o700)
            _copy(files.env, copy / DATA_FILE, advance)
            files.env.close()
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


def _copy(env: lmdb.Environment, file: Path, advance: Advance) -> None:
    """Write a compacted copy of an environment to *file*.

    LMDB writes to a pipe in a thread, because its writing to a file could not be interrupted. An interruption closes the
    pipe, and LMDB ends with an error.
    """
    with ThreadPoolExecutor(1) as thread, file.open("xb") as new:
        read_end, write_end = os.pipe()
        with open(read_end, "rb", buffering=0) as pipe:
            copied = thread.submit(_copy_and_close, env, write_end)
            while block := pipe.read(_PIPED):
                new.write(block)
                advance(len(block))
        copied.result()


def _copy_and_close(env: lmdb.Environment, write_end: int) -> None:
    try:
        env.copyfd(write_end, compact=True)
    finally:
        os.close(write_end)


def _keep_access(old: Path, new: Path) -> None:
    """Give the new file the mode and owner of the old one, so that the same users can use the index."""
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
