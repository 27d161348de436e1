"""I-Match: a digest of the significant words of a text, and digests of random subsets of them.

Chowdhury, Frieder, Grossman and McCabe, "Collection statistics for fast duplicate document detection", ACM TOIS 20 (2002);
several lexica: Kołcz, Chowdhury and Alspector, "Improved robustness of signature-based near-replica detection via lexicon
randomization", KDD 2004.
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
class IMatch(FeatureScheme, ValueScheme):
    """A digest of the set of a text's words whose idf lies inside a band, and digests of its subsets in randomised lexica.

    A word that is added or removed changes every digest whose lexicon has it. Each lexicon lacks a share of the words, so
    that a few changed words leave some digests unchanged.

    Good at: pages that differ in stop words, numbers and rare words only. Bad at: short texts (few words inside the band),
    templates filled with names that the lexicon lacks, languages that it does not know.

    The sources give several bands and 1 to 10 lexica; with 20 lexica of half of the words, of which one must agree, most
    labelled pairs were found.

    168 bytes a page, 21 keys.

    Attributes:
        low: least idf of a word, as a share of the largest.
        high: largest idf of a word, likewise. Words that the lexicon lacks (misspellings, names) are left out.
        lexica: number of randomised lexica in addition to the complete one.
        drop: share of the words that each randomised lexicon lacks.
        enough: number of digests that must agree.
        words: least number of words for a digest.
    """

    name: ClassVar[str] = "imatch"

    low: float = option(0.2, "0 to 1")
    high: float = option(0.8, "0 to 1")
    lexica: int = option(20, "0 to 63")
    drop: float = option(0.5, "0 to 0.95")
    enough: int = option(1, "1 to 64", filed=False)
    words: int = option(5, "1 to 1000")

    def value(self, text: Text) -> bytes:
        hashes = self.features_of(text).hashes
        rarity = self.loaded_lexicon.rarity(hashes)
        chosen = hashes[(rarity >= self.low) & (rarity <= self.high)]  # nan fails both comparisons
        digests = self._digests(chosen)
        return digests.astype("<u8").tobytes() if digests.any() else b""

    def _digests(self, words: Numbers) -> Numbers:
        """Return for each lexicon a digest of the *words* that it has, 0 if they are too few. The first lexicon has all."""
        seeded = mix_bits(words[None, :] ^ np.arange(self.lexica + 1, dtype=np.uint64)[:, None])
        kept = mix_bits(seeded) >= np.uint64(int(self.drop * 2.0**64))
        kept[0] = True
        digests = mix_bits(np.where(kept, seeded, np.uint64(0)).sum(axis=1, dtype=np.uint64))
        digests[kept.sum(axis=1) < self.words] = 0
        return digests

    def keys_of(self, value: bytes) -> Numbers:
        digests = np.frombuffer(value, dtype="<u8")
        return digests[digests > 0]

    def least_hits(self, value: bytes) -> int:
        return min(self.enough, len(self.keys_of(value)))

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        ours, theirs = np.frombuffer(new, dtype="<u8"), np.frombuffer(kept, dtype="<u8")
        if len(ours) != len(theirs):
            raise ValueError("two signatures of different lengths")
        return Agreement() if np.count_nonzero((ours == theirs) & (ours > 0)) >= self.least_hits(new) else None
