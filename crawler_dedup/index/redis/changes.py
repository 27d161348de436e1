"""The cells that a transaction of an index on a server has read, and the changes that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec

from crawler_dedup.index.redis.cells import Row
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
