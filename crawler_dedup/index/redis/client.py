"""What one thread knows of an index on a server: cells, runs, and how it changes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.header import Header, decode_header
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.cells import VERSION_BYTES, Cell, CellCache, Versions
from crawler_dedup.index.redis.connection import ANSWER_SECONDS, ConnectionLost, ServerConnection, read_time
from crawler_dedup.index.redis.keys import Keys, meta_key
from crawler_dedup.index.runs import RunEntry, decode_run

_WRITER_SECONDS = 3600
_SLOWEST = 100_000  # bytes that reach a server in a second at least
_READ_KEYS = 1000  # that are asked for at once
Command = Sequence["bytes | str | int"]


@dataclass(frozen=True)
class KnownRuns:
    """The runs of an index.

    Attributes:
        version: changes whenever one begins, ends or is found dead; not with its signs of life.
        entries: of the runs that are entered, by number.
        dead: numbers of those that are over.
    """

    version: bytes = b""
    entries: dict[int, RunEntry] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()


@dataclass
class Changes:
    """What a transaction has read, and what it changes.

    Attributes:
        cells: the cells that it has read.
        counts: the number of records of sites that it has read.
        new: the contents of new records, in the order of their numbers.
        commands: what else is done, each a command of the server or of :data:`crawler_dedup.index.redis.scripts.COMMIT`.
        entries: of runs, as they are written.
        decoded: what stands in cells that are written.
        new_decoded: what stands in new records, as in *new*.
    """

    cells: dict[bytes, Cell] = field(default_factory=dict)
    counts: dict[bytes, int] = field(default_factory=dict)
    new: list[bytes] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    entries: dict[int, RunEntry] = field(default_factory=dict)
    decoded: dict[bytes, object] = field(default_factory=dict)
    new_decoded: list[object] = field(default_factory=list)


class Client:
    """Reads cells, which it keeps, and changes them if they are still what they were when they were read.

    For one thread at a time.

    Args:
        header: what the index is.
        cache_bytes: how many bytes of cells are kept.

    Attributes:
        keys: the names of what the index keeps.
        runs: as they were last read. They are checked with each commit.
        versions: for rows.
    """

    def __init__(self, address: ServerAddress, header: Header, cache_bytes: int) -> None:
        self.keys = Keys(address.index, b"")
        self.versions = Versions()
        self.runs = KnownRuns()
        self._header = header
        self._epoch = b""
        self._connection = ServerConnection(address)
        self._cache = CellCache(cache_bytes)
        self._opened = 0
        self._removed = b"0"
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
        while self._opened != self._connection.opened:
            self._cache.clear()
            self._epoch = read_epoch(self._connection, self._header)
            self.keys = Keys(self._connection.address.index, self._epoch)
            read = self._connection.evaluate(scripts.RUNS, [self.keys.meta], [self._epoch, self.keys.prefix])
            if read[0] != b"gone":
                self._note_runs(read)
                self._removed = read[3]
                self._opened = self._connection.opened

    def read(self, changes: Changes, keys: Iterable[bytes], end_bytes: int) -> list[Cell]:
        """Return cells, as *changes* has read them before, as they are known, or as they are now."""
        known = changes.cells
        missing = []
        for key in keys:
            if key not in known:
                cell = self._cache.get(key)
                if cell is None:
                    missing.append(key)
                else:
                    known[key] = cell
        for start in range(0, len(missing), _READ_KEYS):
            some = missing[start : start + _READ_KEYS]
            for key, content in zip(some, self._connection.call(b"MGET", *some), strict=True):
                cell = known[key] = Cell(content or b"", end_bytes)
                self._cache.put(key, cell)
        return [known[key] for key in keys]

    def read_ahead(self, wanted: Mapping[bytes, int]) -> None:
        """Read cells that are not known, so that a transaction need not read each of them by itself.

        Args:
            wanted: name of a cell → length of its end.
        """
        missing = [key for key in wanted if self._cache.get(key) is None]
        for start in range(0, len(missing) if len(missing) > 1 else 0, _READ_KEYS):
            some = missing[start : start + _READ_KEYS]
            for key, content in zip(some, self._connection.call(b"MGET", *some), strict=True):
                self._cache.put(key, Cell(content or b"", wanted[key]))

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
        """
        self._written += 1
        arguments = self._arguments(changes)
        keys = [self.keys.meta, *changes.cells]
        # A script that the server runs later, because it was stopped, changes nothing: its transaction has failed by then.
        patience = ANSWER_SECONDS + sum(len(word) for word in arguments if isinstance(word, bytes)) / _SLOWEST
        while True:
            try:
                until = int(1000 * (monotonic() + self._ahead + patience))
                known: list[bytes | str | int] = [
                    self._epoch,
                    self.keys.prefix,
                    self.runs.version,
                    self._removed,
                    until,
                ]
                answer = self._connection.evaluate(scripts.COMMIT, keys, [*known, *arguments])
            except ConnectionLost:
                return [] if self._was_written() else None
            if answer[0] == b"gone":
                self.forget()
                return None
            if answer[0] == b"late":
                self._learn_time()
                return None
            if answer[0] == b"done":
                return self._note_done(changes, answer)
            if self._note_stale(changes, answer):
                return None

    def scan(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Yield the names of keys, some at a time."""
        cursor = b"0"
        while True:
            cursor, names = self.call(b"SCAN", cursor, b"MATCH", pattern, b"COUNT", _READ_KEYS)
            if names:
                yield names
            if cursor == b"0":
                return

    def forget(self) -> None:
        """Forget all that was read: it is read again with the next transaction."""
        self._opened = 0

    def close(self) -> None:
        """Close the connection."""
        self._connection.drop()

    def _arguments(self, changes: Changes) -> list[bytes | str | int]:
        arguments: list[bytes | str | int] = [len(changes.counts)]
        for cell in changes.cells.values():
            arguments += (cell.offset, cell.end)
        for key, count in changes.counts.items():
            arguments += (key, count)
        for content in changes.new:
            arguments += (2, b"new", content)
        for command in changes.commands:
            arguments.append(len(command))
            arguments += command
        if changes.new or changes.commands:
            writer = self.keys.writer(self._writer)
            arguments += (5, b"SET", writer, self._written, b"EX", _WRITER_SECONDS)
            arguments += (4, b"HINCRBY", self.keys.meta, b"writes", 1)
        return arguments

    def _learn_time(self) -> None:
        """Learn by how much the clock of the server is ahead of ours. It may be set at any time."""
        self._ahead = read_time(self._connection) - monotonic()

    def _was_written(self) -> bool:
        """Return whether the last change was made, although its answer is lost. Raises :class:`ConnectionLost`."""
        written = self._connection.call(b"GET", self.keys.writer(self._writer))
        return written is not None and int(written) == self._written

    def _note_done(self, changes: Changes, answer: list[Any]) -> list[int]:
        """Note what was changed: the cells are known without reading them again."""
        _, removed, version, encoded = answer
        self._removed = removed
        numbers = [int.from_bytes(number, "little") for number in encoded]
        for number, content, decoded in zip(numbers, changes.new, changes.new_decoded, strict=True):
            self._cache.put(self.keys.record(number), Cell(content, VERSION_BYTES, decoded))
        for command in changes.commands:
            self._apply(command, encoded, changes.decoded)
        self.runs.entries.update(changes.entries)
        if version != self.runs.version:
            try:
                self.load_runs()
            except IndexUnusable:  # what was changed is stored: that is no failure of the transaction
                self.forget()
        return numbers

    def _apply(self, command: Command, encoded: Sequence[bytes], decoded: Mapping[bytes, object]) -> None:
        """Do to a known cell what *command* has done to the stored one."""
        name, key = command[0], command[1]
        cell = self._cache.get(key) if isinstance(key, bytes) else None
        if cell is None or not isinstance(key, bytes):
            return
        if name == b"APPEND":
            added = command[2]
        elif name == b"place":
            added = encoded[int(command[2]) - 1] + command[3]  # type: ignore[operator]
        elif name == b"SET":
            self._cache.put(key, Cell(command[2], cell.end_bytes, decoded.get(key)))  # type: ignore[arg-type]
            return
        else:
            self._cache.drop(key)
            return
        self._cache.put(key, Cell(cell.content + added, cell.end_bytes))  # type: ignore[operator]

    def _note_stale(self, changes: Changes, answer: list[Any]) -> bool:
        """Note what has changed; return whether that is anything of what *changes* has read."""
        _, runs, removed, self._removed, stale = answer
        names = list(changes.cells)
        is_stale = bool(stale) or runs != 0 or removed == 0
        if removed == b"all":
            self._cache.clear()
            is_stale = True
        elif removed != 0:
            for key in removed:
                self._cache.drop(key)
                is_stale = is_stale or key in changes.cells
        if runs != 0:
            self._note_runs(runs)
        for at in range(0, len(stale), 3):
            key, offset, now = names[stale[at]], int(stale[at + 1]), stale[at + 2]
            cell = changes.cells[key]
            if removed == 0 or offset == 0:
                self._cache.put(key, Cell(cell.content[:offset] + now, cell.end_bytes))
            else:
                self._cache.drop(key)
        return is_stale

    def load_runs(self) -> None:
        """Read the runs as they are now."""
        read = self._connection.evaluate(scripts.RUNS, [self.keys.meta], [self._epoch, self.keys.prefix])
        if read[0] != b"gone":
            self._note_runs(read)

    def _note_runs(self, read: list[Any]) -> None:
        version, flat, dead = read[:3]
        entries = {int.from_bytes(flat[at], "big"): decode_run(flat[at + 1]) for at in range(0, len(flat), 2)}
        self.runs = KnownRuns(version, entries, frozenset(int.from_bytes(run, "big") for run in dead))


def read_epoch(connection: ServerConnection, header: Header) -> bytes:
    """Return the epoch of an index.

    Raises:
        IndexGone: there is no index any more.
        IndexUnusable: it was emptied, and is another one than *header* says.
    """
    address = connection.address
    epoch, stored = connection.call(b"HMGET", meta_key(address.index), b"epoch", b"header")
    if epoch is None or stored is None:
        raise IndexGone(f"The index in {address} was removed.")
    if decode_header(stored) != header:
        raise IndexUnusable(f"The index in {address} was emptied for another configuration meanwhile.")
    current: bytes = epoch
    return current
