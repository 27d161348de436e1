"""Charikar's simhash with 64 bits, and the tables in which it is looked up.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, §3; as a web signature and with
permuted tables: Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §2 and §3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crawler_dedup import hamming
from crawler_dedup.config import Config
from crawler_dedup.hamming import BITS, Numbers
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.features import Features
from crawler_dedup.signing.schemes.scheme import Agreement, Scheme
from crawler_dedup.signing.text import Text

if TYPE_CHECKING:
    from typing_extensions import Self

TABLES = 4

_DESIGN = hamming.DESIGNS[TABLES]
_SLICE = 8192  # features that are unpacked at a time: 512 bytes each


@dataclass(frozen=True)
class SimHash(Scheme):
    """Signatures that differ in few bits when weighted feature sets differ in little.

    Filed in permuted tables (:mod:`crawler_dedup.hamming`): every signature within *max_distance* is found.

    Attributes:
        max_distance: in bits, 0 to 7 (``DEDUP_MAX_DISTANCE``).
    """

    name: ClassVar[str] = "simhash"
    fixed: ClassVar[str] = f"bits={BITS} hash=xxh3_64 weight=tf^0.75 tables={TABLES}"
    bucket_limit: ClassVar[int | None] = None  # exact, whatever it costs
    effort: ClassVar[int] = 1

    max_distance: int = Config.max_distance

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        return cls(**cls.read(options), max_distance=config.max_distance)

    def sign(self, text: Text) -> Signature:
        return Signature(simhash(text.features))

    def keys(self, signature: Signature) -> Sequence[int]:
        return _DESIGN.keys(signature.number)

    def probes(self, signature: Signature) -> Sequence[int]:
        return _DESIGN.probes(signature.number, self.max_distance)

    def near(self, signature: Signature, filed: Numbers) -> Sequence[int]:
        return [match.signature for match in hamming.near(signature.number, filed, self.max_distance)]

    def compare(self, new: Signature, kept: Signature) -> Agreement | None:
        return Agreement(distance=hamming.distance(new.number, kept.number))


def simhash(features: Features) -> int:
    """Return 64 bits: bit *i* is set when the features that have it outweigh those that have not."""
    for_bit = np.zeros(BITS)
    for at in range(0, len(features.hashes), _SLICE):
        hashes, weights = features.hashes[at : at + _SLICE], features.weights[at : at + _SLICE]
        bits = np.unpackbits(hashes.astype("<u8").view(np.uint8), bitorder="little").reshape(-1, BITS)
        # Whole numbers below 2^53: float64 is exact here and, unlike integers, multiplied by BLAS.
        for_bit += weights @ bits.astype(np.float64)
    return int.from_bytes(np.packbits(2 * for_bit > features.weights.sum(), bitorder="little").tobytes(), "little")
