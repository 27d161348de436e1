"""The record of a kept page, as in a row of an export and in the database, and the names by which an index finds pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated

import msgspec
from xxhash import xxh32_intdigest

from crawler_dedup.index.layout import decode_struct
from crawler_dedup.index.limits import MAX_ALIASES, MAX_ALSO_AT, MAX_BATCH_BYTES
from crawler_dedup.signedpage import Count, SignedPage, is_well_formed
from crawler_dedup.urls import NAME_BYTES, hash_page_key

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


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


def encode(record: Record) -> bytes:
    """Serialise *record*, with the key of a kept page."""
    page = msgspec.structs.replace(record.page, key=shorten_key(record.page.key), links_followed=False)
    return _encode(msgspec.structs.replace(record, page=page))


def decode(content: bytes | memoryview) -> Record:
    """Decode a record that :func:`encode` made; raise :class:`msgspec.DecodeError` for anything else."""
    record = decode_struct(_decode, content)
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


def in_batches(records: Iterable[Record], most: int) -> Iterator[list[Record]]:
    """Yield *records* in lists of up to *most*; lists of long records, such as those of a hostile export, end earlier."""
    batch, size = list[Record](), 0
    for record in records:
        batch.append(record)
        values = *msgspec.structs.astuple(record.page), *record.also_at
        size += sum(len(value) for value in values if isinstance(value, str | bytes))
        if len(batch) == most or size > MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
