"""The names of the keys of an index on a server.

Buckets and most rows are strings; the rows of a table that is scanned are the fields of a hash. An index that is emptied
gets another *epoch*: the names of its keys change, so that the earlier ones cannot be reached. Names without an epoch
have a colon, and stay.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

import msgspec

from crawler_dedup.index.header import Header, decode_header
from crawler_dedup.index.layout import NUMBERS, OVERRIDES, ROW_TABLES, RUNS, SITES, BucketTable, RowTable
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.connection import ServerConnection

_TABLE_SHIFT = 40
_SHORT = 0xFF << _TABLE_SHIFT | 0xFFFF
_EPOCH_BYTES = 3  # four letters
_SCANNED = RUNS, SITES, OVERRIDES
"""Tables that are scanned, except records, which are numbered."""
Cell = tuple[bytes, ...]
"""The name of a string, or the name of a hash and a field in it."""
_LETTERS: dict[RowTable, bytes] = dict(zip(ROW_TABLES, (b"r", b"u", b"s", b"c", b"p", b"w"), strict=True))


class Keys:
    """The names of the keys of an index in one epoch.

    Args:
        epoch: the random name that the index got when it was created or last emptied; empty: for names without an epoch.

    Attributes:
        FIELDS: the fields of :attr:`meta`: epoch and header, the highest number that a record has had, how many there are.
        meta: the hash that describes the index.
        prefix: the beginning of all names with an epoch.
        lock: the lock, which contains the name of the client that holds it, and expires.
    """

    FIELDS = b"header", b"last", b"count"

    def __init__(self, address: ServerAddress, epoch: bytes = b"") -> None:
        self.meta = f"{{index:{address.index}}}".encode()
        self.prefix = self.meta + epoch
        self.lock = self.meta + b":k"

    def row(self, table: RowTable, name: bytes) -> Cell:
        """Return the cell of a row."""
        start = self.prefix + _LETTERS[table]
        return (start, name) if table in _SCANNED else (start + name,)

    def buckets(self, table: BucketTable, scope: int, keys: Iterable[int]) -> list[Cell]:
        """Return the cells of buckets. Keys of permuted tables take three bytes."""
        start = self.prefix + (b"n" if table == NUMBERS else b"b") + scope.to_bytes(4, "big")
        return [
            (start + (key.to_bytes(8, "big") if key & ~_SHORT else (key >> 24 | key & 0xFFFF).to_bytes(3, "big")),)
            for key in keys
        ]

    def life(self, run: bytes) -> bytes:
        """Return the name of the sign of life of a run, which expires."""
        return self.meta + b":l" + run


Meta = Sequence["bytes | None"]
"""The contents of :attr:`Keys.FIELDS`; ``None`` for each if there is no index."""


def read_meta(connection: ServerConnection) -> Meta:
    """Read what describes the index at the address of *connection*."""
    return list(connection.call(b"HMGET", Keys(connection.address).meta, *Keys.FIELDS))


def encode_header(header: Header) -> bytes:
    """Return *header* with a new epoch, as it is stored."""
    return secrets.token_urlsafe(_EPOCH_BYTES).encode() + msgspec.json.encode(header)


def split_header(content: bytes) -> tuple[bytes, Header]:
    """Return the epoch and the header in *content*. Raises :class:`msgspec.DecodeError`."""
    epoch, brace, _ = content.partition(b"{")  # indexes of earlier versions had the epoch elsewhere
    return epoch, decode_header(content[len(epoch) :] if brace else b"")
