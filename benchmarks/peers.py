"""Detectors of near-duplicates by other packages, to compare with our schemes.

The name of a detector is that of a package, then its options: ``datasketch threshold=0.8 confirm=1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from datasketch import LeanMinHash, MinHash, MinHashLSH
from rensa import RMinHash, RMinHashLSH
from simhash import Simhash
from trafilatura.deduplication import Simhash as TrafilaturaSimhash

from benchmarks.scheme_comparison import Detector, SchemeDetector
from crawler_dedup.config import Config
from crawler_dedup.hashes import Numbers
from crawler_dedup.signing.schemes.minhash import MinHash as OurMinHash
from crawler_dedup.signing.text import Text

PERMUTATIONS = 128
SEED = 42
NAMES = (
    *("datasketch", "datasketch confirm=1", "rensa", "rensa confirm=1"),
    *("simhash-pypi distance=3", "simhash-pypi distance=7", "trafilatura distance=3", "trafilatura distance=7"),
)

_BITS = 64
_RENSA_BANDS = 16  # must divide the permutations; datasketch's optimum for .7 is 14 bands


def strings(shingles: Numbers) -> list[bytes]:
    """Return hashes as byte strings of length 8, which the other packages need."""
    packed = shingles.tobytes()
    return [packed[at : at + 8] for at in range(0, len(packed), 8)]


@dataclass(frozen=True)
class _MinWise:
    """Min-wise hashes of the same shingles as our ``minhash``.

    Attributes:
        threshold: the resemblance for which the bands are chosen.
        confirm: whether texts that agree in a band must also have an estimated resemblance of the threshold.
    """

    threshold: float = 0.7
    confirm: float = 0

    def is_duplicate(self, new: Any, kept: Any) -> bool:
        return self.meet(new, kept) and (not self.confirm or new.jaccard(kept) >= self.threshold)

    def meet(self, new: Any, kept: Any) -> bool:
        raise NotImplementedError

    def size_of(self, signature: Any) -> int:  # noqa: ARG002
        return 4 * PERMUTATIONS


class Datasketch(_MinWise):
    """The MinHash of datasketch with its MinHashLSH."""

    @cached_property
    def bands(self) -> tuple[int, int]:
        """The number of bands that MinHashLSH chooses, and the numbers in each band."""
        lsh = MinHashLSH(threshold=self.threshold, num_perm=PERMUTATIONS)
        return lsh.b, lsh.r

    def sign(self, text: Text) -> Any:
        signed = MinHash(num_perm=PERMUTATIONS)
        signed.update_batch(strings(text.shingles(OurMinHash.shingle)))
        return LeanMinHash(signed)

    def meet(self, new: Any, kept: Any) -> bool:
        """Return whether the two agree in a band, so that ``MinHashLSH.query`` finds one by the other."""
        bands, rows = self.bands
        same = (new.hashvalues == kept.hashvalues)[: bands * rows].reshape(bands, rows)
        return bool(same.all(axis=1).any())


class Rensa(_MinWise):
    """The R-MinHash of rensa with its LSH. The deduplicators of rensa work with ``confirm``."""

    def sign(self, text: Text) -> Any:
        signed = RMinHash(PERMUTATIONS, SEED)
        signed.update(strings(text.shingles(OurMinHash.shingle)))
        return signed

    def meet(self, new: Any, kept: Any) -> bool:
        lsh = RMinHashLSH(self.threshold, PERMUTATIONS, _RENSA_BANDS)
        lsh.insert(0, kept)
        return bool(lsh.query(new))


@dataclass(frozen=True)
class SimhashPyPI:
    """The package simhash, applied to our tokens.

    Attributes:
        distance: number of bits that may differ; the default of the package's index is 2.
    """

    distance: float = 3

    def sign(self, text: Text) -> Any:
        return Simhash(text.tokens or [""]).value

    def is_duplicate(self, new: Any, kept: Any) -> bool:
        return bool((new ^ kept).bit_count() <= self.distance)

    def size_of(self, signature: Any) -> int:  # noqa: ARG002
        return _BITS // 8


class Trafilatura(SimhashPyPI):
    """The simhash of trafilatura, which tokenises the text itself and defines no threshold."""

    def sign(self, text: Text) -> Any:
        return TrafilaturaSimhash(text.raw)

    def is_duplicate(self, new: Any, kept: Any) -> bool:
        return bool(new.similarity(kept) >= 1 - self.distance / _BITS)


_KINDS: dict[str, type[Datasketch | Rensa | SimhashPyPI]] = {
    "datasketch": Datasketch,
    "rensa": Rensa,
    "simhash-pypi": SimhashPyPI,
    "trafilatura": Trafilatura,
}


def make(name: str, config: Config) -> Detector:
    """Return the detector of another package with this name, or else the scheme of this package."""
    kind, *words = name.split()
    if kind not in _KINDS:
        return SchemeDetector(name, config)
    return _KINDS[kind](**{key: float(value) for key, value in (word.split("=") for word in words)})
