"""The set of a page's outlinks, and how it is packed for the index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.signing.sketch import set_digest

MAX_PACKED = 512


@dataclass(frozen=True)
class Links:
    """The outlinks of a page.

    Attributes:
        hashes: uint64, shape (n,), ascending, distinct: xxh3 of each comparable link.
    """

    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def digest(self) -> bytes:
        """Digest of all links (:func:`~crawler_dedup.signing.sketch.set_digest`)."""
        return set_digest(self.hashes)

    @property
    def packed(self) -> bytes:
        """The first 32 bits of each hash; empty if there are more than :data:`MAX_PACKED`. See :func:`unpack_links`."""
        if len(self.hashes) > MAX_PACKED:
            return b""
        return self.hashes.astype("<u8", copy=False).view("<u4")[1::2].tobytes()


def unpack_links(packed: bytes) -> list[int]:
    """Return the numbers that :attr:`Links.packed` holds."""
    numbers: list[int] = np.frombuffer(packed, dtype="<u4").tolist()
    return numbers
