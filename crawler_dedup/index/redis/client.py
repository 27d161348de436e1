"""The client of an index on a server: it reads and caches cells and runs, and commits changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import msgspec

from crawler_dedup.errors import ConnectionLost, IndexDamaged, IndexGone, IndexUnusable
from crawler_dedup.index.header import Header, decode_header
from crawler_dedup.index.layout import RUN_NAME_BYTES
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.changelog import RUNS, State, make_marks, make_tokens, read_tokens
from crawler_dedup.index.redis.changes import Changes, KnownRuns
from crawler_dedup.index.redis.connection import ANSWER_SECONDS, ServerConnection, ServerReadOnly, read_time
from crawler_dedup.index.redis.keys import LAYOUT, Keys, meta_key
from crawler_dedup.index.redis.knowncells import KnownCells

_SCANNED = 500
_RESERVED = 64


class Client:
    """Reads and caches cells, and changes them unless a cell that was read has changed since.

    It must be used by one thread at a time.

    Args:
        header: the header that the index must have.
        cache_bytes: maximum size of the cached cells.
        may_assume: whether cells may be assumed to be empty, because :meth:`commit` checks them before anything is answered.

    Attributes:
        keys: the names of the keys of the index.
        epoch: the random name that the index got when it was created or last emptied.
        runs: the runs as they were last read. Each commit checks that they have not changed.
        cells: the known cells. Each commit checks those that were read.
        runs_changed: called when another client has entered or ended a run.
    """

    def __init__(self, address: ServerAddress, header: Header, cache_bytes: int, *, may_assume: bool = False) -> None:
        self.keys = Keys(address, b"")
        self.runs = KnownRuns()
        self._header = header
        self.epoch = b""
        self._connection = ServerConnection(address)
        self.runs_changed: Callable[[], None] = lambda: None
        self.cells = KnownCells(self._connection, cache_bytes, may_assume=may_assume)
        self._opened = 0
        self._state = b""
        self._marks = make_marks()
        self._reserved = range(0)
        self._ahead = 0.0
        self._created = monotonic()
        self._alive: set[int] = set()

    def prepare(self) -> None:
        """Connect if there is no connection; after a new connection, forget all cells and read the runs again.

        Raises:
            ConnectionLost: the server cannot be reached.
            IndexGone: the index was removed.
            IndexUnusable: the index was emptied for another configuration.
        """
        self._connection.ensure()
        if self._opened != self._connection.opened:
            self._learn_time()
        while self._opened != self._connection.opened:
            self._reserved = range(0)
            self.epoch = read_epoch(self._connection, self._header)
            self.keys = Keys(self._connection.address, self.epoch)
            self.cells.begin(self.keys.prefix)
            if (state := self._read_runs()) is not None:
                self._state, self._opened = state, self._connection.opened

    def has_shown_life(self, run: int) -> bool:
        """Return whether *run* has given a sign of life since this client was created."""
        name = self.keys.life(run.to_bytes(RUN_NAME_BYTES, "big"))
        if run not in self._alive and float(self.call(b"GET", name) or 0) > self._created + self._ahead:
            self._alive.add(run)
        return run in self._alive

    def new_number(self, highest: int) -> int:
        """Return a number for a new record, higher than *highest*, which a record has. Numbers are reserved in blocks."""
        first = max(self._reserved.start, highest + 1)
        if first >= self._reserved.stop:
            last = int(self.call(b"INCRBY", self.keys.last, _RESERVED))
            first = last - _RESERVED + 1
            self._reserved = range(first, last + 1)
        self._reserved = range(first + 1, self._reserved.stop)
        return first

    def last_number(self) -> int:
        """Return a number that is not lower than that of any record."""
        return int(self.call(b"GET", self.keys.last) or 0)

    def scan_set(self, name: bytes) -> Iterator[bytes]:
        """Yield the members of a set that are in it during the whole call."""
        cursor = b"0"
        while True:
            cursor, members = self.call(b"SSCAN", name, cursor, b"COUNT", _SCANNED)
            yield from dict.fromkeys(members)
            if cursor == b"0":
                return

    def call(self, *words: bytes | str | int) -> Any:
        """Run a command and return its answer."""
        return self._connection.call(*words)

    def commit(self, changes: Changes) -> bool:
        """Make *changes*; return false, and change nothing, if a cell that was read has changed.

        After that, the client knows the present contents of these cells, so that another attempt can succeed.

        Raises:
            ConnectionLost: it is not known whether the changes were made.
            ServerReadOnly: the changes were not made.
        """
        mark = next(self._marks)
        keys = [
            self.keys.state,
            self.keys.log,
            *changes.assumed,
            *(name for name, _ in changes.added),
            *changes.written,
        ]
        # If the server was stopped and runs the script too late, nothing is changed: nobody waits for the answer any more.
        until = int(1000 * (monotonic() + self._ahead + ANSWER_SECONDS))
        arguments = [self.keys.prefix, self._state, until, *self._arguments(changes, mark)]
        try:
            answer: list[Any] = self._connection.evaluate(scripts.COMMIT, keys, arguments)
        except ServerReadOnly:
            raise
        except ConnectionLost:
            return self._was_written(mark)
        match answer[0]:
            case b"done":
                self._note_done(changes, answer)
                return True
            case b"stale":
                self._note_stale(changes, answer)
            case b"late":
                self._learn_time()
            case _:
                self.forget()
        return False

    def read_state(self) -> State:
        """Return the state of the index. Raises :class:`IndexGone` if the index was emptied meanwhile."""
        state = self.call(b"GET", self.keys.state)
        if state is None:
            raise self._complain_of_emptying()
        return State.decode(state)

    def require_epoch(self, epoch: bytes | None) -> None:
        """Raise :class:`IndexGone` if the index no longer has *epoch*, because it was emptied."""
        if epoch != self.epoch:
            raise self._complain_of_emptying()

    def _complain_of_emptying(self) -> IndexGone:
        return IndexGone(f"The index in {self._connection.address} was emptied meanwhile.")

    def damaged_error(self, error: msgspec.DecodeError) -> IndexDamaged:
        """Make an error that says that the index is damaged, why, and the way out."""
        return IndexDamaged(
            f"The index in {self._connection.address} is damaged: {error}. Export it, and import the file into another"
            " ?index=NAME."
        )

    def forget(self) -> None:
        """Forget everything that was read; :meth:`prepare` reads it again."""
        self._opened = 0

    def close(self) -> None:
        """Close the connection."""
        self._connection.drop()

    def _arguments(self, changes: Changes, mark: bytes) -> list[bytes | str | int]:
        """Return the arguments of :data:`crawler_dedup.index.redis.scripts.COMMIT` that describe *changes*."""
        prefix_length = len(self.keys.prefix)
        arguments: list[bytes | str | int] = [make_tokens(changes.cells, prefix_length), len(changes.assumed)]
        if not changes.changes_anything:
            return arguments
        entry = make_tokens(changes.changed_names(), prefix_length) + (RUNS if changes.with_runs else b"") + mark
        arguments += (entry, changes.count, b"".join([payload for _, payload in changes.added]), len(changes.written))
        arguments += changes.written.values()
        for command in changes.commands:
            arguments.append(len(command))
            arguments += command
        return arguments

    def _learn_time(self) -> None:
        """Measure how far the clock of the server, which may be set at any time, is ahead of :func:`monotonic`."""
        self._ahead = read_time(self._connection) - monotonic()

    def _was_written(self, mark: bytes) -> bool:
        """Return whether the changes with *mark* were made, after the answer of the server was lost.

        Raises:
            ConnectionLost: this cannot be determined.
        """
        keys = self.keys
        state, log = self.call(b"MGET", keys.state, keys.log)
        if state is None:  # the index was emptied
            return False
        if mark in (log or b""):
            return True
        missed = State.decode(state).position - State.decode(self._state).position
        if missed > len(log or b""):
            raise ConnectionLost(f"Cannot determine whether the last write to {self._connection.address} was applied.")
        return False

    def _note_done(self, changes: Changes, answer: list[Any]) -> None:
        """Update what is known after a commit, so that the changed cells need not be read again."""
        _, state, noted = answer
        self._forget_changed(noted)
        self._state = state
        self.cells.note_done(changes)
        self.runs.entries.update(changes.runs)
        if changes.with_runs:
            try:
                self._read_runs()
            except IndexUnusable:  # the changes are stored: the transaction has not failed
                self.forget()

    def _note_stale(self, changes: Changes, answer: list[Any]) -> None:
        """Update what is known after a commit that was refused because cells had changed."""
        _, state, noted, contents = answer
        self._forget_changed(noted)
        self.cells.note_stale(changes, contents)
        self._state = state

    def _forget_changed(self, noted: bytes) -> None:
        """Forget what other clients have changed, according to *noted*, their entries in the log."""
        if noted:
            tokens = set(read_tokens(noted))
            self.cells.drop_changed(tokens)
            if RUNS in tokens:
                self._read_runs()
                self.runs_changed()

    def _read_runs(self) -> bytes | None:
        """Read the runs; return the state of the index at that moment, ``None`` if there is no index any more."""
        read = self._connection.evaluate(scripts.RUNS, [self.keys.state], [self.keys.prefix])
        if read[0] == b"gone":
            return None
        state, entries, dead = read
        self.runs = KnownRuns.decode(entries, dead)
        current: bytes = state
        return current


def read_epoch(connection: ServerConnection, header: Header) -> bytes:
    """Return the epoch of an index.

    Raises:
        IndexGone: the index was removed.
        IndexUnusable: the index was emptied, and has another header or layout now.
    """
    address = connection.address
    epoch, stored, layout = connection.call(b"HMGET", meta_key(address), b"epoch", b"header", b"layout")
    if epoch is None or stored is None:
        raise IndexGone(f"The index in {address} was removed.")
    require_layout(address, layout)
    if decode_header(stored) != header:
        raise IndexUnusable(f"The index in {address} was emptied for another configuration meanwhile.")
    current: bytes = epoch
    return current


def require_layout(address: ServerAddress, layout: bytes | None) -> None:
    """Raise :class:`IndexUnusable` if this version cannot read *layout*, the layout of the keys of an index."""
    number = int(layout or 1)
    if number != LAYOUT:
        raise IndexUnusable(
            f"The index in {address} was made by a version of crawler-dedup that lays out keys in another way (layout"
            f" {number}, this one uses {LAYOUT}). Export it with that version, and import the file here."
        )
