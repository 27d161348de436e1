"""What is recorded of a kept page, as a row of an export holds it, and how the index names a page."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Annotated

import msgspec
from xxhash import xxh3_128_digest, xxh32_intdigest

from crawler_dedup.index.decoding import decode_struct
from crawler_dedup.signedpage import Count, SignedPage, is_well_formed
from crawler_dedup.urls import without_credentials

MAX_ALIASES = 4
"""Further keys under which a page is known. A site that redirects each visit to an address of its own makes many."""

KEY_BYTES = 20
"""Bytes of the key of a kept page."""

_NAME_BYTES = 12
_REMEMBERED = 512  # keys of pages: each is asked for several times

RunNumber = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
Aliases = Annotated[tuple[bytes, ...], msgspec.Meta(max_length=MAX_ALIASES)]


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A page that is kept. Times are in seconds since 1970; one that was imported may say anything.

    Attributes:
        run: number of the run that filed it.
        claim: number of its claim in that run, 0 if it was settled at once.
        filed: when it was filed.
        seen: when it was visited last.
        settled: when it was handled; 0 while that is open. Only a settled one stands for duplicates.
        stands: whether it may stand for others; if not, there was no room for more under its signature.
        aliases: names of other keys that lead to it (:func:`hash_page_key`).
    """

    page: SignedPage
    run: RunNumber = 0
    claim: Count = 0
    filed: int = 0
    seen: int = 0
    settled: int = 0
    stands: bool = True
    aliases: Aliases = ()


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


def decode(content: bytes | memoryview) -> Record:
    """Decode a record that :func:`encode` made; raise :class:`msgspec.DecodeError` for anything else."""
    return checked(decode_struct(_decode, content))


def checked(record: Record) -> Record:
    """Return *record*, which was read from disk; raise :class:`msgspec.DecodeError` if it is not one."""
    if not is_well_formed(record.page) or any(len(name) != _NAME_BYTES for name in record.aliases):
        raise msgspec.DecodeError("The signature has not 64 bits, or a part has a length that it cannot have.")
    url = without_credentials(record.page.url)  # an older version left more of them
    if url != record.page.url:
        record = msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, url=url))
    return record


def shorten_key(key: str) -> str:
    """Return the 40 hexadecimal digits that a kept page has as its key: *key* itself if it is such, as fingerprints are."""
    if len(key) == 2 * KEY_BYTES:
        try:
            if bytes.fromhex(key).hex() == key:
                return key
        except ValueError:
            pass
    return blake2b(key.encode("utf-8", "replace"), digest_size=KEY_BYTES).hexdigest()


def hash_page_key(scope: str, key: str) -> bytes:
    """Return 96 bits that stand for a page key: of 10^9 pages two have the same with a chance of 10^-11."""
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    return xxh3_128_digest(f"{len(scope)}:{scope}{key}".encode("utf-8", "replace"))[:_NAME_BYTES]


@lru_cache(maxsize=_REMEMBERED)
def name_page(scope: str, key: str) -> bytes:
    """Return the name by which the index finds a page, of the key that it is offered with or of that of its record."""
    return hash_page_key(scope, shorten_key(key))


def hash_scope(scope: str) -> int:
    """Return the 32 bits that stand for *scope* in the names of buckets.

    Two scopes may share them: records tell them apart.
    """
    return xxh32_intdigest(scope.encode("utf-8", "replace"))
