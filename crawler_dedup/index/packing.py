"""The form of a record in the database, and what a process remembers of what it has read."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from crawler_dedup.index.layout import decode_struct
from crawler_dedup.index.overrides import NO_OVERRIDES, Overrides
from crawler_dedup.index.records import KEY_BYTES, Record, checked, shorten_key

_Key = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[_Key, Record]).decode


def pack(record: Record) -> bytes:
    """Return *record* in the form of the database: the bytes of its key, and its fields, without defaults at the end."""
    page = msgspec.structs.replace(record.page, key="", links_followed=False)
    fields = [_strip_defaults(page), *_strip_defaults(record)[1:]]
    return _encode((bytes.fromhex(shorten_key(record.page.key)), fields))


def _strip_defaults(struct: msgspec.Struct) -> list[Any]:
    values = list(msgspec.structs.astuple(struct))
    for default in reversed(struct.__struct_defaults__):
        if values[-1] != default:
            break
        del values[-1]
    return values


def unpack(content: bytes | memoryview) -> Record:
    """Return the record that is stored as *content*; raise :class:`msgspec.DecodeError` for anything else."""
    key, record = decode_struct(_decode, content)
    return checked(msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, key=key.hex())))


def unpack_sound(content: bytes | memoryview) -> Record | None:
    """Return the record that is stored as *content*; ``None`` if it is damaged."""
    try:
        return unpack(content)
    except msgspec.DecodeError:
        return None


class RecentRows:
    """What the transactions of an open index remember of rows that they have read.

    Attributes:
        overrides: the overrides and their version.
    """

    def __init__(self) -> None:
        self.overrides: tuple[bytes, Overrides] = b"", NO_OVERRIDES
