"""Checksums of lists into which the words of a text are distributed.

Pugh and Henzinger, "Detecting duplicate and near-duplicate files", US patent 6,658,423 (filed 2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crawler_dedup.hashes import Numbers, mix_bits
from crawler_dedup.signing.schemes.featured import FeatureScheme
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme, option
from crawler_dedup.signing.text import Text


@dataclass(frozen=True)
class Checksums(FeatureScheme, ValueScheme):
    """Checksums of the lists into which the distinct words of a text are distributed by their hash.

    A word that is added or removed changes the checksum of one list, so that two texts agree in nearly all lists if they
    differ in few words, however long they are. In the patent two documents are
    similar if any of a few lists agrees; here half of 16 lists must agree, and they hold words instead of word sequences.

    Good at: pages with a few changed words, at very little cost. Bad at: texts in which more words changed than half the
    number of lists, whatever their length.

    64 bytes a page, 16 keys.

    Attributes:
        lists: number of lists.
        least: least share of the lists that must agree.
    """

    name: ClassVar[str] = "checksums"

    needs_lexicon = False
    lists: int = option(16, "2 to 64")
    least: float = option(0.5, "0.01 to 1", filed=False)

    def value(self, text: Text) -> bytes:
        return self.of_words(self.features_of(text).content)

    def of_words(self, hashes: Numbers) -> bytes:
        """Return the value of a set of word hashes: 32 bits of each list's checksum; 0 where the list is empty."""
        if not len(hashes):
            return b""
        spread = mix_bits(hashes)
        into = (spread % np.uint64(self.lists)).astype(np.intp)
        sums = np.zeros(self.lists, dtype=np.uint64)
        np.add.at(sums, into, mix_bits(spread))
        return (mix_bits(sums) >> np.uint64(32)).astype("<u4").tobytes()

    def keys_of(self, value: bytes) -> Numbers:
        sums = np.frombuffer(value, dtype="<u4").astype(np.uint64)
        return (np.arange(len(sums), dtype=np.uint64) << np.uint64(32) | sums)[sums > 0]

    def least_hits(self, value: bytes) -> int:
        return self._needed(len(self.keys_of(value)))

    def _needed(self, lists: int) -> int:
        return max(1, int(np.ceil(self.least * lists)))

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        ours, theirs = np.frombuffer(new, dtype="<u4"), np.frombuffer(kept, dtype="<u4")
        if len(ours) != len(theirs):
            raise ValueError("two signatures of different lengths")
        used = np.count_nonzero(ours | theirs)
        agreeing = np.count_nonzero((ours == theirs) & (ours > 0))
        return Agreement() if agreeing >= self._needed(int(used)) else None
