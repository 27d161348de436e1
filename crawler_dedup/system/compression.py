"""Zstandard frames (RFC 8878).

Python has the codec of Zstandard from 3.14 on; a package has the same codec for earlier versions.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


__all__ = ["FrameDamaged", "compress", "decompress", "translate_error", "zstd"]


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
        raise translate_error(error) from error
    if len(content) != size or not decompressor.eof or decompressor.unused_data:
        raise FrameDamaged("its content is not what its header says")
    return content


def translate_error(error: zstd.ZstdError) -> FrameDamaged | MemoryError:
    """Return the error to raise for an error of the codec."""
    if "Allocation error" in str(error):  # the codec has no other sign
        return MemoryError()
    return FrameDamaged(str(error))
