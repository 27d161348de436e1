"""Storage on a server: a transaction reads cells, which are rows and buckets, and collects the changes of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import msgspec
import numpy as np

from crawler_dedup.errors import IndexDamaged, IndexGone
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header, other_header_error
from crawler_dedup.index.layout import NUMBER_BYTES, RECORDS, BucketTable, RowTable, decode_payloads, limit_payloads
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.connection import Command, ServerConnection
from crawler_dedup.index.redis.keys import Cell, Keys, Meta, split_header
from crawler_dedup.index.redis.runs import is_run_alive
from crawler_dedup.index.storage import Storage

_AT_ONCE = 1_000
"""Maximum number of cells that are read together."""


class ServerStorage(Storage):
    """One transaction. Its changes are collected, not made.

    Args:
        connection: the connection by which cells are read.
        header: the header that the index must have.
        meta: what describes the index now.
        opened: when the index was opened, a time of :func:`time.monotonic`; minus infinity: no changes will be made, and
            cells are read again whenever they are needed.

    Raises:
        IndexGone: the index was removed.
        IndexUnusable: the index was emptied, and has another header now.

    Attributes:
        keys: the names of the keys of the index.
    """

    def __init__(self, connection: ServerConnection, header: Header, meta: Meta, opened: float = -math.inf) -> None:
        self._stored, *numbers = meta
        if self._stored is None:
            raise IndexGone(f"The index in {connection.address} was removed from its server.")
        epoch, stored = split_header(self._stored)
        if not stored.has_spec_of(header):
            raise other_header_error(connection.address)
        self.connection = connection
        self.keys = Keys(connection.address, epoch)
        self._header = header
        self._opened = opened
        self._last, self._count = (max(0, msgspec.json.decode(number or b"0", type=int)) for number in numbers)
        self._known: dict[Cell, bytes] = {}  # the cells as they were read
        self._written: dict[Cell, bytes] = {}  # new contents; empty: deleted
        self._added: dict[Cell, bytes] = {}  # what is appended to buckets that are not rewritten

    # Cells

    def fetch(self, cells: Iterable[Cell]) -> None:
        """Read those of *cells* that are not known, together."""
        missing = [cell for cell in dict.fromkeys(cells) if cell not in self._known]
        for at in range(0, len(missing), _AT_ONCE):
            fields = [cell for cell in missing[at : at + _AT_ONCE] if len(cell) > 1]
            strings = [cell for cell in missing[at : at + _AT_ONCE] if len(cell) == 1]
            reads: list[Command] = [(b"HGET", *cell) for cell in fields]
            if strings:
                reads.append((b"MGET", *(name for (name,) in strings)))
            answers = self.connection.run(*reads)
            contents = [*answers[: len(fields)], *chain.from_iterable(answers[len(fields) :])]
            self._known.update(
                (cell, content or b"") for cell, content in zip([*fields, *strings], contents, strict=True)
            )

    def _cells(self, cells: Sequence[Cell]) -> list[bytes]:
        """Return the contents of cells, with the changes that were made so far."""
        self.fetch(cells)
        contents = [self._written.get(cell, self._known[cell]) + self._added.get(cell, b"") for cell in cells]
        if math.isinf(self._opened):
            self._known.clear()  # there may be any number of them
        return contents

    # Rows

    def read(self, table: RowTable, name: bytes) -> bytes | None:
        return self._cells([self.keys.row(table, name)])[0] or None

    def write(self, table: RowTable, name: bytes, content: bytes, *, is_new: bool = False) -> None:
        self._count += is_new and table == RECORDS
        self._written[self.keys.row(table, name)] = content

    def delete(self, table: RowTable, name: bytes) -> None:
        self._count -= table == RECORDS
        self._written[self.keys.row(table, name)] = b""

    def scan(self, table: RowTable) -> Iterator[tuple[bytes, bytes]]:
        yield from self._scan_records() if table == RECORDS else self._scan_hash(table)
        if self.connection.run((b"HGET", self.keys.meta, b"header")) != [self._stored]:
            raise IndexGone(f"The index in {self.connection.address} was emptied meanwhile.")

    def _scan_records(self) -> Iterator[tuple[bytes, bytes]]:
        first = 1
        while (last := max(self._last, int(self.connection.run((b"HGET", self.keys.meta, b"last"))[0] or 0))) >= first:
            numbers = range(first, min(first + _AT_ONCE, last + 1))  # also of pages that are filed again meanwhile
            names = [number.to_bytes(NUMBER_BYTES, "big") for number in numbers]
            contents = self._cells([self.keys.row(RECORDS, name) for name in names])
            yield from (row for row in zip(names, contents, strict=True) if row[1])
            first = numbers.stop

    def _scan_hash(self, table: RowTable) -> Iterator[tuple[bytes, bytes]]:
        (key, _), cursor = self.keys.row(table, b""), b""
        own = {cell[1]: content for cell, content in self._written.items() if cell[0] == key}
        yield from (row for row in own.items() if row[1])
        while cursor != b"0":
            ((cursor, found),) = self.connection.run((b"HSCAN", key, cursor or b"0", b"COUNT", _AT_ONCE))
            yield from (row for row in zip(found[::2], found[1::2], strict=True) if row[0] not in own)

    # Buckets

    def read_buckets(self, table: BucketTable, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        cells = self.keys.buckets(table, scope, keys)
        if limit is None:
            return decode_payloads(b"".join(self._cells(cells)))
        size = 8 * limit_payloads(limit)
        parts = self.connection.run(*((b"GETRANGE", name, 0, size - 1) for (name,) in cells))  # the rest is not read
        buckets = (self._written.get(*row) + self._added.get(row[0], b"") for row in zip(cells, parts, strict=True))
        return decode_payloads(b"".join(bucket[:size] for bucket in buckets))

    def append(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        for name in self.keys.buckets(table, scope, keys):
            changed = self._written if name in self._written else self._added
            changed[name] = changed.get(name, b"") + payload.to_bytes(8, "little")

    def take(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        names = self.keys.buckets(table, scope, keys)
        for name, content in zip(names, self._cells(names), strict=True):
            payloads = decode_payloads(content)
            for at in np.flatnonzero(payloads == payload)[:1]:
                left = payloads[:-1].copy()
                left[at : at + 1] = payloads[-1]
                self._written[name] = left.tobytes()
                self._added.pop(name, None)

    # The index

    def new_number(self) -> int:
        self._last += 1
        return self._last

    def count_records(self) -> int:
        return self._count

    def is_alive(self, run: int) -> bool | None:
        return is_run_alive(self.connection, run, self._opened)

    def header(self) -> Header | None:
        return self._header

    def changes(self) -> list[Command]:
        """Return the changes that were collected, as commands."""
        if not (self._written or self._added):
            return []
        changes: list[Command] = [(b"HSET", self.keys.meta, b"last", self._last, b"count", max(0, self._count))]
        changes += [(b"APPEND", *cell, added) for cell, added in self._added.items()]
        for cell, content in self._written.items():
            field = b"H" if len(cell) > 1 else b""
            changes.append((field + b"SET", *cell, content) if content else (field + b"DEL", *cell))
        return changes


@contextmanager
def explaining_damage(address: ServerAddress) -> Iterator[None]:
    """Say of contents that cannot be read that the index is damaged, why, and the way out."""
    try:
        yield
    except msgspec.DecodeError as error:
        raise IndexDamaged(
            f"The index in {address} is damaged: {error}. If it can still be opened, export it, and import the file into"
            " another ?index=NAME; or empty it (in a crawl with DEDUP_FRESH = True)."
        ) from error
