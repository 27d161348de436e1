"""The layout of an index, the same on every backend: its tables, their names and numbers, and the chunks of long buckets.

A record is found by its references: hashes of its page key, its aliases and its signature. Every fault in the contents
of an index raises :class:`msgspec.DecodeError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.hashes import Numbers

RowTable = Literal[b"records", b"runs", b"sites", b"counts", b"snapshots", b"overrides"]
RECORDS: RowTable = b"records"
"""Records of pages, by number (big-endian, ``NUMBER_BYTES``)."""
RUNS: RowTable = b"runs"
"""Entries of runs, by number (big-endian, ``RUN_NAME_BYTES``)."""
SITES: RowTable = b"sites"
"""Heads of sites, by key (``SITE_KEY_BYTES``). They change with each snapshot."""
COUNTS: RowTable = b"counts"
"""Counts of sites, by key. They change with each page."""
SNAPSHOTS: RowTable = b"snapshots"
"""Snapshots of sites, by key and number (big-endian, ``SNAPSHOT_NUMBER_BYTES``)."""
OVERRIDES: RowTable = b"overrides"
"""Overrides, by a hash of 16 bytes; and under ``version`` a value that changes with them."""
ROW_TABLES = RECORDS, RUNS, SITES, COUNTS, SNAPSHOTS, OVERRIDES

BucketTable = Literal[b"numbers", b"tables"]
NUMBERS: BucketTable = b"numbers"
"""Numbers of records, by the reference of a page key, an alias or a signature."""
SIGNATURES: BucketTable = b"tables"
"""Signatures, by scope and key: the number of a permuted table and its prefix, or what another scheme files a text under.
A SimHash has those of :data:`crawler_dedup.permutedtables.TABLES`."""

META = b"meta"
"""In a directory: the header."""

NUMBER_BYTES = 5
"""Length of the number of a record, in bytes."""
RUN_NAME_BYTES = 4
"""Length of the number of a run as a name, in bytes."""
SITE_KEY_BYTES = 12
"""Length of the key of a site, in bytes."""
SNAPSHOT_NUMBER_BYTES = 5
"""Length of the number of a snapshot, in bytes."""

_OF_NAME = 1 << 24
"""The bit of a reference that distinguishes names from signatures: the lowest bit that is stored."""


def reference_of_name(name: bytes) -> int:
    """Return the reference of a page key or alias (:func:`crawler_dedup.urls.hash_page_key`)."""
    return int.from_bytes(name[:8], "big") | _OF_NAME


def reference_of_signature(scope: int, signature: int) -> int:
    """Return the reference of *signature* in the scope with the hash *scope*."""
    return xxh3_64_intdigest((scope << 64 | signature).to_bytes(12, "big")) & ~_OF_NAME


def reference_entry(reference: int, number: int) -> tuple[int, int]:
    """Return the key and the payload by which *number* is stored under *reference*."""
    return reference >> 48, (reference >> 24 & 0xFFFFFF) << 8 * NUMBER_BYTES | number


def numbers_in(filed: Numbers, first: int) -> list[int]:
    """Return the numbers in a bucket that are under one reference, ascending.

    Args:
        filed: the payloads of the bucket.
        first: the payload of number 0 under this reference (:func:`reference_entry`).
    """
    numbers = filed ^ np.uint64(first)
    return sorted(numbers[numbers < 1 << 8 * NUMBER_BYTES].tolist())


FIRST_CHUNK_BYTES = 2008
"""Bytes of a full first chunk: 251 payloads. Two such chunks fit into one leaf page of LMDB."""
CHUNK_BYTES = 4080
"""Bytes of each further full chunk: 510 payloads, a page of 4,096 bytes less LMDB's header."""


def count_chunks(payloads: int) -> int:
    """Return how many chunks *payloads* payloads fill."""
    return 1 + -(-8 * max(0, payloads - FIRST_CHUNK_BYTES // 8) // CHUNK_BYTES)


def limit_payloads(limit: int) -> int:
    """Return how many payloads of a bucket a look-up for *limit* payloads reads: *limit*, rounded up to whole chunks."""
    return (FIRST_CHUNK_BYTES + (count_chunks(limit) - 1) * CHUNK_BYTES) // 8


_T = TypeVar("_T")


def decode_struct(decode: Callable[[bytes | memoryview], _T], content: bytes | memoryview) -> _T:
    """Call *decode*, a decoder of msgspec; raise :class:`msgspec.DecodeError` also if it raises another error."""
    try:
        return decode(content)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def decode_payloads(content: bytes | memoryview) -> Numbers:
    """Return the payloads in *content*; raise :class:`msgspec.DecodeError` if a part of one is missing."""
    if len(content) % 8:
        raise msgspec.DecodeError(f"a bucket has {len(content)} bytes")
    return np.frombuffer(content, dtype="<u8")


def decode_number(content: bytes | memoryview, size: int) -> int:
    """Return the number in *content*; raise :class:`msgspec.DecodeError` if *content* does not have *size* bytes."""
    if len(content) != size:
        raise msgspec.DecodeError(f"a number has {len(content)} bytes instead of {size}")
    return int.from_bytes(content, "big")
