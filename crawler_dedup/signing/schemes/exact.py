"""The same words in the same order: one digest of the normalised main text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xxhash import xxh3_128_digest

from crawler_dedup.hamming import Numbers
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme
from crawler_dedup.signing.text import Text


@dataclass(frozen=True)
class Exact(ValueScheme):
    """Texts whose words, and characters of scripts without spaces, are the same: case, punctuation and spaces aside.

    Good at: mirrors, prints, addresses with other parameters; it never takes two texts for one, and is the cheapest. Bad at:
    everything else; a date or a counter in the main text and the page is another one.

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
