"""Places at which the numbers of records stand: hashes of what leads to a record, a page key, an alias, or a signature."""

from __future__ import annotations

import msgspec
from xxhash import xxh3_64_intdigest

NUMBER_BYTES = 5
"""Bytes of the number of a record."""

_OF_NAME = 1 << 24
"""The bit of a place, the last that is stored, that tells names from signatures."""


def place_of_name(name: bytes) -> int:
    """Return the place of a page key or alias (:func:`crawler_dedup.index.records.hash_page_key`)."""
    return int.from_bytes(name[:8], "big") | _OF_NAME


def place_of_signature(scope: int, signature: int) -> int:
    """Return the place of *signature* in the scope with the hash *scope*."""
    return xxh3_64_intdigest((scope << 64 | signature).to_bytes(12, "big")) & ~_OF_NAME


def place_entry(place: int, number: int) -> tuple[int, int]:
    """Return under which key, and as what payload, *number* stands at *place*."""
    return place >> 48, (place >> 24 & 0xFFFFFF) << 8 * NUMBER_BYTES | number


def numbers_in(content: bytes, first: int) -> list[int]:
    """Return the numbers that stand in a bucket at one place, ascending.

    Args:
        content: payloads, of 8 bytes each.
        first: the payload of number 0 at this place (:func:`place_entry`).

    Raises:
        msgspec.DecodeError: there is a part of a payload.
    """
    if len(content) % 8:
        raise msgspec.DecodeError(f"a bucket of numbers has {len(content)} bytes")
    wanted, numbers = first.to_bytes(8, "little")[NUMBER_BYTES:], []
    at = content.find(wanted)
    while at >= 0:
        if at % 8 == NUMBER_BYTES:
            numbers.append(int.from_bytes(content[at - NUMBER_BYTES : at], "little"))
        at = content.find(wanted, at + 1)
    return sorted(numbers)
