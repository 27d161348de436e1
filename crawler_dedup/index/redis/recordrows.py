"""Decoding the records of an index on a server, each of which is a row."""

from __future__ import annotations

import msgspec

from crawler_dedup.index.packing import unpack, unpack_head
from crawler_dedup.index.records import Record


def decode_record(content: bytes) -> Record:
    """Decode a stored record; raise :class:`msgspec.DecodeError` if it is damaged."""
    return unpack(unpack_head(content), None)


def decode_sound_record(content: bytes) -> Record | None:
    """Decode a stored record; return ``None`` if it is damaged."""
    try:
        return decode_record(content)
    except msgspec.DecodeError:
        return None
