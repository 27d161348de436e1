"""What a transaction of an index on a server has read, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec

from crawler_dedup.index.redis.cells import Row
from crawler_dedup.index.runs import DAMAGED_RUN, RUN_NAME_BYTES, RunEntry, decode_run

Command = Sequence["bytes | str | int"]
CHANGING = frozenset((b"DEL", b"SET", b"take"))
"""Commands that change cells, of which the name comes next."""


@dataclass(frozen=True)
class KnownRuns:
    """The runs of an index.

    Attributes:
        entries: of the runs that are entered, by number.
        dead: numbers of those that are over.
    """

    entries: dict[int, RunEntry] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()

    @classmethod
    def decode(cls, flat: Sequence[bytes], dead: Sequence[bytes]) -> KnownRuns:
        """Decode what :data:`crawler_dedup.index.redis.scripts.RUNS` returns of them."""
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
    """What a transaction has read, and what it changes.

    Attributes:
        buckets: the content of the buckets that it has read.
        rows: the rows that it has read.
        counts: the number of records of sites that it has read.
        assumed: those of *buckets* and *rows* that it has taken for empty without reading them.
        new: the contents of new records, in the order of their numbers.
        written: the contents of rows that are written.
        added: payloads that are appended to buckets: name, number among the new records of that of which the number is
            to be in it, 0: of none, and payload.
        commands: what else is done, each a command of the server or of :data:`crawler_dedup.index.redis.scripts.COMMIT`.
        entries: of runs, as they are written.
        with_runs: whether others must know what is changed of runs.
        decoded: what stands in cells that are written.
        new_decoded: what stands in new records, as in *new*.
        scopes: hashes of scopes that are entered.
        count: by how many the number of records grows.
        needs_copies: whether all copies of the index must have this before it is answered.
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
    needs_copies: bool = False

    @property
    def changes_anything(self) -> bool:
        """Whether anything is to be changed."""
        return bool(self.new or self.written or self.added or self.commands or self.needs_copies)

    def changed_names(self) -> Iterator[bytes]:
        """Yield the names of the cells that are changed."""
        yield from dict.fromkeys([name for name, _, _ in self.added])
        yield from self.written
        for command in self.commands:
            if command[0] in CHANGING:
                yield cast("bytes", command[1])
