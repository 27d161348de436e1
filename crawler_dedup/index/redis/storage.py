"""Storage on a server: one transaction, which reads cells and collects changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from crawler_dedup.errors import IndexGone
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.layout import (
    COUNTS,
    NUMBER_BYTES,
    PAYLOAD_BYTES,
    RECORDS,
    RUNS,
    SITES,
    BucketTable,
    RowTable,
    limit_payloads,
)
from crawler_dedup.index.protocols import Matcher
from crawler_dedup.index.redis.changes import ChangedBucket, Changes
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.readahead import Offers, ReadAhead
from crawler_dedup.index.redis.runs import is_held_here
from crawler_dedup.index.storage import Storage
from crawler_dedup.signedpage import SignedPage

_PAYLOAD = np.dtype("<u8")
UNDIVIDED = 16
"""Number of pages up to which an offer is always decided in one transaction."""
_READ_RECORDS = 500
_MAY_BE_NEW = SITES, COUNTS
"""Tables whose rows are looked up before they exist. They may be assumed to be empty."""


class ServerStorage(Storage):
    """One transaction. Its changes are collected, not made.

    Args:
        client: the client by which it reads. What was read is checked when the changes are made.
        header: the header of the index.
        offers: the offers about which this transaction or a later one decides.
        is_reading: whether no changes will be made.

    Attributes:
        most_pages: maximum number of pages of an offer that are decided, but at least :data:`UNDIVIDED`.
    """

    def __init__(self, client: Client, header: Header, offers: Offers, *, is_reading: bool = False) -> None:
        self.most_pages = UNDIVIDED
        self._client = client
        self._keys = client.keys
        self._cells = client.cells
        self._header = header
        self._ahead = ReadAhead(client, offers)
        self._is_reading = is_reading
        self._changes = Changes()
        self._rows: dict[bytes, bytes] = {}  # the changed rows; empty: deleted
        self._buckets: dict[bytes, ChangedBucket] = {}
        self._listed: dict[RowTable, dict[bytes, None]] = {}  # names of the rows that were written, by table

    # Rows

    def read(self, table: RowTable, name: bytes) -> bytes | None:
        if table == RUNS:
            return self._changes.runs.get(name, self._client.runs.entries.get(name)) or None
        key = self._keys.row(table, name)
        changed = self._rows.get(key)
        if changed is None:
            changed = self._cells.read(self._changes, key, may_assume=table in _MAY_BE_NEW)
        return changed or None

    def write(self, table: RowTable, name: bytes, content: bytes, *, is_new: bool = False) -> None:
        if table == RUNS:
            self._changes.with_runs |= self.read(RUNS, name) is None
            self._changes.runs[name] = content
            return
        self._changes.count += is_new and table == RECORDS
        if table in self._keys.listed:
            self._changes.commands.append((b"SADD", self._keys.listed[table], name))
            self._listed.setdefault(table, {})[name] = None
        self._rows[self._keys.row(table, name)] = content

    def delete(self, table: RowTable, name: bytes) -> None:
        if table == RUNS:
            self._changes.with_runs = True
            self._changes.runs[name] = b""
            return
        self._changes.count -= table == RECORDS
        if table in self._keys.listed:
            self._changes.commands.append((b"SREM", self._keys.listed[table], name))
        self._rows[self._keys.row(table, name)] = b""

    def scan(self, table: RowTable) -> Iterator[tuple[bytes, bytes]]:
        if table == RUNS:
            runs = self._client.runs.entries | self._changes.runs
            yield from ((name, entry) for name, entry in runs.items() if entry)
        elif table == RECORDS:
            yield from self._scan_records()
        else:
            names = chain(self._client.scan_set(self._keys.listed[table]), self._listed.get(table, ()))
            for name in names if self._is_reading else dict.fromkeys(names):
                if content := self.read(table, name):
                    yield name, content
                if self._is_reading:
                    self._changes.cells.clear()  # there may be any number of them
            self._client.read_state()  # raises an error if the index was emptied meanwhile

    def _scan_records(self) -> Iterator[tuple[bytes, bytes]]:
        first = 1
        while (last := self._client.last_number()) >= first:  # also pages that are filed again meanwhile
            numbers = range(first, min(first + _READ_RECORDS, last + 1))
            names = [number.to_bytes(NUMBER_BYTES, "big") for number in numbers]
            contents = self._client.call(b"MGET", *(self._keys.row(RECORDS, name) for name in names))
            yield from ((name, content) for name, content in zip(names, contents, strict=True) if content)
            first = numbers.stop
        self._client.read_state()  # as above

    # Buckets

    def read_bucket(self, table: BucketTable, scope: int, key: int) -> bytes:
        return self._read_bucket(self._keys.bucket_names(table, scope, [key])[0])

    def _read_bucket(self, name: bytes) -> bytes:
        bucket = self._buckets.get(name)
        return self._cells.read(self._changes, name, may_assume=True) if bucket is None else bucket.content

    def read_buckets(self, table: BucketTable, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        names = self._keys.bucket_names(table, scope, keys)
        contents = self._cells.read_all(self._changes, names)
        if self._buckets:
            changed = self._buckets
            contents = [
                changed[name].content if name in changed else known for name, known in zip(names, contents, strict=True)
            ]
        if limit is not None:
            end = PAYLOAD_BYTES * limit_payloads(limit)
            contents = [content[:end] for content in contents]
        return np.frombuffer(b"".join(contents), dtype=_PAYLOAD)

    def append(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        for name in self._keys.bucket_names(table, scope, keys):
            self._change(name).add(payload.to_bytes(PAYLOAD_BYTES, "little"))

    def take(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        for name in self._keys.bucket_names(table, scope, keys):
            self._change(name).take(payload.to_bytes(PAYLOAD_BYTES, "little"))

    def _change(self, name: bytes) -> ChangedBucket:
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = ChangedBucket(self._read_bucket(name))
        return bucket

    # The index

    def new_number(self, highest: int) -> int:
        return self._client.new_number(highest)

    def count_records(self) -> int:
        return self._client.read_state().records

    def is_alive(self, run: int) -> bool | None:
        if run in self._client.runs.dead:
            return False
        # A command that only reads ends before a run may have given a sign of life.
        return True if self._is_reading or is_held_here(run) or self._client.has_shown_life(run) else None

    def require_own_run(self, run: int) -> None:
        if run in self._client.runs.dead:
            raise IndexGone(
                "This run has shown no sign of life for a minute, so it counts as dead: open the index again."
            )

    def header(self) -> Header | None:
        return self._header

    def choose_first(self, pages: Sequence[SignedPage]) -> Sequence[SignedPage]:
        most = max(self.most_pages, UNDIVIDED)
        return pages if len(pages) <= most else pages[:most]

    def read_ahead(self, pages: Sequence[SignedPage], matcher: Matcher) -> None:
        self._ahead.read(pages, matcher)

    # What is changed

    def what_was_read(self) -> Changes:
        """Return what was read, without the changes."""
        return Changes(self._changes.cells, self._changes.assumed)

    def collect(self) -> Changes:
        """Return what was read, and the changes."""
        changes, commands = self._changes, self._changes.commands
        for key, bucket in self._buckets.items():
            if bucket.is_rewritten:
                self._rows[key] = bucket.content
            else:
                changes.added += [(key, payload) for payload in bucket.added]
        for key, content in self._rows.items():
            if content:
                changes.written[key] = content
            else:
                commands.append((b"DEL", key))
        for run, entry in changes.runs.items():
            if entry:
                commands.append((b"HSET", self._keys.runs, run, entry))
            else:
                commands += [(b"HDEL", self._keys.runs, run), (b"SREM", self._keys.dead, run)]
        return changes
