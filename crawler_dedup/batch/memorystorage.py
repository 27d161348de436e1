"""Storage in memory, for one process: the records are in a file, and all is lost when it ends."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import numpy as np

from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.layout import (
    NUMBER_BYTES,
    PAYLOAD_BYTES,
    RECORDS,
    SIGNATURES,
    BucketTable,
    RowTable,
    limit_payloads,
)
from crawler_dedup.index.storage import Storage

_PAYLOAD = np.dtype("<u8")
_KEY_BITS = 64


class MemoryStorage(Storage):
    """All that this process stores is one transaction.

    Args:
        file: an empty file, open to write and read; records are appended to it.

    Attributes:
        last_number: the number of the record that was added last; 0 if none was.
        key_count: total number of keys under which signatures were filed.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rows: dict[tuple[RowTable, bytes], bytes] = {}
        self._buckets: dict[tuple[BucketTable, int], bytearray] = {}  # by scope and key
        self._starts = array("Q", [0])  # by number: where the record begins in the file
        self._lengths = array("I", [0])  # by number: length of the record; 0: removed
        self._end = 0
        self.last_number = self.key_count = 0

    def read(self, table: RowTable, name: bytes) -> bytes | None:
        if table != RECORDS:
            return self._rows.get((table, name))
        number = int.from_bytes(name, "big")
        length = self._lengths[number] if number <= self.last_number else 0
        self._file.seek(self._starts[number] if length else 0)
        return self._file.read(length) or None

    def write(self, table: RowTable, name: bytes, content: bytes, *, is_new: bool = False) -> None:  # noqa: ARG002
        if table != RECORDS:
            self._rows[table, name] = content
            return
        number = int.from_bytes(name, "big")
        self._file.seek(self._end)
        self._file.write(content)
        self._starts[number], self._lengths[number] = self._end, len(content)
        self._end += len(content)

    def delete(self, table: RowTable, name: bytes) -> None:
        if table == RECORDS:
            self._lengths[int.from_bytes(name, "big")] = 0
        else:
            self._rows.pop((table, name), None)

    def scan(self, table: RowTable) -> Iterator[tuple[bytes, bytes]]:
        names = (number.to_bytes(NUMBER_BYTES, "big") for number in range(1, self.last_number + 1))
        for name in names if table == RECORDS else sorted(name for stored, name in self._rows if stored == table):
            if content := self.read(table, name):
                yield name, content

    def read_bucket(self, table: BucketTable, scope: int, key: int) -> bytes:
        return bytes(self._buckets.get((table, scope << _KEY_BITS | key), b""))

    def read_buckets(self, table: BucketTable, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        base = scope << _KEY_BITS
        buckets = [self._buckets.get((table, base | key), b"") for key in keys]
        if limit is not None:
            end = PAYLOAD_BYTES * limit_payloads(limit)
            buckets = [bucket[:end] for bucket in buckets]
        return np.frombuffer(b"".join(buckets), dtype=_PAYLOAD)

    def append(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        content = payload.to_bytes(PAYLOAD_BYTES, "little")
        for key in keys:
            self._buckets.setdefault((table, scope << _KEY_BITS | key), bytearray()).extend(content)
        self.key_count += len(keys) if table == SIGNATURES else 0

    def take(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        for key in keys:
            bucket = self._buckets.get((table, scope << _KEY_BITS | key), bytearray())
            at = np.flatnonzero(np.frombuffer(bytes(bucket), dtype=_PAYLOAD) == payload)
            if len(at):
                start = PAYLOAD_BYTES * int(at[0])
                bucket[start : start + PAYLOAD_BYTES] = bucket[-PAYLOAD_BYTES:]
                del bucket[-PAYLOAD_BYTES:]

    def new_number(self, highest: int) -> int:  # noqa: ARG002  (it always returns the highest of all)
        self._starts.append(0)
        self._lengths.append(0)
        self.last_number += 1
        return self.last_number

    def count_records(self) -> int:
        return sum(map(bool, self._lengths))

    def is_alive(self, run: int) -> bool | None:  # noqa: ARG002
        return None

    def header(self) -> Header | None:
        return None
