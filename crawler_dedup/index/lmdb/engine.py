"""Opening LMDB safely, converting its errors to clear ones, and the header, which marks a file as an index."""

from __future__ import annotations

import errno
import os
import shutil
import struct
from contextlib import suppress
from functools import partial
from pathlib import Path

import lmdb
import msgspec

from crawler_dedup.config import MAP_SIZE
from crawler_dedup.errors import IndexDamaged, IndexMissing, IndexUnusable
from crawler_dedup.system.files import opener

KEEP_MAP_SIZE = 0
"""Map size that means the size with which an existing index was used last."""

LOCK_FILE = "lock.mdb"
DATA_FILE = "data.mdb"
COPY_DIRECTORY = "compacting"
"""Name of the directory in which a compaction writes."""

HEADER = b"header"
"""The name of the row of the header, in the database ``META``."""
_DATABASES = 16
_READERS = 1024
_LEAST_ROOM = 64 << 20
_FULL = 1 << 16
_ADVICE_ON_MEMORY = (
    " Its map takes as much address space as DEDUP_MAP_SIZE (map_size) says, 1 TiB by default, but memory and disk only for"
    " its contents. A limit of this process allows less, usually `ulimit -v`: raise it, or set a smaller DEDUP_MAP_SIZE."
)
_ADVICE_ON_SAME_NUMBER = (
    " Another process with the same process ID (PID) uses the index, which is possible in two containers: let them share a"
    " PID namespace (docker run --pid=host), or use an index on a server (DEDUP_INDEX)."
)
_DAMAGE = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError)


def explain(error: Exception, env: lmdb.Environment, directory: Path) -> Exception:
    """Convert an error of LMDB, the system or decoding to an :class:`IndexUnusable`; return other errors as they are."""
    remedy = "bytes; raise DEDUP_MAP_SIZE (map_size)"
    if isinstance(error, lmdb.MapFullError):
        return unusable_error(directory, f"is full: its map has {env.info()['map_size']} {remedy}")
    if isinstance(error, lmdb.MapResizedError):
        return unusable_error(directory, f"is larger than its map of {env.info()['map_size']} {remedy}")
    if isinstance(error, lmdb.DiskError) or (isinstance(error, lmdb.Error) and _disk_is_full(directory)):
        return unusable_error(directory, "cannot be written: the disk is full")
    if isinstance(error, (*_DAMAGE, msgspec.DecodeError)):
        return damaged_error(directory, error)
    if isinstance(error, (OSError, lmdb.Error)):
        return unusable_error(directory, "cannot be read or written", error)
    return error


def _disk_is_full(directory: Path) -> bool:
    """Return whether the disk is full: LMDB reports a page that was only partly written as an input/output error."""
    try:
        return shutil.disk_usage(directory).free < _FULL
    except OSError:
        return False


def unusable_error(directory: Path, fault: str, error: Exception | None = None) -> IndexUnusable:
    """Make an error that names the *fault* of the index in *directory*, and its cause."""
    advice = ""
    if isinstance(error, lmdb.MemoryError):
        advice = _ADVICE_ON_MEMORY
    elif isinstance(error, lmdb.Error) and os.strerror(errno.EAGAIN) in str(error):
        advice = _ADVICE_ON_SAME_NUMBER
    elif isinstance(error, lmdb.BadTxnError):
        advice = " It may be damaged: see `crawler-dedup index verify --help`."
    return IndexUnusable(f"The index in {directory} {fault}{f': {error}' if error else ''}.{advice}")


def no_index_error(directory: Path) -> IndexMissing:
    """Build the "no index in *directory*" error."""
    return IndexMissing(f"There is no index in {directory}.")


def damaged_error(directory: Path, error: Exception | str) -> IndexDamaged:
    """Make an error that says that the index in *directory* is damaged, why, and the ways out."""
    return IndexDamaged(
        f"The index in {directory} is damaged: {error}. Use an earlier export or copy, or name another directory (in a crawl"
        " DEDUP_DIR); if the index can still be opened, export what can be read of it."
    )


