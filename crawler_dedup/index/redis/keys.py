"""The names of the keys of an index on a server.

The tokens of all cells differ (:mod:`crawler_dedup.index.redis.changelog`), except those of the snapshots of one site, and
with a probability of 2^-56 those of two sites.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterable

from crawler_dedup.index.layout import COUNTS, NUMBERS, OVERRIDES, RECORDS, SITES, SNAPSHOTS, BucketTable, RowTable
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.changelog import TOKEN_BYTES

LAYOUT = 3
"""Version of the layout of the keys: it is raised when code for another version cannot read them."""

_TABLE_SHIFT = 40
_REST = (1 << _TABLE_SHIFT) - 1
_EPOCH_LETTERS = 4
_LETTERS = string.ascii_letters + string.digits  # none is special in the pattern of a scan


def make_epoch() -> bytes:
    """Return a random epoch for an index that is created or emptied: keys of earlier epochs cannot be reached then."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_EPOCH_LETTERS)).encode()


def meta_key(address: ServerAddress) -> bytes:
    """Return the name of the hash that describes the index at *address*."""
    return b"{%s}" % address.tag


class Keys:
    """The names of the keys of an index in one epoch.

    Attributes:
        meta: the hash with header, epoch and layout.
        prefix: the beginning of all other names.
        state: the state of the index (:class:`crawler_dedup.index.redis.changelog.State`).
        log: the log of changes (:mod:`crawler_dedup.index.redis.changelog`).
        last: the highest number that a record may have.
        listed: for tables that are scanned, the set of the names of their rows.
        runs: the hash of the entries of runs.
        dead: the set of the runs that are over.
    """

    def __init__(self, address: ServerAddress, epoch: bytes) -> None:
        self.meta = meta_key(address)
        self.prefix = prefix = self.meta + epoch
        self.state = prefix + b"v"
        self.log = prefix + b"g"
        self.last = prefix + b"i"
        self.listed = {SITES: prefix + b"k", OVERRIDES: prefix + b"y"}
        self.runs = prefix + b"u"
        self.dead = prefix + b"d"
        self._signatures = prefix + b"b"
        self._numbers = prefix + b"n"
        letters = {RECORDS: b"r", SITES: b"s", COUNTS: b"c", SNAPSHOTS: b"p", OVERRIDES: b"w"}
        self._rows: dict[RowTable, bytes] = {table: prefix + letter for table, letter in letters.items()}
        self._lives = prefix + b"l"

    @property
    def singles(self) -> list[bytes]:
        """The names of the keys of which there is one in each epoch."""
        return [self.meta, self.state, self.log, self.last, self.runs, self.dead, *self.listed.values()]

    def row(self, table: RowTable, name: bytes) -> bytes:
        """Return the name of a row, which must not be that of a run."""
        return self._rows[table] + name.rjust(TOKEN_BYTES - 1, b"\0")

    def bucket_names(self, table: BucketTable, scope: int, keys: Iterable[int]) -> list[bytes]:
        """Return the names of buckets."""
        if table == NUMBERS:
            return [self._numbers + key.to_bytes(TOKEN_BYTES - 1, "big") for key in keys]
        starts, names = dict[int, bytes](), list[bytes]()
        for key in keys:
            high = key >> 16
            start = starts.get(high)
            if start is None:
                number = high >> _TABLE_SHIFT - 16
                is_wide = high & _REST >> 16 or number >> 8
                high_bytes = high.to_bytes(6, "big") if is_wide else number.to_bytes(1, "big")
                start = starts[high] = self._signatures + scope.to_bytes(4, "big") + high_bytes
            names.append(start + (key & 0xFFFF).to_bytes(2, "big"))
        return names

    def life(self, run: bytes) -> bytes:
        """Return the name of the key that is the sign of life of a run."""
        return self._lives + run
