"""One digest of the normalised main text: two texts agree if they have the same words in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xxhash import xxh3_128_digest

from crawler_dedup.hashes import Numbers
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme
from crawler_dedup.signing.text import Text


@dataclass(frozen=True)
class Exact(ValueScheme):
    """A digest of the words of a text (characters, in scripts without spaces), without case, punctuation and spaces.

    Good at: mirrors, print versions, URLs with other parameters; it has no false matches and is the cheapest scheme. Bad at:
    everything else; two pages with different dates or counters in the main text do not agree.

    16 bytes a page, one key.
    """

    name: ClassVar[str] = "exact"
    fixed: ClassVar[str] = "hash=xxh3_128"

    def value(self, text: Text) -> bytes:
        return xxh3_128_digest(text.unit_hashes.astype("<u8").tobytes())

    def keys_of(self, value: bytes) -> Numbers:
        return np.frombuffer(value[:8], dtype="<u8")

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        return Agreement(resemblance=1.0, coverage=1.0) if new == kept else None
