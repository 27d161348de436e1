"""The log of an index on a server: which cells were changed, the latest at its end.

A client that knows the index as of some place in the log learns from what follows what it does not know any more. Of the
log only the end is kept. An entry is the tokens of the names of what a change has changed, and its mark, which no other
entry has. The token of a name is its first bytes behind the prefix that all names have. The state of the index says how long
the log has become and two counts, and ends with the last mark.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import count
from struct import Struct
from typing import NamedTuple

TOKEN_BYTES = 8
MARK_BYTES = 2 * TOKEN_BYTES
LONGEST = 1 << 17
"""Bytes of the end of the log that a script looks at. At least as many are kept."""
RUNS = b"u".ljust(TOKEN_BYTES, b"\0")
"""The token of what is known of runs."""

FORGOTTEN = 1 << 40
"""By how much the log seems to grow when clients are to forget all they know."""

_STATE = Struct("<QQQ")


class State(NamedTuple):
    """The state of an index.

    Attributes:
        position: bytes that the log has got.
        last: the number of the newest record.
        records: how many records there are.
    """

    position: int
    last: int
    records: int

    @classmethod
    def decode(cls, content: bytes) -> State:
        """Decode what is stored."""
        return cls(*_STATE.unpack_from(content))


class Marks:
    """Gives marks to entries: no two that this or another client has given are the same (but for a chance of 2^-64)."""

    def __init__(self) -> None:
        self._writer = os.urandom(TOKEN_BYTES)
        self._numbers = count(1)

    def next(self) -> bytes:
        """Return the next mark."""
        return self._writer + next(self._numbers).to_bytes(TOKEN_BYTES, "little")


def read_tokens(entries: bytes) -> Iterator[bytes]:
    """Yield the tokens in *entries*, and what looks like some: the marks."""
    return (entries[at : at + TOKEN_BYTES] for at in range(0, len(entries), TOKEN_BYTES))


def make_tokens(names: Iterable[bytes], prefix_length: int) -> bytes:
    """Return the tokens of *names*, whose prefix has so many bytes."""
    end = prefix_length + TOKEN_BYTES
    return b"".join([name[prefix_length:end] for name in names])
