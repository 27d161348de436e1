"""What one thread knows of an index on a server: cells, runs, and how it changes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import pack
from time import monotonic
from typing import Any, cast

from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.header import Header, decode_header
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.cells import CellCache, Row, Versions
from crawler_dedup.index.redis.changes import Changes, Command, KnownRuns
from crawler_dedup.index.redis.connection import (
    ANSWER_SECONDS,
    ConnectionLost,
    ConnectionMoved,
    ServerConnection,
    ServerReadOnly,
    read_time,
)
from crawler_dedup.index.redis.copies import Copies
from crawler_dedup.index.redis.keys import Keys, meta_key

_WRITER_SECONDS = 3600
_READ_KEYS = 1000  # that are asked for at once
_KNOWN_SCOPES = 10_000


class Client:
    """Reads cells, which it keeps, and changes them if they are still what they were when they were read.

    For one thread at a time.

    Args:
        header: what the index is.
        cache_bytes: how many bytes of cells are kept.
        is_writing: whether changes are made that all copies of the index must have.

    Attributes:
        keys: the names of what the index keeps.
        epoch: the name of the life of the index that is read.
        runs: as they were last read. They are checked with each commit.
        versions: for rows.
    """

    def __init__(self, address: ServerAddress, header: Header, cache_bytes: int, *, is_writing: bool = False) -> None:
        self.keys = Keys(address, b"")
        self.versions = Versions()
        self.runs = KnownRuns()
        self._header = header
        self.epoch = b""
        self._connection = ServerConnection(address)
        self._copies = Copies(self._connection)
        self._is_writing = is_writing
        self._unconfirmed = 0
        self._cache = CellCache(cache_bytes)
        self._opened = 0
        self._removed = b"0"
        self._scopes: set[int] = set()
        self._writer = os.urandom(8)
        self._written = 0
        self._ahead = 0.0

    def prepare(self) -> None:
        """Make sure that there is a connection, and forget what was read before it was made.

        Raises:
            ConnectionLost: the server cannot be reached.
            IndexGone: there is no index any more.
            IndexUnusable: it was emptied for another configuration.
        """
        self._connection.ensure()
        if self._opened != self._connection.opened:
            self._learn_time()
        if self._is_writing:
            self._copies.look_from_time_to_time()
        while self._opened != self._connection.opened:
            self._cache.clear()
            self._scopes.clear()
            self.epoch = read_epoch(self._connection, self._header)
            self.keys = Keys(self._connection.address, self.epoch)
            read = self._connection.evaluate(scripts.RUNS, [self.keys.meta], [self.epoch, self.keys.prefix])
            if read[0] != b"gone":
                self._note_runs(read)
                self._removed = read[3]
                self._opened = self._connection.opened

    def read_buckets(self, changes: Changes, keys: Sequence[bytes]) -> list[bytes]:
        """Return the contents of buckets, as *changes* has read them before, as they are known, or as they are now."""
        known, missing = changes.buckets, list[bytes]()
        for key in keys:
            if key not in known:
                content = self._cache.get(key)
                if content is None:
                    missing.append(key)
                else:
                    known[key] = cast("bytes", content)
        for key, content in self._fetch(missing):
            known[key] = content
            self._cache.put(key, content)
        return [known[key] for key in keys]

    def read_row(self, changes: Changes, key: bytes) -> Row:
        """Return a row, likewise."""
        row = changes.rows.get(key) or cast("Row | None", self._cache.get(key))
        if row is None:
            row = Row(self.call(b"GET", key) or b"")
            self._cache.put(key, row)
        changes.rows[key] = row
        return row

    def read_ahead(self, buckets: Iterable[bytes], rows: Iterable[bytes]) -> None:
        """Read buckets and rows that are not known, so that a transaction need not read each of them by itself."""
        missing, missing_rows = self._cache.find_missing(buckets), set(self._cache.find_missing(rows))
        if len(missing) + len(missing_rows) > 1:
            for key, content in self._fetch([*missing, *missing_rows]):
                self._cache.put(key, Row(content) if key in missing_rows else content)

    def _fetch(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for start in range(0, len(keys), _READ_KEYS):
            some = keys[start : start + _READ_KEYS]
            contents = self._connection.call(b"MGET", *some)
            yield from ((key, content or b"") for key, content in zip(some, contents, strict=True))

    def find_new_scopes(self, scopes: set[int]) -> set[int]:
        """Return those of *scopes* that may not be entered yet."""
        return scopes - self._scopes

    def read_count(self, changes: Changes, key: bytes) -> int:
        """Return the number of records of a site, as *changes* has read it before, or as it is now."""
        if key not in changes.counts:
            changes.counts[key] = int(self.call(b"HGET", self.keys.counts, key) or 0)
        return changes.counts[key]

    def call(self, *words: bytes | str | int) -> Any:
        """Run a command and return its answer."""
        return self._connection.call(*words)

    def commit(self, changes: Changes) -> list[int] | None:
        """Make *changes* if what they have read is still so, and return the numbers of the new records; else ``None``.

        What has changed is known then, so that another attempt succeeds.

        Raises:
            ConnectionLost: whether they were made is not known.
            ServerReadOnly: they were not made.
        """
        self._written += 1
        arguments = self._arguments(changes)
        keys = [self.keys.meta, *changes.buckets, *changes.rows]
        if changes.needs_copies:  # a replica that leaves while they are made counts
            self._copies.look()
        while True:
            try:
                answer = self._evaluate(keys, arguments)
            except ConnectionMoved:
                return None
            except ServerReadOnly:
                raise
            except ConnectionLost:
                was_written = self._was_written()
                if was_written and changes.needs_copies:  # only the connection that is lost could wait for these
                    raise
                return [] if was_written else None
            match answer[0]:
                case b"done":
                    return self._note_done(changes, answer)
                case b"gone":
                    self.forget()
                    return None
                case b"late":
                    self._learn_time()
                    return None
            if self._note_stale(changes, answer):
                return None

    def _evaluate(self, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> list[Any]:
        # A script that the server runs later, because it was stopped, changes nothing: nobody waits for its answer then.
        until = int(1000 * (monotonic() + self._ahead + ANSWER_SECONDS))
        known = (self.epoch, self.keys.prefix, self.runs.version, self._removed, until)
        answer: list[Any] = self._connection.evaluate(scripts.COMMIT, keys, [*known, *arguments])
        return answer

    def confirm(self) -> None:
        """Wait until all copies of the index have what must not be lost.

        Raises:
            IndexUnusable: they do not have it, or that is not known.
        """
        opened, self._unconfirmed = self._unconfirmed, 0
        self._copies.confirm()
        if opened != self._connection.opened:  # to the same server, or to one that took its place
            raise ConnectionLost(f"The connection to the index in {self._connection.address} was lost.")

    def scan(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Yield the names of keys, some at a time."""
        cursor = b"0"
        while True:
            cursor, names = self.call(b"SCAN", cursor, b"MATCH", pattern, b"COUNT", _READ_KEYS)
            if names:
                yield names
            if cursor == b"0":
                return

    def read_last_number(self) -> int:
        """Return the number of the newest record. Raises :class:`IndexGone` where the index was emptied meanwhile."""
        epoch, last = self.call(b"HMGET", self.keys.meta, b"epoch", b"last")
        self.require_epoch(epoch)
        return int(last)

    def require_epoch(self, epoch: bytes | None) -> None:
        """Raise :class:`IndexGone` where *epoch* is not the name of the life of the index that is read."""
        if epoch != self.epoch:
            raise IndexGone(f"The index in {self._connection.address} was emptied meanwhile.")

    def forget(self) -> None:
        """Forget all that was read: it is read again with the next transaction."""
        self._opened = 0

    def close(self) -> None:
        """Close the connection."""
        self._connection.drop()

    def _arguments(self, changes: Changes) -> list[bytes | str | int]:
        """Return what :data:`crawler_dedup.index.redis.scripts.COMMIT` is told of *changes*."""
        arguments: list[bytes | str | int] = [
            pack(f"<{len(changes.buckets)}I", *map(len, changes.buckets.values())),
            b"".join([row.check for row in changes.rows.values()]),
            len(changes.counts),
        ]
        for key, count in changes.counts.items():
            arguments += (key, count)
        if changes.new or changes.commands or changes.needs_copies:
            arguments += (self.keys.writer(self._writer), self._written, _WRITER_SECONDS, changes.count)
        for content in changes.new:
            arguments += (2, b"new", content)
        for command in changes.commands:
            arguments.append(len(command))
            arguments += command
        return arguments

    def _learn_time(self) -> None:
        """Learn by how much the clock of the server is ahead of ours. It may be set at any time."""
        self._ahead = read_time(self._connection) - monotonic()

    def _was_written(self) -> bool:
        """Return whether the last change was made, although its answer is lost. Raises :class:`ConnectionLost`."""
        name = self.keys.writer(self._writer)
        try:
            written = self._connection.call(b"GET", name)
        except ConnectionMoved:
            try:
                written = self._connection.call(b"GET", name)
            except ConnectionMoved as error:  # which would mean that nothing was made
                raise ConnectionLost(*error.args) from None
        return written is not None and int(written) == self._written

    def _note_done(self, changes: Changes, answer: list[Any]) -> list[int]:
        """Note what was changed: the cells are known without reading them again."""
        if changes.needs_copies:
            self._unconfirmed = self._unconfirmed or self._connection.opened
        _, removed, version, encoded = answer
        self._removed = removed
        numbers = [int.from_bytes(number, "little") for number in encoded]
        for number, content, decoded in zip(numbers, changes.new, changes.new_decoded, strict=True):
            self._cache.put(self.keys.record(number), Row(content, decoded))
        for command in changes.commands:
            self._apply(command, encoded, changes.decoded)
        self._scopes = changes.scopes | (self._scopes if len(self._scopes) < _KNOWN_SCOPES else set())
        self.runs.entries.update(changes.entries)
        if version != self.runs.version:
            try:
                self.load_runs()
            except IndexUnusable:  # what was changed is stored: that is no failure of the transaction
                self.forget()
        return numbers

    def _apply(self, command: Command, encoded: Sequence[bytes], decoded: Mapping[bytes, object]) -> None:
        """Do to a known cell what *command* has done to the stored one."""
        name, key = command[0], cast("bytes", command[1])
        if name == b"APPEND":
            self._cache.append(key, cast("bytes", command[2]))
        elif name == b"place":
            self._cache.append(key, encoded[int(command[2]) - 1] + cast("bytes", command[3]))
        elif name == b"SET":
            self._cache.replace(key, cast("bytes", command[2]), decoded.get(key))
        else:
            self._cache.drop(key)

    def _note_stale(self, changes: Changes, answer: list[Any]) -> bool:
        """Note what has changed; return whether that is anything of what *changes* has read."""
        _, runs, removed, self._removed, stale = answer
        names = [*changes.buckets, *changes.rows]
        is_stale = bool(stale) or runs != 0 or removed == 0
        if removed == b"all":
            self._cache.clear()
            self._scopes.clear()
            is_stale = True
        elif removed != 0:
            for key in removed:
                self._cache.drop(key)
                is_stale = is_stale or key in changes.buckets
        if runs != 0:
            self._note_runs(runs)
        for at in range(0, len(stale), 3):
            key, offset, now = names[stale[at]], int(stale[at + 1]), stale[at + 2]
            if key in changes.rows:
                self._cache.put(key, Row(now))
            elif removed == 0 or offset == 0:
                self._cache.put(key, changes.buckets[key][:offset] + now)
            else:
                self._cache.drop(key)
        return is_stale

    def load_runs(self) -> None:
        """Read the runs as they are now."""
        read = self._connection.evaluate(scripts.RUNS, [self.keys.meta], [self.epoch, self.keys.prefix])
        if read[0] != b"gone":
            self._note_runs(read)

    def _note_runs(self, read: list[Any]) -> None:
        self.runs = KnownRuns.decode(*read[:3])


def read_epoch(connection: ServerConnection, header: Header) -> bytes:
    """Return the epoch of the shard of an index.

    Raises:
        IndexGone: there is no index any more.
        IndexUnusable: it was emptied, and is another one than *header* says.
    """
    address = connection.address
    epoch, stored, shards = connection.call(b"HMGET", meta_key(address), b"epoch", b"header", b"shards")
    if epoch is None or stored is None:
        raise IndexGone(f"The index in {address} was removed.")
    if decode_header(stored) != header or int(shards or 1) != address.shards:
        raise IndexUnusable(f"The index in {address} was emptied for another configuration meanwhile.")
    current: bytes = epoch
    return current
