"""Reading files that may be gzipped, writing a file so that it appears complete or not at all, and rights of access.

Rights follow those of the directory and not the umask. A directory that the filter creates is private to its user. In a
directory that exists already (of a group, for example), new files get its group and its rights to read and write, so that
several users can share an index on purpose. Records of what a crawl has requested and received are for fewer users
(:func:`private_opener`).
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase
from pathlib import Path
from typing import IO

from crawler_dedup.errors import DedupError


def make_private_directory(path: Path) -> None:
    """Create the directory *path*, private to its user, unless it exists. Raises :class:`OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def make_inheriting_directories(path: Path) -> None:
    """Create the directory *path* and its missing parents; each gets the access rights of the directory that it is in.

    Raises :class:`OSError`.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
        inherit_access(folder, folder.parent, folder=True)


def opener(name: str, flags: int, *, is_private: bool = False) -> int:
    """Open a file for ``open(…, opener=opener)``; a new file gets the access rights of its directory."""
    if flags & os.O_CREAT:
        with suppress(FileExistsError):
            handle = os.open(name, flags | os.O_EXCL, 0o600)
            inherit_access(handle if os.name == "posix" else name, Path(name).parent, is_private=is_private)
            return handle
    return os.open(name, flags, 0o600)


def private_opener(name: str, flags: int) -> int:
    """Open a file as :func:`opener`; only its user, and a group that may write to its directory, can read a new file."""
    return opener(name, flags, is_private=True)


def inherit_access(file: int | str | Path, directory: Path, *, folder: bool = False, is_private: bool = False) -> None:
    """Give *file*, which is new, the group of *directory* and its rights to read and write (a *folder* all of its rights).

    Skip what the system or the file system does not allow.

    Args:
        is_private: give no rights to others, and none to a group that may not write to *directory*.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        place = directory.stat()
        given = 0o2077 if folder else 0o066 if not is_private else 0o060 if place.st_mode & 0o020 else 0
        mode = (0o700 if folder else 0o600) | place.st_mode & given
        if os.stat(file).st_gid != place.st_gid:
            try:
                os.chown(file, -1, place.st_gid)
            except OSError:  # we are not in that group, and our own group must not get its rights
                mode &= ~0o2070
        os.chmod(file, mode)


def owner_of(file: Path) -> str:
    """Return a description of the user to whom *file* belongs."""
    try:
        return f"the user {file.owner()}"
    except (KeyError, OSError, NotImplementedError):  # the user has no name, the file is gone, or the system is Windows
        return "another user"


GZIP_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)
"""Errors that reading a damaged gzip file raises."""


def open_maybe_gzipped(path: Path) -> BufferedIOBase:
    """Open *path* to read bytes; a file whose name ends in ``.gz`` is unpacked.

    Opening raises :class:`OSError`; reading raises that or one of :data:`GZIP_ERRORS`.
    """
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def read_maybe_gzipped(path: Path, most: int = -1) -> bytes:
    """Return the first *most* bytes of *path* (-1: all), unpacked if its name ends in ``.gz``.

    Raises :class:`DedupError` if it cannot be read.
    """
    try:
        with open_maybe_gzipped(path) as file:
            return file.read(most)
    except (OSError, *GZIP_ERRORS) as error:
        raise DedupError(f"{path} cannot be read: {error}.") from None


@contextmanager
def open_replacement(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces *path* when it is complete and on disk.

    Until then, and if writing fails, *path* stays as it was. If *path* is a symbolic link, its target is replaced. A path
    that is no regular file, such as a device or a pipe, is written directly. Raises :class:`OSError`.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        if error.filename == str(unfinished):  # name the path that the user has given
            error.filename = str(path)
        raise
    finally:
        unfinished.unlink(missing_ok=True)
