"""Raw DEFLATE (RFC 1951), without header and checksum, for short contents with bytes of unequal frequency."""

from __future__ import annotations

import zlib

_WINDOW_BITS = -15
_LEAST_WINDOW_BITS = -9  # enough to look for repeated bytes; a larger window is cleared for each stream
_MEMORY_LEVEL = 4  # little is compressed at a time
_LEVEL = 6


class StreamDamaged(ValueError):
    """The bytes are no sound stream, or its content has another length."""


def deflate(content: bytes) -> bytes:
    """Compress *content*. Search only for repeated bytes: short contents have hardly any other repetitions."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _LEAST_WINDOW_BITS, _MEMORY_LEVEL, zlib.Z_RLE)
    return compressor.compress(content) + compressor.flush()


def inflate(stream: bytes, size: int) -> bytes:
    """Return the *size* bytes that :func:`deflate` has compressed; raise :class:`StreamDamaged` for anything else."""
    decompressor = zlib.decompressobj(_WINDOW_BITS)
    try:
        content = decompressor.decompress(stream, size + 1)
    except zlib.error as error:
        raise StreamDamaged(str(error)) from error
    if len(content) != size or not decompressor.eof or decompressor.unused_data:
        raise StreamDamaged("a stream is cut off, too long, or followed by something")
    return content
