"""Broder's shingling: sketches of the set of shingles, looked up by supershingles.

Broder, Glassman, Manasse and Zweig, "Syntactic clustering of the Web", WWW6 1997; Broder, "On the resemblance and
containment of documents", 1997; supershingles as in Fetterly, Manasse and Najork, "On the evolution of clusters of
near-duplicate web pages", LA-WEB 2003; frequent shingles left out as in Heintze, "Scalable document fingerprinting", 1996.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.hashes import Numbers, mix_bits, sort_distinct
from crawler_dedup.signing.lexicon import SHINGLE_WIDTH
from crawler_dedup.signing.schemes.featured import LexicalScheme
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme, containment, option
from crawler_dedup.signing.text import Text
from crawler_dedup.signing.wordtables import GENERAL

SMALLEST = 64
MODULUS = 25
MAX_MOD = 400
SUPERSHINGLES = 6
MINIMA_PER_SUPERSHINGLE = 14
MINIMA_KEYS = 24
"""Number of keys of a text if single min-wise values are looked up."""

_MINIMA = SUPERSHINGLES * MINIMA_PER_SUPERSHINGLE
_HEAD = struct.Struct("<IBBH")
_BYTES = 5  # stored of a fingerprint: its high 40 bits
_ENOUGH = 48
_LEAST_KNOWN = 8
_SMALLEST_KEYS = 4  # from MIN_s, because a short text may have no fingerprint in MOD_m
_THRESHOLDS = {"supershingles": 0.7, "minima": 0.3, "mod": 0.0}
_SEEDS = mix_bits(np.arange(1, 2 * _MINIMA + 1, dtype=np.uint64))
_FACTORS, _TERMS = (_SEEDS[:_MINIMA] | np.uint64(1))[:, None], _SEEDS[_MINIMA:][:, None]
_TOGETHER = 4096


class _Sketch(NamedTuple):
    size: int
    keys: Numbers
    smallest: Numbers
    mod: Numbers


@dataclass(frozen=True)
class Shingling(LexicalScheme, ValueScheme):
    """Sketches of the runs of words of a text, which estimate the resemblance and the containment of two texts.

    Good at: saying how much of a text was copied; long texts with a changed part. Bad at: short texts, in which a
    changed word changes five shingles; keeping the index small.

    Shingles that are frequent in the lexicon are left out; the general lexicon has no shingles.

    Broder keeps one of the two sketches; both are kept here, MIN_s for short texts and MOD_m for long texts.

    About 500 bytes a page, up to 2.4 kB; 6 keys, or 24, or up to 404.

    Attributes:
        shingle: units (words; characters of scripts without spaces) of a shingle.
        lookup: ``supershingles``: two of six supershingles, each made of 14 min-wise values, must be equal, which finds
            resemblances above about .93 (70 of 100 pairs there, 95 at .97, 3 at .8, whatever the threshold); ``minima``: two
            of 24 min-wise values must be equal, which finds resemblances down to .3, for four times the keys and many more
            candidates; ``mod``: the fingerprints of MOD_m, a key per 25 shingles; a text shares them with its excerpts.
        threshold: least estimated resemblance; 0: .7 with supershingles, .3 with minima, none with mod.
        coverage: least estimated share of the new text's shingles that the kept text has.
    """

    name: ClassVar[str] = "shingling"
    fixed: ClassVar[str] = f"min={SMALLEST} mod={MODULUS} most={MAX_MOD}"

    shingle: int = option(SHINGLE_WIDTH, "1 to 20")
    lookup: str = option("supershingles", "supershingles|minima|mod")
    threshold: float = option(0.0, "0 to 1", filed=False)
    coverage: float = option(0.8, "0 to 1", filed=False)

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        scheme = super().build(options, config)
        if scheme.lexicon != GENERAL and scheme.shingle != SHINGLE_WIDTH:
            raise ConfigError(
                f"A lexicon counts shingles of {SHINGLE_WIDTH}, so shingle={scheme.shingle} cannot be used with one."
            )
        return scheme

    @property
    def needs_lexicon(self) -> bool:
        return self.lexicon != GENERAL  # the general lexicon has no shingles

    @cached_property
    def _common(self) -> Numbers:
        return self.loaded_lexicon.shingles if self.needs_lexicon else np.zeros(0, dtype=np.uint64)

    def value(self, text: Text) -> bytes:
        shingles = text.shingles(self.shingle)
        if len(self._common):
            shingles = np.setdiff1d(shingles, self._common, assume_unique=True)
        return self.of_shingles(shingles)

    def of_shingles(self, shingles: Numbers) -> bytes:
        """Return the value of a set of fingerprints, ascending and distinct: its size, keys, MIN_s and MOD_m."""
        if not len(shingles):
            return b""
        keys = self._stored_keys(shingles)
        # Fingerprints are mixed already: their order is a random permutation, as Broder asks for.
        mod = shingles[shingles % np.uint64(MODULUS) == 0][:MAX_MOD]
        smallest = shingles[:SMALLEST]
        head = _HEAD.pack(len(shingles), len(keys), len(smallest), len(mod))
        return head + keys.astype("<u4").tobytes() + _pack(smallest) + _pack(mod)

    def _stored_keys(self, shingles: Numbers) -> Numbers:
        """Return the keys that do not follow from the sketches."""
        if self.lookup == "mod":
            return np.zeros(0, dtype=np.uint64)
        minima = _minima(shingles)
        if self.lookup == "minima":
            return minima[:MINIMA_KEYS]
        keys = np.zeros(SUPERSHINGLES, dtype=np.uint64)
        for column in minima.reshape(SUPERSHINGLES, MINIMA_PER_SUPERSHINGLE).T:
            keys = mix_bits(keys ^ column)
        return keys

    def keys_of(self, value: bytes) -> Numbers:
        sketch = _unpack(value)
        if self.lookup == "mod":
            return _union(sketch.mod, sketch.smallest[:_SMALLEST_KEYS])
        return np.arange(len(sketch.keys), dtype=np.uint64) << np.uint64(32) | sketch.keys

    def least_hits(self, value: bytes) -> int:
        if self.lookup == "mod":
            return max(1, int(self.coverage / 2 * len(self.keys_of(value))))
        return 2

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        return self.shares(new, kept).if_at_least(self.threshold or _THRESHOLDS[self.lookup], self.coverage)

    def shares(self, new: bytes, kept: bytes) -> Agreement:
        return _estimate_shares(_unpack(new), _unpack(kept))


def _minima(shingles: Numbers) -> Numbers:
    """Return the smallest of *shingles* under each of 84 permutations (linear modulo 2^64): uint64, shape (84,)."""
    least = np.full(_MINIMA, np.iinfo(np.uint64).max, dtype=np.uint64)
    for at in range(0, len(shingles), _TOGETHER):
        permuted = shingles[None, at : at + _TOGETHER] * _FACTORS
        permuted += _TERMS
        least = np.minimum(least, permuted.min(axis=1))
    return least


def _estimate_shares(new: _Sketch, kept: _Sketch) -> Agreement:
    """Estimate resemblance and containment.

    MIN_s (Broder 1997, §4): the share of the s smallest fingerprints of both texts together that is in both. MOD_m: the
    share of common fingerprints, up to the common maximum if one of the sketches was cut off. The resemblance comes from the
    sketch that says more about the two texts. The containment comes from both sketches. Only those fingerprints of the new
    text count that the kept text's sketches would have if that text had them; the containment is the share of these that
    the sketches have. If too few count, it follows from the resemblance and the two sizes.
    """
    ours, theirs = _below_common_maximum(new.mod, kept.mod)
    common = len(np.intersect1d(ours, theirs, assume_unique=True))
    union = len(ours) + len(theirs) - common
    resemblance = common / union if union >= _ENOUGH and len(ours) else _resemblance_of_smallest(new, kept)
    known = _union(ours, _known_smallest(new, kept))
    coverage = containment(resemblance, new.size, kept.size)
    if len(known) >= _LEAST_KNOWN:
        covered = len(np.intersect1d(known, _union(theirs, kept.smallest), assume_unique=True)) / len(known)
        coverage = min(covered, kept.size / max(1, new.size))  # no more than the kept text has
    return Agreement(resemblance=resemblance, coverage=coverage)


def _union(ours: Numbers, theirs: Numbers) -> Numbers:
    return sort_distinct(np.concatenate([ours, theirs]))


def _resemblance_of_smallest(new: _Sketch, kept: _Sketch) -> float:
    together = _union(new.smallest, kept.smallest)[:SMALLEST]
    common = np.intersect1d(new.smallest, kept.smallest, assume_unique=True)
    in_both = np.intersect1d(common, together, assume_unique=True)
    return len(in_both) / max(len(together), 1)


def _known_smallest(new: _Sketch, kept: _Sketch) -> Numbers:
    """Return the smallest fingerprints of the new text that would be among those of the kept text if it had them."""
    return new.smallest if len(kept.smallest) < SMALLEST else new.smallest[new.smallest < kept.smallest[-1]]


def _below_common_maximum(ours: Numbers, theirs: Numbers) -> tuple[Numbers, Numbers]:
    cut = [kept[-1] for kept in (ours, theirs) if len(kept) == MAX_MOD]
    if not cut:
        return ours, theirs
    return ours[ours <= min(cut)], theirs[theirs <= min(cut)]


def _pack(fingerprints: Numbers) -> bytes:
    return np.ascontiguousarray(fingerprints.astype(">u8").view(np.uint8).reshape(-1, 8)[:, :_BYTES]).tobytes()


def _unpack(value: bytes) -> _Sketch:
    if len(value) < _HEAD.size:
        raise ValueError("a signature is cut off")
    size, keys, smallest, mod = _HEAD.unpack(value[: _HEAD.size])
    at = _HEAD.size + 4 * keys
    middle = at + _BYTES * smallest
    if len(value) != middle + _BYTES * mod:
        raise ValueError("the length of a signature is not the length that it declares")
    return _Sketch(
        size,
        np.frombuffer(value[_HEAD.size : at], dtype="<u4").astype(np.uint64),
        _fingerprints(value[at:middle]),
        _fingerprints(value[middle:]),
    )


def _fingerprints(packed: bytes) -> Numbers:
    padded = np.zeros((len(packed) // _BYTES, 8), dtype=np.uint8)
    padded[:, 8 - _BYTES :] = np.frombuffer(packed, dtype=np.uint8).reshape(-1, _BYTES)
    return padded.reshape(-1).view(">u8").astype(np.uint64)
