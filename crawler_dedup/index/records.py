"""The record of a kept page, as in a row of an export and in the database, and the names by which an index finds pages."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any

import msgspec
from xxhash import xxh32_intdigest

from crawler_dedup.index.layout import decode_struct
from crawler_dedup.index.limits import MAX_ALIASES, MAX_ALSO_AT
from crawler_dedup.signedpage import NAME_BYTES, Count, SignedPage, hash_page_key, is_well_formed

KEY_BYTES = 12
"""Length of the key of a kept page, in bytes."""

_REMEMBERED = 512  # keys of pages: each is needed several times

Time = Annotated[int, msgspec.Meta(le=(1 << 63) - 1)]
RunNumber = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
Aliases = Annotated[tuple[bytes, ...], msgspec.Meta(max_length=MAX_ALIASES)]
Addresses = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_ALSO_AT)]


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A page that is kept. Times are in seconds since 1970; an imported record may have any numbers.

    Attributes:
        run: number of the run that filed it.
        claim: number of its claim in that run, 0 if it was settled at once.
        filed: when it was filed.
        seen: when it was visited last.
        settled: when it was handled; 0 while that is open. Only a settled page represents duplicates.
        is_representative: whether it may represent others; if not, too many pages had its signature.
        aliases: names of other keys by which it is found (:func:`hash_page_key`).
        is_dry: whether only runs that drop nothing have kept it. It represents nothing for a run that drops duplicates: what
            a dry run stored may be thrown away, and it has followed links that the run does not follow.
        also_at: addresses of its duplicates, the first ones.
    """

    page: SignedPage
    run: RunNumber = 0
    claim: Count = 0
    filed: Time = 0
    seen: Time = 0
    settled: Time = 0
    is_representative: bool = True
    aliases: Aliases = ()
    is_dry: bool = False
    also_at: Addresses = ()


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


def decode(content: bytes | memoryview) -> Record:
    """Decode a record that :func:`encode` made; raise :class:`msgspec.DecodeError` for anything else."""
    return checked(decode_struct(_decode, content))


def checked(record: Record) -> Record:
    """Return *record*, which was read from disk; raise :class:`msgspec.DecodeError` if it is not one."""
    if not is_well_formed(record.page) or any(len(name) != NAME_BYTES for name in record.aliases):
        raise msgspec.DecodeError("The signature does not have 64 bits, or the length of a part is not possible.")
    return record


def shorten_key(key: str) -> str:
    """Return the 24 hexadecimal digits that are the key of a kept page: *key* itself if it has this form, else its hash."""
    if len(key) == 2 * KEY_BYTES:
        try:
            if bytes.fromhex(key).hex() == key:
                return key
        except ValueError:
            pass
    return blake2b(key.encode("utf-8", "replace"), digest_size=KEY_BYTES).hexdigest()


@lru_cache(maxsize=_REMEMBERED)
def name_page(scope: str, key: str) -> bytes:
    """Return the name by which the index finds a page, given the key of an offered page or of a record."""
    return hash_page_key(scope, shorten_key(key))


def hash_scope(scope: str) -> int:
    """Return the 32-bit hash of *scope* in the names of buckets.

    Two scopes may have the same hash: records contain the scope itself.
    """
    return xxh32_intdigest(scope.encode("utf-8", "replace"))


_Key = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
_decode_packed = msgspec.msgpack.Decoder(tuple[_Key, Record]).decode


def pack(record: Record) -> bytes:
    """Return *record* in the form of the database: the bytes of its key, and its fields, without defaults at the end."""
    page = msgspec.structs.replace(record.page, key="", links_followed=False)
    fields = [_strip_defaults(page), *_strip_defaults(_swap_times(record))[1:]]
    return encode((bytes.fromhex(shorten_key(record.page.key)), fields))


def _swap_times(record: Record) -> Record:
    """Replace the later times by what differs from *filed*, which takes few bytes, or these by the times."""
    filed = record.filed
    return msgspec.structs.replace(record, seen=record.seen ^ filed, settled=record.settled ^ filed)


def _strip_defaults(struct: msgspec.Struct) -> list[Any]:
    values = list(msgspec.structs.astuple(struct))
    for default in reversed(struct.__struct_defaults__):
        if values[-1] != default:
            break
        del values[-1]
    return values


def unpack(content: bytes | memoryview) -> Record:
    """Return the record that is stored as *content*; raise :class:`msgspec.DecodeError` for anything else."""
    key, record = decode_struct(_decode_packed, content)
    page = msgspec.structs.replace(record.page, key=key.hex())
    return checked(_swap_times(msgspec.structs.replace(record, page=page)))


def unpack_sound(content: bytes | memoryview) -> Record | None:
    """Return the record that is stored as *content*; ``None`` if it is damaged."""
    try:
        return unpack(content)
    except msgspec.DecodeError:
        return None
