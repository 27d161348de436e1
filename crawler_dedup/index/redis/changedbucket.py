"""A bucket of an index on a server, as a transaction changes it."""

from __future__ import annotations

from collections.abc import Mapping

from crawler_dedup.index.places import NUMBER_BYTES
from crawler_dedup.index.redis.cells import PAYLOAD_BYTES
from crawler_dedup.index.redis.changes import Changes


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
