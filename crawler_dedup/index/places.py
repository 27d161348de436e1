"""Places of the numbers of records: hashes of a page key, an alias or a signature, by which a record is found."""

from __future__ import annotations

import msgspec
from xxhash import xxh3_64_intdigest

NUMBER_BYTES = 5
"""Length of the number of a record, in bytes."""

_OF_NAME = 1 << 24
"""The bit of a place that distinguishes names from signatures: the lowest bit that is stored."""


def place_of_name(name: bytes) -> int:
    """Return the place of a page key or alias (:func:`crawler_dedup.index.records.hash_page_key`)."""
    return int.from_bytes(name[:8], "big") | _OF_NAME


def place_of_signature(scope: int, signature: int) -> int:
    """Return the place of *signature* in the scope with the hash *scope*."""
    return xxh3_64_intdigest((scope << 64 | signature).to_bytes(12, "big")) & ~_OF_NAME


def place_entry(place: int, number: int) -> tuple[int, int]:
    """Return the key and the payload by which *number* is stored at *place*."""
    return place >> 48, (place >> 24 & 0xFFFFFF) << 8 * NUMBER_BYTES | number


def numbers_in(content: bytes, first: int) -> list[int]:
    """Return the numbers in a bucket that are at one place, ascending.

    Args:
        content: payloads, of 8 bytes each.
        first: the payload of number 0 at this place (:func:`place_entry`).

    Raises:
        msgspec.DecodeError: the last payload is cut off.
    """
    if not content:
        return []
    if len(content) % 8:
        raise msgspec.DecodeError(f"a bucket of numbers has {len(content)} bytes")
    suffix, numbers = first.to_bytes(8, "little")[NUMBER_BYTES:], []
    position = content.find(suffix)
    while position >= 0:
        if position % 8 == NUMBER_BYTES:
            numbers.append(int.from_bytes(content[position - NUMBER_BYTES : position], "little"))
        position = content.find(suffix, position + 1)
    return sorted(numbers)
