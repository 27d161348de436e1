"""Decide about pages in a given order, as an index does."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, NamedTuple

import numpy as np

from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.shard import StoredPages, decode_page, format_memory
from crawler_dedup.decision import Match, Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.decider import Decider, RunContext
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
from crawler_dedup.index.overrides import KnownOverrides
from crawler_dedup.index.profiles import FrozenProfiles, Snapshot
from crawler_dedup.index.records import Record
from crawler_dedup.index.storage import Storage
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.schemes import Scheme

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


KEPT_BYTES = 500
"""Bytes of memory that a kept page takes, with four keys under which it is filed."""
FURTHER_KEY_BYTES = 150
"""Bytes of memory that each further key takes."""

_KEYS = 4

_NO_PLACE = -1
_NO_ROWS = np.empty(0, dtype=np.int64)
_KEPT = (Verdict.NEW, Verdict.CHANGED)


class PickedPages:
    """The pages of some rows, written to a file so that they can be read in any order.

    Attributes:
        rows: the rows, ascending.
        records: the numbers of their records in the inputs.

    Args:
        file: an empty file, open to write and read.
        picked: the rows with their pages, ascending.
    """

    def __init__(self, file: IO[bytes], picked: Iterable[StoredPages]) -> None:
        parts = [(_NO_ROWS, _NO_ROWS, _NO_ROWS)]
        for stored in picked:
            file.write(b"".join(stored.contents))
            lengths = np.fromiter(map(len, stored.contents), np.int64, len(stored.contents))
            parts.append((stored.rows, stored.records, lengths))
        file.flush()
        self._descriptor = file.fileno()
        self.rows, self.records, lengths = map(np.concatenate, zip(*parts, strict=True))
        self._starts = np.concatenate([[0], np.cumsum(lengths)])

    def read(self, place: int) -> SignedPage:
        """Return the page of the row at *place* in :attr:`rows`."""
        start, end = self._starts[place : place + 2].tolist()
        return decode_page(os.pread(self._descriptor, end - start, start))


class RememberingMatcher(RuleMatcher):
    """Remembers the kept page of the last decision."""

    kept: SignedPage | None = None

    @property
    def scheme(self) -> Scheme:
        """The scheme of the signatures."""
        return self._scheme

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        chosen = super().choose(new, kept, snapshot_of)
        self.kept = chosen[0] if chosen else None
        return chosen


class PlacedDecision(NamedTuple):
    """A decision about a page of :class:`PickedPages`.

    Attributes:
        place: place of the page among the picked pages.
        verdict: the verdict on the page.
        match: how the page agrees with its representative; ``None``: it is kept.
        representative: place of the representative; ``None``: the page is kept, or its representative was kept before.
        address: address of a representative that was kept before; ``""``: there is none.
    """

    place: int
    verdict: Verdict
    match: Match | None = None
    representative: int | None = None
    address: str = ""


def decide_pages(
    pages: PickedPages,
    order: Places,
    existing: Iterable[Record],
    matcher: RememberingMatcher,
    profiles: FrozenProfiles,
    file: IO[bytes],
    memory: int,
) -> Iterator[PlacedDecision]:
    """Decide about *pages* in *order*, comparing each with the pages kept so far, as :meth:`Deduplicator.decide` does.

    Args:
        order: places of the pages.
        existing: pages that are kept already.
        profiles: what is known about their sites.
        file: an empty file, open to write and read.
        memory: bytes that kept pages may take.

    Raises:
        DedupError: memory does not suffice.
    """
    storage = MemoryStorage(file)
    txn = Transaction(storage, {}, KnownOverrides(), profiles)
    decider = Decider(txn, matcher, RunContext(), now=1)
    place_of = array("q", [_NO_PLACE])  # the place of each filed page, by its number
    for record in existing:
        txn.add(record, matcher)
        place_of.append(_NO_PLACE)
        _require_memory(storage, memory)
    for place in order.tolist():
        page = pages.read(place)
        decision = decider.decide(page)
        if decision.verdict in _KEPT:
            place_of.append(place)
            _require_memory(storage, memory)
        kept = matcher.kept
        if decision.verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) or kept is None:
            yield PlacedDecision(place, decision.verdict)
            continue
        recorded = txn.find(page.scope, kept.key)
        representative = _NO_PLACE if recorded is None else place_of[recorded[0]]
        if representative == _NO_PLACE:
            address = decision.duplicate_of or decision.url
            yield PlacedDecision(place, decision.verdict, decision.match, address=address)
        else:
            yield PlacedDecision(place, decision.verdict, decision.match, representative)


def _require_memory(storage: MemoryStorage, memory: int) -> None:
    """Raise :class:`DedupError` if the pages in *storage* take more than *memory* bytes."""
    count = storage.last_number
    further = max(0, storage.key_count - _KEYS * count)
    if KEPT_BYTES * count + FURTHER_KEY_BYTES * further > memory:
        raise DedupError(
            f"More than {count - 1:,} kept pages have similar pages, and need more than the {format_memory(memory)}"
            " available: allow more memory (--memory, memory=)."
        )
