"""The cells that a transaction of an index on a server has read, and the changes that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec

from crawler_dedup.index.layout import NUMBER_BYTES
from crawler_dedup.index.redis.cells import PAYLOAD_BYTES, Row
from crawler_dedup.index.runs import DAMAGED_RUN, RUN_NAME_BYTES, RunEntry, decode_run

Command = Sequence["bytes | str | int"]
CHANGING = frozenset((b"DEL", b"SET", b"take"))
"""Commands that change a cell, whose name is their first argument."""


@dataclass(frozen=True)
class KnownRuns:
    """The runs of an index.

    Attributes:
        entries: number of a run → its entry.
        dead: numbers of the runs that are over.
    """

    entries: dict[int, RunEntry] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()

    @classmethod
    def decode(cls, flat: Sequence[bytes], dead: Sequence[bytes]) -> KnownRuns:
        """Decode the entries and dead runs that :data:`crawler_dedup.index.redis.scripts.RUNS` returns."""
        stored = zip(flat[::2], flat[1::2], strict=True)
        entries = {
            int.from_bytes(name, "big"): _decode_entry(run) for name, run in stored if len(name) == RUN_NAME_BYTES
        }
        return cls(entries, frozenset(int.from_bytes(run, "big") for run in dead))


def _decode_entry(content: bytes) -> RunEntry:
    try:
        return decode_run(content)
    except msgspec.DecodeError:
        return DAMAGED_RUN


@dataclass(slots=True)
class Changes:
    """The cells that a transaction has read, and the changes that it makes.

    Attributes:
        buckets: name → content of each bucket that it has read.
        rows: name → row, for each row that it has read.
        counts: key of a site → its number of records, for each number that it has read.
        assumed: names of those *buckets* and *rows* that it has assumed to be empty without reading them.
        new: contents of the new records, in the order of their numbers.
        written: name → new content of each row that it writes.
        added: payloads to append to buckets: the name of the bucket, the position (from 1) of the new record whose number
            is inserted into the payload, or 0, and the payload.
        commands: further changes, each a command of the server or of :data:`crawler_dedup.index.redis.scripts.COMMIT`.
        entries: number of a run → its entry, for each entry that it writes.
        with_runs: whether other clients must learn that runs were changed.
        decoded: name → decoded content of rows that it writes.
        new_decoded: the decoded contents of *new*, in the same order.
        scopes: hashes of the scopes in which it files signatures.
        count: change of the number of records.
    """

    buckets: dict[bytes, bytes] = field(default_factory=dict)
    rows: dict[bytes, Row] = field(default_factory=dict)
    counts: dict[bytes, int] = field(default_factory=dict)
    assumed: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)
    written: dict[bytes, bytes] = field(default_factory=dict)
    added: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    entries: dict[int, RunEntry] = field(default_factory=dict)
    decoded: dict[bytes, object] = field(default_factory=dict)
    new_decoded: list[object] = field(default_factory=list)
    scopes: set[int] = field(default_factory=set)
    count: int = 0
    with_runs: bool = False

    @property
    def changes_anything(self) -> bool:
        """Whether the transaction makes any change."""
        return bool(self.new or self.written or self.added or self.commands)

    def changed_names(self) -> Iterator[bytes]:
        """Yield the names of the cells that are changed."""
        yield from dict.fromkeys([name for name, _, _ in self.added])
        yield from self.written
        for command in self.commands:
            if command[0] in CHANGING:
                yield cast("bytes", command[1])


class ChangedBucket:
    """A bucket that a transaction changes.

    Attributes:
        content: the content with the changes that were made so far.
        added: payloads to append.
        taken: payloads to remove.
    """

    __slots__ = ("added", "content", "taken")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.added: list[bytes] = []
        self.taken: list[bytes] = []

    def add(self, payload: bytes) -> None:
        """Append a payload."""
        self.content += payload
        self.added.append(payload)

    def take(self, payload: bytes) -> None:
        """Remove a payload, whose place the last payload takes. Do nothing if the bucket does not contain it."""
        at = self.content.find(payload)
        while at % PAYLOAD_BYTES > 0 <= at:
            at = self.content.find(payload, at + 1)
        if at < 0:
            return
        last, rest = self.content[-PAYLOAD_BYTES:], self.content[at + PAYLOAD_BYTES : -PAYLOAD_BYTES]
        is_last = at + PAYLOAD_BYTES == len(self.content)
        self.content = self.content[:at] + (b"" if is_last else last + rest)
        if payload in self.added:
            self.added.remove(payload)
        else:
            self.taken.append(payload)

    def collect(self, key: bytes, new: Mapping[int, int], changes: Changes) -> None:
        """Add the changes of this bucket, whose name is *key*, to *changes*.

        Args:
            new: temporary number of a new record → its position among the new records, from 1.
        """
        for payload in self.taken:
            changes.commands.append((b"take", key, payload))
        for payload in self.added:
            changes.added.append(
                (key, new.get(int.from_bytes(payload[:NUMBER_BYTES], "little"), 0) if new else 0, payload)
            )
