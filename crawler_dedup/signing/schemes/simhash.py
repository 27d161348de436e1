"""Charikar's simhash with 64 bits, and the tables in which it is looked up.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, §3; as a web signature and with
permuted tables: Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §2 and §3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from crawler_dedup import permutedtables
from crawler_dedup.config import Config
from crawler_dedup.hashes import Numbers
from crawler_dedup.permutedtables import BITS
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.features import STOP_WORD_UNIT, WEIGHT_UNIT, Features
from crawler_dedup.signing.schemes.featured import FeatureScheme
from crawler_dedup.signing.schemes.scheme import Agreement, option
from crawler_dedup.signing.text import Text

_SLICE = 8192  # features that are unpacked at a time: 512 bytes each
_UNKNOWN = 0.25  # rarity of names and numbers, which the lexicon lacks; other values found fewer labelled pairs


@dataclass(frozen=True)
class SimHash(FeatureScheme):
    """Signatures that differ in few bits if the weighted feature sets differ little.

    Filed in permuted tables (:mod:`crawler_dedup.permutedtables`): every signature within *max_distance* is found.

    Attributes:
        max_distance: largest distance of a match in bits, 0 to 7 (``DEDUP_MAX_DISTANCE``).
        weight: weight of a word that occurs *tf* times; a stop word has half of it. ``tf-idf`` is ``tf^0.75`` times the
            word's idf in the lexicon.
    """

    name: ClassVar[str] = "simhash"
    fixed: ClassVar[str] = f"bits={BITS} hash=xxh3_64"
    bucket_limit: ClassVar[int | None] = None  # an exact search reads every page under a key

    max_distance: int = Config.max_distance
    weight: str = option("tf^0.75", "tf^0.75|tf|tf-idf")

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        return replace(super().build(options, config), max_distance=config.max_distance)

    @property
    def needs_lexicon(self) -> bool:
        return self.weight == "tf-idf"

    def sign(self, text: Text) -> Signature:
        return Signature(simhash(self.weigh(self.features_of(text))))

    def weigh(self, features: Features) -> Features:
        """Return *features* with the weights of the option."""
        if self.weight == "tf^0.75":
            return features
        if self.weight == "tf":
            weights = features.counts * np.where(features.is_content, WEIGHT_UNIT, STOP_WORD_UNIT)
        else:
            weights = features.weights * np.nan_to_num(self.loaded_lexicon.rarity(features.hashes), nan=_UNKNOWN)
        return replace(features, weights=np.rint(weights))

    def keys(self, signature: Signature) -> Sequence[int]:
        return permutedtables.keys(signature.number)

    def probes(self, signature: Signature) -> Sequence[int]:
        return permutedtables.probes(signature.number, self.max_distance)

    def near(self, signature: Signature, filed: Numbers) -> Sequence[int]:
        return permutedtables.near(signature.number, filed, self.max_distance)

    def compare(self, new: Signature, kept: Signature) -> Agreement | None:
        return Agreement(distance=permutedtables.distance(new.number, kept.number))


def simhash(features: Features) -> int:
    """Return 64 bits: bit *i* is set if the features whose hash has it outweigh the other features."""
    for_bit = np.zeros(BITS)
    for at in range(0, len(features.hashes), _SLICE):
        hashes, weights = features.hashes[at : at + _SLICE], features.weights[at : at + _SLICE]
        bits = np.unpackbits(hashes.astype("<u8").view(np.uint8), bitorder="little").reshape(-1, BITS)
        # Whole numbers below 2^53: float64 is exact here and, unlike integers, multiplied by BLAS.
        for_bit += weights @ bits.astype(np.float64)
    return int.from_bytes(np.packbits(2 * for_bit > features.weights.sum(), bitorder="little").tobytes(), "little")
