"""Reading files that may be gzipped, and writing a file so that it appears complete or not at all."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import IO

GZIP_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)
"""Errors that reading a damaged gzip file raises."""


def open_maybe_gzipped(path: Path) -> BufferedIOBase:
    """Open *path* to read bytes; a file whose name ends in ``.gz`` is unpacked.

    Opening raises :class:`OSError`; reading raises that or one of :data:`GZIP_ERRORS`.
    """
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


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
