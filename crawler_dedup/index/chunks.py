"""The part of a long bucket that a look-up reads: whole chunks, so that the answers are the same on every backend."""

from __future__ import annotations

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
