"""The names of the keys of an index on a server: rows and buckets are strings, the names of listed rows are in sets."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.header import Header, decode_header
from crawler_dedup.index.layout import NUMBERS, OVERRIDES, ROW_TABLES, RUNS, SITES, BucketTable, RowTable
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.connection import ServerConnection

LAYOUT = 4
"""Version of the layout of the keys: it is raised when code for another version cannot read them."""

_TABLE_SHIFT = 40
_SHORT = 0xFF << _TABLE_SHIFT | 0xFFFF
_EPOCH_BYTES = 3  # four letters
LISTED = RUNS, SITES, OVERRIDES
"""Tables that are scanned: the names of their rows are in a set."""
_LETTERS: dict[RowTable, bytes] = dict(zip(ROW_TABLES, (b"r", b"u", b"s", b"c", b"p", b"w"), strict=True))
"""Table → the beginning of the names of its rows."""


def make_epoch() -> bytes:
    """Return a random epoch for an index that is created or emptied: keys of earlier epochs cannot be reached then."""
    return secrets.token_urlsafe(_EPOCH_BYTES).encode()


def meta_key(address: ServerAddress) -> bytes:
    """Return the name of the hash with epoch, header and layout of the index at *address*."""
    return b"{%s}" % address.tag


class Keys:
    """The names of the keys of an index in one epoch.

    Attributes:
        address: the address of the index.
        META: the fields of :attr:`meta`.
        epoch: the random name that the index got when it was created or last emptied; empty: not known yet.
        meta: the hash with epoch, header and layout.
        prefix: the beginning of all other names.
        count: the number of records.
        last: the highest number that a record has had.
        lock: the lock, which contains the name of the client that holds it.
        state: these three.
        listed: for tables that are scanned, the set of the names of their rows.
    """

    META = b"epoch", b"header", b"layout"

    def __init__(self, address: ServerAddress, epoch: bytes) -> None:
        self.address = address
        self.epoch = epoch
        self.meta = meta_key(address)
        self.prefix = prefix = self.meta + epoch
        self.count = prefix + b"z"
        self.last = prefix + b"i"
        self.lock = prefix + b"k"
        self.state = self.lock, self.last, self.count
        self.listed = {table: prefix + _LETTERS[table].upper() for table in LISTED}

    def row(self, table: RowTable, name: bytes) -> bytes:
        """Return the name of a row."""
        return self.prefix + _LETTERS[table] + name

    def buckets(self, table: BucketTable, scope: int, keys: Iterable[int]) -> list[bytes]:
        """Return the names of buckets. Keys of permuted tables take three bytes."""
        start = self.prefix + (b"n" if table == NUMBERS else b"b") + scope.to_bytes(4, "big")
        return [
            start + (key.to_bytes(8, "big") if key & ~_SHORT else (key >> 24 | key & 0xFFFF).to_bytes(3, "big"))
            for key in keys
        ]

    def life(self, run: bytes) -> bytes:
        """Return the name of the sign of life of a run, which expires, and stays if the index is emptied."""
        return self.meta + b":l" + run

    def mark(self, client: bytes) -> bytes:
        """Return the name of the key that says how far a client has come with its latest transaction."""
        return self.prefix + b"m" + client


Meta = Sequence["bytes | None"]
"""Epoch, header and layout of an index; ``None`` for each if there is none."""


def read_meta(connection: ServerConnection) -> Meta:
    """Read what describes the index at the address of *connection*."""
    meta: Meta = connection.call(b"HMGET", meta_key(connection.address), *Keys.META)
    return meta


def read_header(address: ServerAddress, meta: Meta) -> Header | None:
    """Return the header of an index; ``None`` if there is none. Raises :class:`IndexUnusable` for another layout."""
    _, header, layout = meta
    if header is None:
        return None
    if int(layout or 1) != LAYOUT:
        raise IndexUnusable(
            f"The index in {address} was made by a version of crawler-dedup that lays out keys in another way (layout"
            f" {int(layout or 1)}, this one uses {LAYOUT}). Export it with that version, and import the file here."
        )
    return decode_header(header)


def require_epoch(address: ServerAddress, meta: Meta, header: Header) -> bytes:
    """Return the epoch of an index that must have *header*.

    Raises:
        IndexGone: the index was removed.
        IndexUnusable: the index was emptied, and has another header or layout now.
    """
    stored = read_header(address, meta)
    if stored is None or meta[0] is None:
        raise IndexGone(f"The index in {address} was removed.")
    if stored != header:
        raise IndexUnusable(f"The index in {address} was emptied for another configuration meanwhile.")
    return meta[0]


def read_epoch(connection: ServerConnection, header: Header) -> bytes:
    """Read the epoch of an index. Raises as :func:`require_epoch`."""
    return require_epoch(connection.address, read_meta(connection), header)
