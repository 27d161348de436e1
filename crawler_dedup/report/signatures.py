"""Measure how the signatures of kept texts are distributed in their space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.hamming import BITS, Numbers
from crawler_dedup.report.data import SignatureDistribution
from crawler_dedup.signedpage import SignedPage

INTERVALS = 128
"""Number of parts, as in figure 2 of Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007."""

_SAMPLED = 2_000_000
_COMPARED = 10_000
_MAX_COMPARISONS = 2_000_000_000  # a few seconds


class SignatureSample:
    """The signatures of texts with their scopes: all of them up to *limit*, otherwise a random sample.

    Args:
        limit: the size of the sample.
        seed: the seed of the random choice; the same seed and pages give the same sample.
    """

    def __init__(self, limit: int = _SAMPLED, seed: int = 0) -> None:
        self._limit = limit
        self._seen = 0
        self._source = np.random.default_rng(seed)
        # 8 bytes each; grown by doubling
        self._signatures: Numbers = np.empty(1024, dtype=np.uint64)
        self._scopes: Numbers = np.empty(1024, dtype=np.uint64)

    def add(self, pages: Sequence[SignedPage]) -> None:
        """Add the signatures of *pages*."""
        signatures = np.array([page.signature for page in pages], dtype=np.uint64)
        scopes = np.array([_scope(page) for page in pages], dtype=np.uint64)
        numbers = np.arange(self._seen, self._seen + len(pages))
        places = numbers.copy()
        late = numbers >= self._limit
        places[late] = self._source.integers(0, numbers[late] + 1)  # algorithm R (Vitter 1985, section 2)
        in_sample = places < self._limit
        self._make_room(min(self._seen + len(pages), self._limit))
        self._signatures[places[in_sample]] = signatures[in_sample]
        self._scopes[places[in_sample]] = scopes[in_sample]
        self._seen += len(pages)

    @property
    def signatures(self) -> Numbers:
        """The signatures in the sample: shape (min(limit, number of pages),)."""
        return self._signatures[: min(self._seen, self._limit)]

    def distribution(self) -> SignatureDistribution | None:
        """Return the distribution of the signatures; ``None`` if there are none."""
        if not self._seen:
            return None
        sampled = len(self.signatures)
        order = np.lexsort((self.signatures, self._scopes[:sampled]))
        signatures, scopes = self.signatures[order], self._scopes[:sampled][order]
        nearest = self._nearest(signatures, scopes)
        in_order = np.sort(signatures)
        first_different_bits, equal = _first_different_bits(in_order)
        return SignatureDistribution(
            kept=self._seen,
            sampled=sampled,
            nearest=np.bincount(nearest, minlength=BITS + 1).tolist(),
            compared=len(nearest),
            intervals=np.bincount(_interval(in_order), minlength=INTERVALS).tolist(),
            first_different_bits=first_different_bits,
            equal=equal,
        )

    def _make_room(self, size: int) -> None:
        if size > len(self._signatures):
            wanted = min(max(size, 2 * len(self._signatures)), self._limit)
            self._signatures = np.resize(self._signatures, wanted)
            self._scopes = np.resize(self._scopes, wanted)

    def _nearest(self, signatures: Numbers, scopes: Numbers) -> NDArray[np.int64]:
        """Return the distances of some signatures to the nearest other signature of their scope, if it has any.

        Args:
            signatures: shape (n,), sorted by scope as *scopes* is.
        """
        number = min(_COMPARED, len(signatures), max(1, _MAX_COMPARISONS // max(1, len(signatures))))
        chosen = np.sort(self._source.choice(len(signatures), number, replace=False))
        first = np.searchsorted(scopes, scopes[chosen], "left")
        last = np.searchsorted(scopes, scopes[chosen], "right")
        nearest = []
        for at, low, high in zip(chosen.tolist(), first.tolist(), last.tolist(), strict=True):
            if high - low > 1:
                distances = np.bitwise_count(signatures[low:high] ^ signatures[at])
                distances[at - low] = BITS
                nearest.append(int(distances.min()))
        return np.array(nearest, dtype=np.int64)


def expected_first_different_bits(number: int) -> NDArray[np.float64]:
    """Return what ``first_different_bits`` would be on average for *number* random signatures, shape (64,).

    The signatures that agree in all bits before a bit form a part of the space. The bit is the first to differ between two
    neighbours if both halves of such a part have a signature.
    """
    half: NDArray[np.float64] = np.ldexp(1.0, -np.arange(1, BITS + 1))
    parts = 0.5 / half
    exact = 1 - 2 * np.exp(number * np.log1p(-half)) + np.exp(number * np.log1p(-np.minimum(2 * half, 1 - 1e-16)))
    few = number * (number - 1.0) * half**2  # where ``exact`` would be lost in rounding
    return np.multiply(parts, np.where(number * half < 1e-4, few, exact), dtype=np.float64)


def _first_different_bits(in_order: Numbers) -> tuple[list[int], int]:
    differing = in_order[1:] ^ in_order[:-1]
    unequal = differing[differing > 0]
    # Halves of 32 bits are exact as float64, and frexp returns the position of their leading bit.
    high, low = unequal >> np.uint64(32), unequal & np.uint64(0xFFFFFFFF)
    lengths = np.where(high > 0, 32 + np.frexp(high.astype(np.float64))[1], np.frexp(low.astype(np.float64))[1])
    return np.bincount(BITS - lengths, minlength=BITS).tolist(), len(differing) - len(unequal)


def _interval(signatures: Numbers) -> NDArray[np.int64]:
    return (signatures >> np.uint64(BITS - INTERVALS.bit_length() + 1)).astype(np.int64)


def _scope(page: SignedPage) -> int:
    return xxh3_64_intdigest(page.scope.encode("utf-8", "replace"))
