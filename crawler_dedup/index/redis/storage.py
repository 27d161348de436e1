"""Storage on a server: a transaction reads cells, which are rows and buckets, and makes all its changes in one step.

The last step (``MULTI`` … ``EXEC``) is refused if another client has changed the index since the transaction began
(``WATCH``), and the transaction is repeated. After three refusals it takes a lock: while that lasts, nobody else begins or
makes a change. The lock expires, so that a client that was killed does not stop the others for long.

The *mark* of the client changes with the last step: if the answer to that is lost, the mark tells whether it was made. Until
then, the mark expires with the lock, and the last step is refused as well: a server that was stopped makes no change late.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import msgspec
import numpy as np

from crawler_dedup.errors import ConnectionLost, IndexDamaged, IndexGone, IndexUnusable
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.layout import (
    NUMBER_BYTES,
    RECORDS,
    BucketTable,
    RowTable,
    limit_payloads,
)
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.connection import Command, ServerConnection
from crawler_dedup.index.redis.keys import Keys, read_epoch, require_epoch
from crawler_dedup.index.redis.runs import is_run_alive
from crawler_dedup.index.storage import Storage

LOCK_SECONDS = 2.0
"""Seconds after which a transaction, and its lock, expire. Each further attempt with a lock has twice as long."""
_WITHOUT_LOCK = 3  # attempts
_LOCK_PAUSE = 0.002
_LOCK_PATIENCE = 30.0
_MARK_SECONDS = 60
_PAYLOAD = np.dtype("<u8")
_AT_ONCE = 1_000
"""Maximum number of cells that one command reads."""


class Client:
    """Begins and makes transactions on an index. It must be used by one thread at a time.

    Args:
        header: the header that the index must have.

    Attributes:
        connection: the connection, which only this client uses.
        keys: the names of the keys of the index.
        header: the header of the index.
        opened: the time of :func:`time.monotonic` when it was made.
    """

    def __init__(self, address: ServerAddress, header: Header) -> None:
        self.connection = ServerConnection(address)
        self.keys = Keys(address, b"")
        self.header = header
        self._name = secrets.token_bytes(8)
        self._marks = count(1)
        self.opened = time.monotonic()

    def read(self) -> ServerStorage:
        """Return a storage that only reads, each cell as it is then. Raises as :meth:`begin`."""
        self.keys = Keys(self.connection.address, read_epoch(self.connection, self.header))
        return ServerStorage(self, self.connection.call(b"MGET", *self.keys.state), is_reading=True)

    def begin(self, attempt: int = 0) -> ServerStorage:
        """Begin a transaction, and take the lock for it unless it is one of the first attempts.

        Raises:
            ConnectionLost: the server cannot be reached.
            IndexGone: the index was removed.
            IndexUnusable: the index was emptied for another configuration, or others hold the lock for too long.
        """
        until, locks = time.monotonic() + _LOCK_PATIENCE, attempt >= _WITHOUT_LOCK
        lasts = round(1000 * LOCK_SECONDS) << max(0, attempt - _WITHOUT_LOCK)
        address, run = self.connection.address, self.connection.run
        self.connection.ensure()
        while time.monotonic() < until:
            keys = self.keys
            *_, meta, state = run(
                (b"UNWATCH",),
                (b"SET", keys.mark(self._name), b"", b"PX", lasts),
                *([(b"SET", keys.lock, self._name, b"NX", b"PX", lasts)] if locks else ()),
                (b"WATCH", keys.meta, *keys.state, keys.mark(self._name)),
                (b"HMGET", keys.meta, *Keys.META),
                (b"MGET", *keys.state),
            )
            if (epoch := require_epoch(address, meta, self.header)) != keys.epoch:
                self.keys = Keys(address, epoch)
            elif state[0] == (self._name if locks else None):
                return ServerStorage(self, state)
            else:
                while run((b"EXISTS", keys.lock))[0] and time.monotonic() < until:
                    time.sleep(_LOCK_PAUSE)
        raise IndexUnusable(f"The index in {address} is locked by another process.")

    def commit(self, storage: ServerStorage, changes: Sequence[Command]) -> bool:
        """Make *changes* and release the lock.

        Return false, and change nothing, if somebody else has changed the index or the transaction has expired.

        Raises:
            ConnectionLost: it is not known whether the changes were made.
        """
        keys, value = storage.keys, b"%d" % next(self._marks)
        mark = (b"SET", keys.mark(self._name), value, b"EX", _MARK_SECONDS)
        try:
            done = self.connection.run((b"MULTI",), mark, *changes, (b"DEL", keys.lock), (b"EXEC",))[-1]
        except ConnectionLost:  # with another mark, what was sent before is refused
            last = self.connection.call(b"SET", keys.mark(self._name), b"", b"EX", _MARK_SECONDS, b"GET")
            return bool(last == value)
        return done is not None

    def damaged_error(self, reason: object) -> IndexDamaged:
        """Make an error that says that the index is damaged, why, and the way out."""
        address = self.connection.address
        return IndexDamaged(
            f"The index in {address} is damaged: {reason}. Export it, and import the file into another ?index=NAME."
        )


class ServerStorage(Storage):
    """One transaction. Its changes are collected, not made.

    Args:
        state: the contents of :attr:`Keys.state`.
        is_reading: whether no changes will be made: cells are read again whenever they are needed.

    Attributes:
        keys: the names of the keys of the index.
    """

    def __init__(self, client: Client, state: Sequence[bytes | None], *, is_reading: bool = False) -> None:
        self.keys = client.keys
        self._client = client
        self._run = client.connection.run
        self._last, self._count = (max(0, int(number or 0)) for number in state[1:])
        self._is_reading = is_reading
        self._known: dict[bytes, bytes] = {}  # the cells as they were read
        self._written: dict[bytes, bytes] = {}  # new contents; empty: deleted
        self._added: dict[bytes, bytes] = {}  # what is appended to buckets that are not rewritten
        self._listed: dict[RowTable, set[bytes]] = {}  # names of the rows that were written, by table
        self._commands: list[Command] = []

    # Cells

    def fetch(self, names: Iterable[bytes]) -> None:
        """Read those of the cells *names* that are not known, together."""
        missing = [name for name in dict.fromkeys(names) if name not in self._known]
        for at in range(0, len(missing), _AT_ONCE):
            some = missing[at : at + _AT_ONCE]
            contents = self._run((b"MGET", *some))[0]
            self._known.update((name, content or b"") for name, content in zip(some, contents, strict=True))

    def _cells(self, names: Sequence[bytes]) -> list[bytes]:
        """Return the contents of cells, with the changes that were made so far."""
        self.fetch(names)
        cells = [self._written.get(name, self._known[name]) + self._added.get(name, b"") for name in names]
        if self._is_reading:
            self._known.clear()  # there may be any number of them
        return cells

    # Rows

    def read(self, table: RowTable, name: bytes) -> bytes | None:
        return self._cells([self.keys.row(table, name)])[0] or None

    def write(self, table: RowTable, name: bytes, content: bytes, *, is_new: bool = False) -> None:
        self._count += is_new and table == RECORDS
        if table in self.keys.listed:
            self._commands.append((b"SADD", self.keys.listed[table], name))
            self._listed.setdefault(table, set()).add(name)
        self._written[self.keys.row(table, name)] = content

    def delete(self, table: RowTable, name: bytes) -> None:
        self._count -= table == RECORDS
        if table in self.keys.listed:
            self._commands.append((b"SREM", self.keys.listed[table], name))
        self._written[self.keys.row(table, name)] = b""

    def scan(self, table: RowTable) -> Iterator[tuple[bytes, bytes]]:
        for names in self._scan_records() if table == RECORDS else self._scan_listed(table):
            rows = [self.keys.row(table, name) for name in names]
            for name, row, content in zip(names, rows, self._run((b"MGET", *rows))[0] if rows else (), strict=True):
                if content := self._written.get(row, content):
                    yield name, content
        if read_epoch(self._client.connection, self._client.header) != self.keys.epoch:
            raise IndexGone(f"The index in {self._client.connection.address} was emptied meanwhile.")

    def _scan_records(self) -> Iterator[list[bytes]]:
        first = 1
        while (last := max(self._last, int(self._run((b"GET", self.keys.last))[0] or 0))) >= first:
            numbers = range(first, min(first + _AT_ONCE, last + 1))  # also of pages that are filed again meanwhile
            yield [number.to_bytes(NUMBER_BYTES, "big") for number in numbers]
            first = numbers.stop

    def _scan_listed(self, table: RowTable) -> Iterator[list[bytes]]:
        own = self._listed.get(table, set())
        yield [*own]
        cursor: bytes | None = None
        while cursor != b"0":
            cursor, names = self._run((b"SSCAN", self.keys.listed[table], cursor or b"0", b"COUNT", _AT_ONCE))[0]
            yield [*({*names} - own)]

    # Buckets

    def read_bucket(self, table: BucketTable, scope: int, key: int) -> bytes:
        return self._cells(self.keys.buckets(table, scope, [key]))[0]

    def read_buckets(self, table: BucketTable, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        names = self.keys.buckets(table, scope, keys)
        parts = self._cells(names) if limit is None else self._first_parts(names, 8 * limit_payloads(limit))
        return _payloads(b"".join(parts))

    def _first_parts(self, names: Sequence[bytes], size: int) -> Iterator[bytes]:
        """Yield the first *size* bytes of buckets, of which the rest is not read."""
        for name, part in zip(names, self._run(*((b"GETRANGE", name, 0, size - 1) for name in names)), strict=True):
            yield (self._written.get(name, part) + self._added.get(name, b""))[:size]

    def append(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        for name in self.keys.buckets(table, scope, keys):
            changed = self._written if name in self._written else self._added
            changed[name] = changed.get(name, b"") + payload.to_bytes(8, "little")

    def take(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        names = self.keys.buckets(table, scope, keys)
        for name, content in zip(names, self._cells(names), strict=True):
            payloads = _payloads(content)
            for at in np.flatnonzero(payloads == payload)[:1]:
                left = payloads[:-1].copy()
                left[at : at + 1] = payloads[-1]
                self._written[name] = left.tobytes()
                self._added.pop(name, None)

    # The index

    def new_number(self, highest: int) -> int:  # noqa: ARG002  (it always returns the highest of all)
        self._last += 1
        return self._last

    def count_records(self) -> int:
        return self._count

    def is_alive(self, run: int) -> bool | None:
        # A command that only reads ends before a run may have given another sign of life.
        return is_run_alive(self._client.connection, run, -math.inf if self._is_reading else self._client.opened)

    def header(self) -> Header | None:
        return self._client.header

    def changes(self) -> list[Command]:
        """Return the changes that were collected, as commands. All but an empty list change the keys that others watch."""
        if not (self._commands or self._written or self._added):
            return []
        rows = [*self._written.items(), (self.keys.last, b"%d" % self._last), (self.keys.count, b"%d" % self._count)]
        written: Command = [part for row in rows if row[1] for part in row]
        deleted = [(b"DEL", name) for name, content in rows if not content]
        return [*self._commands, *((b"APPEND", *added) for added in self._added.items()), *deleted, (b"MSET", *written)]


def _payloads(content: bytes) -> Numbers:
    if len(content) % 8:
        raise msgspec.DecodeError(f"a bucket has {len(content)} bytes")
    return np.frombuffer(content, dtype=_PAYLOAD)
