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

from crawler_dedup.hamming import Numbers, mix_bits
from crawler_dedup.signing.schemes.minwise import estimate_resemblance, one_permutation
from crawler_dedup.signing.schemes.scheme import Agreement, Shares, ValueScheme, option
from crawler_dedup.signing.sketch import containment
from crawler_dedup.signing.text import Text

BINS = 128
_FOUND = 0.95

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
        meet = (rows for rows in range(BINS, 1, -1) if 1 - (1 - self.threshold**rows) ** (BINS // rows) >= _FOUND)
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
        shares = self.shares(new, kept)
        if shares.resemblance < self.threshold or shares.coverage < self.coverage:
            return None
        return shares.agreement

    def shares(self, new: bytes, kept: bytes) -> Shares:
        new_size, kept_size = (_SIZE.unpack(value[: _SIZE.size].ljust(_SIZE.size, b"\0"))[0] for value in (new, kept))
        resemblance = estimate_resemblance(*(np.frombuffer(value[-BINS:], dtype=np.uint8) for value in (new, kept)))
        return Shares(resemblance, containment(resemblance, new_size, kept_size))
