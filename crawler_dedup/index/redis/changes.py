"""The cells that a transaction of an index on a server has read, and the changes that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from crawler_dedup.index.layout import PAYLOAD_BYTES

Command = Sequence["bytes | str | int"]


@dataclass(frozen=True)
class KnownRuns:
    """The runs of an index.

    Attributes:
        entries: name of a run → its entry.
        dead: numbers of the runs that are over.
    """

    entries: dict[bytes, bytes] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()

    @classmethod
    def decode(cls, flat: Sequence[bytes], dead: Sequence[bytes]) -> KnownRuns:
        """Decode the entries and dead runs that :data:`crawler_dedup.index.redis.scripts.RUNS` returns."""
        entries = dict(zip(flat[::2], flat[1::2], strict=True))
        return cls(entries, frozenset(int.from_bytes(run, "big") for run in dead))


@dataclass(slots=True)
class Changes:
    """The cells that a transaction has read, and the changes that it makes.

    Attributes:
        cells: name → content of each cell that it has read.
        assumed: names of those *cells* that it has assumed to be empty without reading them.
        written: name → new content of each row that it writes.
        added: payloads to append to buckets, with the names of these.
        commands: further changes, each a command of the server. Only ``DEL`` changes cells.
        runs: name of a run → its new entry, for each that it writes; empty: it is deleted.
        with_runs: whether other clients must learn that runs were changed.
        count: change of the number of records.
    """

    cells: dict[bytes, bytes] = field(default_factory=dict)
    assumed: list[bytes] = field(default_factory=list)
    written: dict[bytes, bytes] = field(default_factory=dict)
    added: list[tuple[bytes, bytes]] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    runs: dict[bytes, bytes] = field(default_factory=dict)
    with_runs: bool = False
    count: int = 0

    @property
    def changes_anything(self) -> bool:
        """Whether the transaction makes any change."""
        return bool(self.written or self.added or self.commands)

    def changed_names(self) -> Iterator[bytes]:
        """Yield the names of the cells that are changed."""
        yield from dict.fromkeys([name for name, _ in self.added])
        yield from self.written
        for command in self.commands:
            if command[0] == b"DEL":
                yield cast("bytes", command[1])


class ChangedBucket:
    """A bucket that a transaction changes.

    Attributes:
        content: the content with the changes that were made so far.
        added: payloads to append.
        is_rewritten: whether the whole content is to be written, because a payload was taken.
    """

    __slots__ = ("added", "content", "is_rewritten")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.added: list[bytes] = []
        self.is_rewritten = False

    def add(self, payload: bytes) -> None:
        """Append a payload."""
        self.content += payload
        self.added.append(payload)

    def take(self, payload: bytes) -> None:
        """Remove a payload, whose place the last payload takes. Do nothing if the bucket does not contain it."""
        at = self.content.find(payload)
        while at % PAYLOAD_BYTES > 0 <= at:
            at = self.content.find(payload, at + 1)
        if at >= 0:
            last = b"" if at + PAYLOAD_BYTES == len(self.content) else self.content[-PAYLOAD_BYTES:]
            self.content = self.content[:at] + last + self.content[at + PAYLOAD_BYTES : -PAYLOAD_BYTES]
            self.is_rewritten = True
