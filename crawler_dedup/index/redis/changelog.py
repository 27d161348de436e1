"""The log of an index on a server: the names of the cells that were changed, the latest at its end.

A client that knows the index as of some position in the log finds in the rest of the log which of its cells are outdated.
Only the end of the log is kept. An entry consists of the tokens of the names of the changed cells, and of a mark, which no
other entry has. The token of a name is its first 8 bytes after the prefix that all names have. The state of the index
contains the length that the log has reached and the number of records, and ends with the last mark.
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
"""Number of bytes at the end of the log that a script reads at most. At least as many are kept."""
RUNS = b"u".ljust(TOKEN_BYTES, b"\0")
"""The token that an entry contains if the runs were changed."""

_STATE = Struct("<QQ")


class State(NamedTuple):
    """The state of an index.

    Attributes:
        position: number of bytes that were ever appended to the log.
        records: how many records there are.
    """

    position: int
    records: int

    @classmethod
    def decode(cls, content: bytes) -> State:
        """Decode the stored state."""
        return cls(*_STATE.unpack_from(content))


def make_marks() -> Iterator[bytes]:
    """Yield marks of entries, unique among all clients (except with a probability of 2^-64)."""
    writer = os.urandom(TOKEN_BYTES)
    return (writer + number.to_bytes(TOKEN_BYTES, "little") for number in count(1))


def read_tokens(entries: bytes) -> Iterator[bytes]:
    """Yield the tokens in *entries*, and also the halves of the marks, which cannot be told from tokens."""
    return (entries[at : at + TOKEN_BYTES] for at in range(0, len(entries), TOKEN_BYTES))


def make_tokens(names: Iterable[bytes], prefix_length: int) -> bytes:
    """Return the tokens of *names*, joined. The prefix of the names has *prefix_length* bytes."""
    end = prefix_length + TOKEN_BYTES
    return b"".join([name[prefix_length:end] for name in names])
