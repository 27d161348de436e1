"""Compaction: rewriting an index without its free pages."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import lmdb
import msgspec

from crawler_dedup.index.header import FORMAT, decode_header
from crawler_dedup.index.layout import META
from crawler_dedup.index.lmdb import engine
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
        IndexMissing: there is no index.
        IndexUnusable: the index is open elsewhere, has another format, or cannot be read or written.
    """
    data, copy = directory / engine.DATA_FILE, directory / engine.COPY_DIRECTORY
    with closing(OpenFiles(directory, engine.KEEP_MAP_SIZE, alone=True)) as files, ExitStack() as cleanup:
        before = data.stat().st_size
        try:
            stored = None
            with suppress(lmdb.NotFoundError), files.env.begin() as txn:
                stored = txn.get(engine.HEADER, db=files.env.open_db(META, txn, create=False))
            if stored is None:
                raise engine.no_index_error(directory)
            # Nothing but an index of this format may be rewritten.
            if (header := decode_header(stored)).format != FORMAT:
                fault = f"has format {header.format}, this version has {FORMAT}: use the version that made it"
                raise engine.unusable_error(directory, fault)
            shutil.rmtree(copy, ignore_errors=True)
            cleanup.callback(shutil.rmtree, copy, ignore_errors=True)
            copy.mkdir(mode=0o700)
            _copy(files.env, copy / data.name, advance)
            files.env.close()
            _keep_access(data, copy / data.name)
            _sync(copy / data.name, os.O_RDWR)
            (copy / data.name).replace(data)
            if os.name == "posix":
                _sync(directory, os.O_RDONLY)
        except msgspec.DecodeError as error:
            raise engine.damaged_error(directory, error) from error
        except (OSError, lmdb.Error) as error:
            raise engine.unusable_error(directory, "cannot be compacted", error) from error
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
    with open(write_end, "wb", buffering=0):
        env.copyfd(write_end, compact=True)


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
