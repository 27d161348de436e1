"""The counts of sites in exports of format 4: every item has a counter, and all counters are one frame of Zstandard."""

from __future__ import annotations

from typing import Annotated

import msgspec

from crawler_dedup.hamming import Numbers
from crawler_dedup.rules.countpacking import join_counters
from crawler_dedup.rules.sites import MAX_COUNTERS
from crawler_dedup.signedpage import Count
from crawler_dedup.system.compression import FrameDamaged, decompress

_FRAME = b"\x28\xb5\x2f\xfd"
_BYTES = 7
_MAX_UNPACKED = _BYTES * MAX_COUNTERS + 64


class OlderCounts(msgspec.Struct, frozen=True, array_like=True):
    """Counts as they were stored.

    Attributes:
        taught: how many pages were counted.
        pages: how many of them still count.
        titles: the bits that their titles have set.
        links: number of the first counter of a link; those of blocks come before it.
        parts: number of the first counter of a part of a title.
        columns: the 32-bit hash of each counter, as the difference to the hash before, bytes of equal significance together;
            then the last three bytes of each counter in the same way.
    """

    taught: Count
    pages: Annotated[int, msgspec.Meta(ge=0, lt=1 << 8)]
    titles: Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
    links: Count
    parts: Count
    columns: bytes

    def read_counters(self) -> Numbers:
        """Return all counters. Raises :class:`msgspec.DecodeError`."""
        count = len(self.columns) // _BYTES
        if len(self.columns) % _BYTES or count > MAX_COUNTERS or not self.links <= self.parts <= count:
            raise msgspec.DecodeError("the counts of a site have a length that they cannot have")
        return join_counters(self.columns, (self.links, self.parts - self.links, count - self.parts))


_decode = msgspec.msgpack.Decoder(OlderCounts).decode


def is_older(content: bytes) -> bool:
    """Return whether *content* is counts of the older format."""
    return content.startswith(_FRAME)


def decode(content: bytes) -> OlderCounts:
    """Return the counts; raise :class:`msgspec.DecodeError` if they are damaged."""
    try:
        return _decode(decompress(content, _MAX_UNPACKED))
    except FrameDamaged as error:
        raise msgspec.DecodeError(str(error)) from error
