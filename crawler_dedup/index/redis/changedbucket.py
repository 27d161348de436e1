"""A bucket of an index on a server, as a transaction changes it."""

from __future__ import annotations

from collections.abc import Mapping

from crawler_dedup.index.places import NUMBER_BYTES
from crawler_dedup.index.redis.cells import PAYLOAD_BYTES
from crawler_dedup.index.redis.changes import Changes


class ChangedBucket:
    """A bucket that a transaction changes.

    Attributes:
        content: as the transaction has left it.
        added: payloads that are appended.
        taken: payloads that are removed.
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
        """Remove a payload: the last one takes its place. Where it does not stand, do nothing."""
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
        """Put what changes the bucket *key* into *changes*.

        Args:
            new: number of a new record, which gets another one when it is stored → its place among the new ones.
        """
        for payload in self.taken:
            changes.commands.append((b"take", key, payload))
        for payload in self.added:
            changes.added.append(
                (key, new.get(int.from_bytes(payload[:NUMBER_BYTES], "little"), 0) if new else 0, payload)
            )
