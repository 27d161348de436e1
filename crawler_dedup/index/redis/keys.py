"""The names of the keys of an index on a server.

The tokens of all cells differ (:mod:`crawler_dedup.index.redis.changelog`), except those of the snapshots of one site.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterable

from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.changelog import TOKEN_BYTES

LAYOUT = 2
"""Version of the layout of the keys: it is raised when code for another version cannot read them."""

_TABLE_SHIFT = 40
_REST = (1 << _TABLE_SHIFT) - 1
_EPOCH_LETTERS = 4
_SITE_BYTES = TOKEN_BYTES - 2
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
        counts: the hash with the number of records of each site.
        runs: the hash of the entries of runs.
        dead: the set of the runs that are over.
        scopes: the set of the hashes of scopes.
        buckets: the beginning of the names of buckets of signatures.
        numbers: the beginning of the names of buckets of numbers of records.
    """

    def __init__(self, address: ServerAddress, epoch: bytes) -> None:
        self.meta = meta_key(address)
        self.prefix = prefix = self.meta + epoch
        self.state = prefix + b"v"
        self.log = prefix + b"g"
        self.counts = prefix + b"k"
        self.runs = prefix + b"u"
        self.dead = prefix + b"d"
        self.scopes = prefix + b"o"
        self.buckets = prefix + b"b"
        self.numbers = prefix + b"n"
        self._records = prefix + b"r"
        self._sites = prefix + b"s"
        self._lives = prefix + b"l"

    @property
    def singles(self) -> list[bytes]:
        """The names of the keys of which there is one in each epoch."""
        return [self.meta, self.state, self.log, self.counts, self.runs, self.dead, self.scopes]

    def record(self, number: int) -> bytes:
        """Return the name of a record."""
        return self._records + number.to_bytes(TOKEN_BYTES - 1, "big")

    def number_bucket(self, key: int) -> bytes:
        """Return the name of a bucket of numbers of records (:func:`crawler_dedup.index.layout.place_entry`)."""
        return self.numbers + key.to_bytes(TOKEN_BYTES - 1, "big")

    def bucket(self, scope: int, key: int) -> bytes:
        """Return the name of a bucket of signatures."""
        return self.bucket_names(scope, [key])[0]

    def bucket_names(self, scope: int, keys: Iterable[int]) -> list[bytes]:
        """Return the names of buckets of signatures."""
        starts, names = dict[int, bytes](), list[bytes]()
        for key in keys:
            high = key >> 16
            start = starts.get(high)
            if start is None:
                table = high >> _TABLE_SHIFT - 16
                is_wide = high & _REST >> 16 or table >> 8
                high_bytes = high.to_bytes(6, "big") if is_wide else table.to_bytes(1, "big")
                start = starts[high] = self.buckets + scope.to_bytes(4, "big") + high_bytes
            names.append(start + (key & 0xFFFF).to_bytes(2, "big"))
        return names

    def site(self, key: bytes) -> bytes:
        """Return the name of the row that describes a site (:class:`~crawler_dedup.index.redis.sites.SiteHead`)."""
        return self._name_site(key, b"s")

    def site_counts(self, key: bytes) -> bytes:
        """Return the name of the counts of a site."""
        return self._name_site(key, b"c")

    def snapshot(self, key: bytes, number: int) -> bytes:
        """Return the name of a snapshot of a site."""
        return self._name_site(key, b"p") + number.to_bytes(5, "big")

    def _name_site(self, key: bytes, kind: bytes) -> bytes:
        return self._sites + key[:_SITE_BYTES] + kind + key[_SITE_BYTES:]

    def life(self, run: bytes) -> bytes:
        """Return the name of the key that is the sign of life of a run."""
        return self._lives + run
