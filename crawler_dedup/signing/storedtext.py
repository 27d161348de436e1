"""A main text as index and journal store it: in UTF-8, compressed with Zstandard."""

from __future__ import annotations

from contextlib import suppress

from crawler_dedup.system.compression import FrameDamaged, compress, decompress

_MAX_BYTES = 1 << 28


def pack_text(text: str) -> bytes:
    """Compress *text* for index and journal."""
    return compress(text.encode("utf-8", "replace"))


def unpack_text(packed: bytes) -> str:
    """Return the text that :func:`pack_text` was given; ``""`` if *packed* is empty or damaged."""
    with suppress(FrameDamaged):
        return decompress(packed, _MAX_BYTES).decode("utf-8", "replace")
    return ""
