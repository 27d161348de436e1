"""A scheme of signatures: two texts agree if they begin with the same words."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xxhash import xxh3_64_digest

from crawler_dedup import Agreement, Numbers, Text, ValueScheme, option


@dataclass(frozen=True)
class Openings(ValueScheme):
    """Texts that begin with the same words."""

    name: ClassVar[str] = "openings"

    first: int = option(30, "5 to 1000")  # DEDUP_SCHEME = "openings first=50"

    def value(self, text: Text) -> bytes:
        """What is stored; empty for a text that is too short: only identical texts then agree."""
        opening = text.units[: self.first]
        return xxh3_64_digest(" ".join(opening).encode("utf-8", "replace")) if len(opening) == self.first else b""

    def keys_of(self, value: bytes) -> Numbers:
        """Under what the page is filed and looked up: uint64."""
        return np.frombuffer(value, dtype="<u8")

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        """The journal has what the `Agreement` has."""
        return Agreement() if new == kept else None
