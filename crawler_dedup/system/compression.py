"""Zstandard frames (RFC 8878).

Python has the codec of Zstandard from 3.14 on; a package has the same codec for earlier versions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


__all__ = ["FrameDamaged", "compress", "decompress", "decompress_stream", "zstd"]

_MAX_WINDOW_BITS = 23  # of a stream that is read


class FrameDamaged(ValueError):
    """The bytes are no sound frame, or more than one."""


def compress(content: bytes, level: int = 3, *, checksum: bool = False) -> bytes:
    """Compress *content* to one frame, whose header states the size of *content*."""
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: level,
        zstd.CompressionParameter.checksum_flag: int(checksum),
    }
    return zstd.compress(content, options=options)


def decompress(frame: bytes, max_size: int) -> bytes:
    """Return the content of *frame*. Takes memory for no more than the size that the header states.

    Raises:
        FrameDamaged: the frame is damaged or cut off, its content has another size, something follows it, or the stated
            size is unknown, 0, or larger than *max_size*.
        MemoryError: there is not enough memory for the content.
    """
    try:
        size = zstd.get_frame_info(frame).decompressed_size
        if not size or size > max_size:
            raise FrameDamaged("the size of its content is not known or not allowed")
        decompressor = zstd.ZstdDecompressor()
        content = decompressor.decompress(frame, size + 1)
    except zstd.ZstdError as error:
        raise _translated(error) from error
    if len(content) != size or not decompressor.eof or decompressor.unused_data:
        raise FrameDamaged("its content is not what its header says")
    return content


@contextmanager
def decompress_stream(file: IO[bytes]) -> Iterator[zstd.ZstdFile]:
    """Open a stream that reads the content of the frames in *file*. Takes little memory beside what is read.

    Raises:
        FrameDamaged: a frame is damaged or cut off; raised where it is read.
        MemoryError: there is not enough memory.
    """
    try:
        with zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_BITS}) as stream:
            yield stream
    except zstd.ZstdError as error:
        raise _translated(error) from error
    except EOFError as error:
        raise FrameDamaged("it is cut off") from error


def _translated(error: zstd.ZstdError) -> FrameDamaged | MemoryError:
    if "Allocation error" in str(error):  # the codec has no other sign
        return MemoryError()
    return FrameDamaged(str(error))