def open_lmdb(directory: Path, map_size: int, *, readonly: bool = False, lock: bool = True) -> lmdb.Environment:
    """Open or create LMDB's files in *directory*, with the options of an index.

    Args:
        map_size: largest size of the file in bytes, for a process that may write. A process that only reads has a map for
            what others write meanwhile, because LMDB cannot enlarge a map while it is read.
        readonly: create nothing.
        lock: whether LMDB's lock file is used. Without it, no process may write meanwhile.

    Raises:
        IndexDamaged: the data file was cut off.
    """
    if readonly:
        map_size = MAP_SIZE
    if is_filled(directory / DATA_FILE):
        _require_length(directory / DATA_FILE)
    open_with = partial(
        lmdb.open,
        str(directory),
        readonly=readonly,
        create=not readonly,
        lock=lock,
        max_dbs=_DATABASES,
        max_readers=_READERS,
        sync=True,
        metasync=False,  # the next commit writes the meta page to disk, and a power cut may undo the last one
        readahead=False,  # look-ups read scattered pages: the pages around them are of no use
        mode=0o600,
    )
    try:
        return open_with(map_size=map_size)
    except lmdb.MemoryError:
        if map_size != KEEP_MAP_SIZE and not readonly:
            raise
        # LMDB keeps the largest size that was ever used. This process may map less: give it room for the file and more.
        return open_with(map_size=2 * (directory / DATA_FILE).stat().st_size + _LEAST_ROOM)


_META_PAGE = struct.Struct("=16xII16xI92xQQ")
"""A meta page of LMDB: magic number, version, bytes of a page, number of the last page, number of the transaction."""
_MAGIC, _VERSION = 0xBEEFC0DE, 1


def _require_length(file: Path) -> None:
    """Raise :class:`IndexDamaged` if the data file is shorter than its header, the older of two meta pages, says.

    A process that reads beyond the end of the file through its map is killed (SIGBUS). A sound file can be shorter than the
    newer meta page says: LMDB does not write a page that a transaction takes at the end of the file and frees again, and
    :func:`complete_file` makes up for that in the next transaction. Zeros take the place of what may be missing: LMDB
    reports damage if it should read them. A file with another layout is left to LMDB.
    """
    commits: list[tuple[int, int]] = []
    with open(file, "rb") as data:
        while len(commits) < 2:
            meta = data.read(_META_PAGE.size)
            if len(meta) < _META_PAGE.size:
                raise damaged_error(file.parent, f"{file.name} was cut off within its header")
            magic, version, page_bytes, last_page, transaction = _META_PAGE.unpack(meta)
            if (magic, version) != (_MAGIC, _VERSION):
                return
            commits.append((transaction, (last_page + 1) * page_bytes))
            data.seek(page_bytes)
        size = data.seek(0, os.SEEK_END)  # after the header: another process may write meanwhile
    lengths = [length for transaction, length in sorted(commits) if transaction]  # transaction 0 has written nothing
    older, newer = (lengths[0], lengths[-1]) if lengths else (0, 0)
    if size < older:
        raise damaged_error(file.parent, f"{file.name} was cut off: it has {size:,} bytes, its header says {older:,}")
    if size < newer <= 2 * size + _LEAST_ROOM and hasattr(os, "posix_fallocate"):  # more only if the header is damaged
        with suppress(OSError), open(file, "r+b") as data:  # this user may not write it
            os.posix_fallocate(data.fileno(), size, newer - size)  # never makes it shorter


def complete_file(env: lmdb.Environment, directory: Path) -> None:
    """Make the data file as long as the last transaction says. Only in a write transaction: others may make it longer."""
    file, length = directory / DATA_FILE, (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    if file.stat().st_size < length:
        os.truncate(file, length)


def is_filled(file: Path) -> bool:
    """Return whether there is a *file* that is not empty."""
    return file.exists() and file.stat().st_size > 0


def allocate_lock_file(lock_file: Path) -> None:
    """Allocate LMDB's lock file: it is sparse otherwise, and writing to its map on a full disk kills the process."""
    handle = opener(str(lock_file), os.O_RDWR | os.O_CREAT)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, 64 * _READERS + 4096)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        # The file system cannot allocate: the risk stays.
    finally:
        os.close(handle)


def database_names(txn: lmdb.Transaction) -> list[bytes]:
    """Return the names of all databases in the file."""
    with txn.cursor() as cursor:
        return [bytes(name) for name, _ in cursor]


def disk_bytes(directory: Path) -> int:
    """Return how many bytes the file of the index in *directory* takes on the disk."""
    file = (directory / DATA_FILE).stat()
    return getattr(file, "st_blocks", 0) * 512 or file.st_size
