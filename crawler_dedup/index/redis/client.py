"""What one thread knows of an index on a server: cells, runs, and how it changes them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from struct import pack
from time import monotonic
from typing import Any

from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.header import Header, decode_header
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.cells import Versions
from crawler_dedup.index.redis.changes import Changes, KnownRuns
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
from crawler_dedup.index.redis.knowncells import KnownCells

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
        cells: as they are known. They are checked, too.
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
        self.cells = KnownCells(self._connection, cache_bytes, may_assume=is_writing)
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
            self.cells.clear()
            self._scopes.clear()
            self.epoch = read_epoch(self._connection, self._header)
            self.keys = Keys(self._connection.address, self.epoch)
            read = self._connection.evaluate(scripts.RUNS, [self.keys.meta], [self.epoch, self.keys.prefix])
            if read[0] != b"gone":
                self._note_runs(read)
                self._removed = read[3]
                self._opened = self._connection.opened

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
        self.cells.note_done(changes, encoded)
        for number, content, decoded in zip(numbers, changes.new, changes.new_decoded, strict=True):
            self.cells.put_record(self.keys.record(number), content, decoded)
        self._scopes = changes.scopes | (self._scopes if len(self._scopes) < _KNOWN_SCOPES else set())
        self.runs.entries.update(changes.entries)
        if version != self.runs.version:
            try:
                self.load_runs()
            except IndexUnusable:  # what was changed is stored: that is no failure of the transaction
                self.forget()
        return numbers

    def _note_stale(self, changes: Changes, answer: list[Any]) -> bool:
        """Note what has changed; return whether that is anything of what *changes* has read."""
        _, runs, removed, self._removed, stale = answer
        is_stale = self.cells.note_stale(changes, removed, stale) or runs != 0 or removed == 0
        if removed == b"all":
            self._scopes.clear()
        if runs != 0:
            self._note_runs(runs)
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
