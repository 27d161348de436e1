"""Min-wise signatures, looked up by bands (locality-sensitive hashing).

Broder, "On the resemblance and containment of documents", 1997; bands: Leskovec, Rajaraman and Ullman, "Mining of massive
datasets", §3.4.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hashes import Numbers, mix_bits
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme, containment, option
from crawler_dedup.signing.text import Text

_STEP = 0x9E3779B97F4A7C15
_ELEMENTS = 1024  # hashes that are thrown into the bins in one pass, over all its rounds
_ROUND_BITS = 16


def one_permutation(hashes: Numbers, bins: int) -> Numbers:
    """Return a number for each bin; two sets have the same number with a probability equal to their resemblance.

    One-permutation hashing (Li, Owen and Zhang 2012): the hashes are thrown into the bins, and each bin keeps its smallest.
    If a set is too small to fill all bins, its hashes are permuted in another way and thrown into the empty bins, round
    after round (Dahlgaard, Knudsen and Thorup, "Fast similarity sketching", FOCS 2017, §2). Unlike copying from a
    neighbouring bin (Shrivastava and Li 2014), this leaves the estimate as exact as with independent permutations.

    Args:
        hashes: uint64, distinct, at least one.
        bins: number of bins, a power of two.

    Returns:
        uint64, shape (bins,); each number has 48 bits less the bits of a bin's number.
    """
    width = bins.bit_length() - 1
    order_bits = np.uint64(64 - _ROUND_BITS - width)
    filled = np.zeros(bins, dtype=np.uint64)
    is_full = np.zeros(bins, dtype=np.bool_)
    first, rounds = 0, 1
    while not is_full.all():
        seeds = (np.arange(first, first + rounds, dtype=np.uint64) * np.uint64(_STEP))[:, None]
        thrown = mix_bits(hashes[None, :] ^ seeds)
        into = thrown >> np.uint64(64 - width)
        order = (thrown >> np.uint64(_ROUND_BITS)) & ((np.uint64(1) << order_bits) - np.uint64(1))
        round_of = np.arange(rounds, dtype=np.uint64)[:, None]
        # Sorted by bin, round and order within: the first of each bin is the smallest of its earliest round.
        ranked = np.sort(((into << np.uint64(_ROUND_BITS) | round_of) << order_bits | order).ravel())
        owners = (ranked >> np.uint64(64 - width)).astype(np.intp)
        at = np.flatnonzero(np.diff(owners, prepend=-1))
        new = at[~is_full[owners[at]]]
        filled[owners[new]] = ranked[new] & ((np.uint64(1) << order_bits) - np.uint64(1))
        is_full[owners[new]] = True
        first += rounds
        rounds = max(1, min(_ELEMENTS // len(hashes), (1 << _ROUND_BITS) - 1))
    return filled


def estimate_resemblance(new: NDArray[np.uint8], kept: NDArray[np.uint8]) -> float:
    """Estimate the resemblance of two sets, 0 to 1, from the low 8 bits of each of their min-wise numbers.

    The estimate is the share of equal numbers, corrected for those that are equal by chance (Li and König, "b-Bit minwise
    hashing", WWW 2010, theorem 1, for large sets). Raises :class:`ValueError` if the shapes differ.
    """
    if new.shape != kept.shape:
        raise ValueError("two signatures of different lengths")
    agreeing = np.count_nonzero(new == kept) / max(len(new), 1)
    return float(max(0.0, (agreeing - 1 / 256) / (1 - 1 / 256)))


BINS = 128
_MIN_RECALL = 0.95

_SIZE = struct.Struct("<I")


@dataclass(frozen=True)
class MinHash(ValueScheme):
    """A sample of the shingles of a text: two texts agree in a share of its 128 numbers that estimates their resemblance.

    It is looked up by bands of *rows* numbers, all of which must agree in at least one band; then the estimated resemblance
    confirms the match.

    Good at: short texts, in which a changed word moves a simhash further than the tables reach. Bad at: excerpts; it also
    writes much, because every band is a key.

    About 240 bytes a page, 25 keys.

    Attributes:
        shingle: units (words; characters of scripts without spaces) of a shingle.
        threshold: least estimated resemblance.
        coverage: least estimated share of the new text's shingles that the kept text has. For texts of equal length it is .8
            at a resemblance of .67, so that a lower threshold needs a lower coverage too.
        rows: numbers of a band; 0: the largest number with which 95 of 100 pairs at the threshold share a band.
    """

    name: ClassVar[str] = "minhash"
    fixed: ClassVar[str] = f"bins={BINS} bits=8"

    shingle: int = option(2, "1 to 20")
    threshold: float = option(0.7, "0.05 to 1")
    coverage: float = option(0.8, "0 to 1", filed=False)
    rows: int = option(0, f"0 to {BINS}")

    @cached_property
    def band_rows(self) -> int:
        """Numbers of a band."""
        if self.rows:
            return self.rows
        meet = (rows for rows in range(BINS, 1, -1) if 1 - (1 - self.threshold**rows) ** (BINS // rows) >= _MIN_RECALL)
        return next(meet, 1)

    def value(self, text: Text) -> bytes:
        return self.of_shingles(text.shingles(self.shingle))

    def of_shingles(self, shingles: Numbers) -> bytes:
        """Return the value of a set of hashes: its size, 32 bits of each band, 8 bits of each number."""
        if not len(shingles):
            return b""
        minima = one_permutation(shingles, BINS)
        rows = self.band_rows
        bands = minima[: BINS // rows * rows].reshape(-1, rows)
        hashed = np.zeros(len(bands), dtype=np.uint64)
        for row in range(rows):
            hashed = mix_bits(hashed ^ bands[:, row])
        codes = (minima & np.uint64(0xFF)).astype(np.uint8)
        return _SIZE.pack(len(shingles)) + hashed.astype("<u4").tobytes() + codes.tobytes()

    def keys_of(self, value: bytes) -> Numbers:
        bands = np.frombuffer(value[_SIZE.size : -BINS], dtype="<u4").astype(np.uint64)
        return np.arange(len(bands), dtype=np.uint64) << np.uint64(32) | bands

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        return self.shares(new, kept).if_at_least(self.threshold, self.coverage)

    def shares(self, new: bytes, kept: bytes) -> Agreement:
        new_size, kept_size = (_SIZE.unpack(value[: _SIZE.size].ljust(_SIZE.size, b"\0"))[0] for value in (new, kept))
        resemblance = estimate_resemblance(*(np.frombuffer(value[-BINS:], dtype=np.uint8) for value in (new, kept)))
        return Agreement(resemblance=resemblance, coverage=containment(resemblance, new_size, kept_size))
