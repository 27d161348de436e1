"""What LMDB needs to be opened safely, and what it raises, as sentences."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any, Literal

import lmdb
import msgspec

from crawler_dedup.errors import IndexDamaged, IndexUnusable
from crawler_dedup.index.header import FORMAT, decode
from crawler_dedup.index.usedpages import first_missing_page
from crawler_dedup.system.access import opener

AS_MADE = 0
"""The size of the map with which an existing index was used last."""

LOCK_FILE = "lock.mdb"
FILE = "data.mdb"
COPY = "compacting"
"""Where a compaction writes."""

_DATABASES = 8
_READERS = 1024
_FULL = 1 << 16
_DAMAGE = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError)


def explain(error: Exception, env: lmdb.Environment, directory: Path) -> Exception:
    """What LMDB or decoding raised as an :class:`IndexUnusable`; anything else as it is."""
    map_size = "(DEDUP_MAP_SIZE, map_size)"
    if isinstance(error, lmdb.MapFullError):
        return unusable(directory, f"is full: its map has {env.info()['map_size']} bytes {map_size}")
    if isinstance(error, lmdb.MapResizedError):
        return unusable(directory, f"has outgrown our map of {env.info()['map_size']} bytes {map_size}")
    if isinstance(error, lmdb.DiskError) or (isinstance(error, lmdb.Error) and _disk_is_full(directory)):
        return unusable(directory, "cannot be written: the disk is full")
    if isinstance(error, (*_DAMAGE, msgspec.DecodeError)):
        return damaged(directory, error)
    if isinstance(error, (OSError, lmdb.Error)):
        return unusable(directory, "cannot be read or written", error)
    return error


def _disk_is_full(directory: Path) -> bool:
    """LMDB calls a page of which only a part could be written an input/output error."""
    try:
        return shutil.disk_usage(directory).free < _FULL
    except OSError:
        return False


def unusable(directory: Path, what: str, error: Exception | None = None) -> IndexUnusable:
    """An error that says *what* is with the index in *directory*, and why."""
    return IndexUnusable(f"The index in {directory} {what}{f': {error}' if error else ''}.")


def no_index(directory: Path) -> IndexUnusable:
    """An error that says that there is none."""
    return IndexUnusable(f"There is no index in {directory}.")


def damaged(directory: Path, error: Exception | str) -> IndexDamaged:
    """An error that says that the index in *directory* is damaged, why, and the ways out."""
    return IndexDamaged(
        f"The index in {directory} is damaged: {error}. Ways out: an export or copy of it, or another directory"
        " (in a crawl DEDUP_DIR)."
    )


def lmdb_open(directory: Path, map_size: int) -> lmdb.Environment:
    return lmdb.open(
        str(directory),
        map_size=map_size,
        max_dbs=_DATABASES,
        max_readers=_READERS,
        metasync=True,
        sync=True,
        readahead=False,  # a look-up reads scattered pages: what lies around them is of no use
        mode=0o600,
    )


def allocate(lock_file: Path) -> None:
    """Take the room of LMDB's lock file now: it is sparse, and on a full disk writing to its map kills the process."""
    handle = opener(str(lock_file), os.O_RDWR | os.O_CREAT)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, 64 * _READERS + 4096)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        # A file system that cannot: the risk stays.
    finally:
        os.close(handle)


def database_names(txn: lmdb.Transaction) -> list[bytes]:
    with txn.cursor() as cursor:
        return [bytes(name) for name, _ in cursor]


def require_ours(env: lmdb.Environment, directory: Path) -> None:
    """Raise :class:`IndexUnusable` unless there is an index of this format: nothing else may be rewritten."""
    try:
        with env.begin() as txn:
            stored = txn.get(b"header", db=env.open_db(b"meta", txn, create=False))
        if stored is None:
            raise no_index(directory)
        header = decode(stored)
    except lmdb.NotFoundError:
        raise no_index(directory) from None
    except (lmdb.Error, msgspec.DecodeError) as error:
        raise damaged(directory, error) from error
    if header.format != FORMAT:
        raise unusable(directory, f"has the format {header.format}, this version has {FORMAT}")


def file_length(env: lmdb.Environment) -> int:
    """How many bytes LMDB's file has once all its pages were written."""
    length: int = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    return length


def require_pages(env: lmdb.Environment, directory: Path) -> None:
    """Raise :class:`IndexDamaged` where the file was cut off: reading behind its end would kill the process (SIGBUS).

    A sound file can be shorter than LMDB says too: the last pages may be free ones. So every page that is used is
    looked for, which takes a while with a large index.
    """
    file = directory / FILE
    if file.stat().st_size >= file_length(env):
        return
    try:
        missing = first_missing_page(env, file)
    except lmdb.Error as error:
        raise damaged(directory, error) from error
    if missing is not None:
        size = file.stat().st_size
        raise damaged(
            directory, f"{FILE} was cut off: it has {size:,} bytes, and page {missing:,} stands behind its end"
        )


def fill_up(env: lmdb.Environment, directory: Path) -> None:
    """Make a sound file as long as LMDB says, so that its pages need not be looked for each time.

    For a process that has the index for itself alone. Raises as :func:`require_pages`.
    """
    require_pages(env, directory)
    file, length = directory / FILE, file_length(env)
    if file.stat().st_size < length:
        os.truncate(file, length)


def stored_number(content: bytes | memoryview, size: int, order: Literal["big", "little"] = "big") -> int:
    """The number that *size* bytes stand for; raises :class:`msgspec.DecodeError` where there are fewer or more."""
    if len(content) != size:
        raise msgspec.DecodeError(f"a number has {len(content)} bytes instead of {size}")
    return int.from_bytes(content, order)


def pages(stat: Any) -> int:
    """How many pages of the file a database takes."""
    return int(stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"])
