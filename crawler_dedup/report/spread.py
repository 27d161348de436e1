"""How the signatures of kept texts lie in their space: near each other, evenly, or in heaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.hamming import BITS, Numbers
from crawler_dedup.report.figures import Spread
from crawler_dedup.signedpage import SignedPage

INTERVALS = 128
"""As in figure 2 of Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007."""

_HELD = 2_000_000
_ASKED = 10_000
_COMPARISONS = 2_000_000_000  # a few seconds


class Signatures:
    """The signatures of texts with their scopes: all, or of very many *held*, each as likely as any other."""

    def __init__(self, held: int = _HELD) -> None:
        self._limit = held
        self._seen = 0
        self._source = np.random.default_rng(0)  # the same index, the same figures
        # 8 bytes each; grown by doubling
        self._signatures: Numbers = np.empty(1024, dtype=np.uint64)
        self._scopes: Numbers = np.empty(1024, dtype=np.uint64)

    def add(self, pages: Sequence[SignedPage]) -> None:
        """Hold *pages*."""
        signatures = np.array([page.signature for page in pages], dtype=np.uint64)
        scopes = np.array([_scope(page) for page in pages], dtype=np.uint64)
        numbers = np.arange(self._seen, self._seen + len(pages))
        places = numbers.copy()
        late = numbers >= self._limit
        places[late] = self._source.integers(0, numbers[late] + 1)  # algorithm R (Vitter 1985, section 2)
        held = places < self._limit
        self._make_room(min(self._seen + len(pages), self._limit))
        self._signatures[places[held]] = signatures[held]
        self._scopes[places[held]] = scopes[held]
        self._seen += len(pages)

    def spread(self) -> Spread | None:
        """How they lie; ``None`` if there is none."""
        if not self._seen:
            return None
        drawn = min(self._seen, self._limit)
        order = np.lexsort((self._signatures[:drawn], self._scopes[:drawn]))
        signatures, scopes = self._signatures[:drawn][order], self._scopes[:drawn][order]
        nearest = self._nearest(signatures, scopes)
        in_order = np.sort(signatures)
        leading, equal = _leading(in_order)
        return Spread(
            kept=self._seen,
            drawn=drawn,
            nearest=np.bincount(nearest, minlength=BITS + 1).tolist(),
            asked=len(nearest),
            intervals=np.bincount(_interval(in_order), minlength=INTERVALS).tolist(),
            leading=leading,
            equal=equal,
        )

    def _make_room(self, size: int) -> None:
        if size > len(self._signatures):
            wanted = min(max(size, 2 * len(self._signatures)), self._limit)
            self._signatures = np.resize(self._signatures, wanted)
            self._scopes = np.resize(self._scopes, wanted)

    def _nearest(self, signatures: Numbers, scopes: Numbers) -> NDArray[np.int64]:
        """The distance to the nearest other signature of the scope, of some; those that are alone are left out.

        Args:
            signatures: shape (n,), together with *scopes* sorted by scope.
        """
        asked = min(_ASKED, len(signatures), max(1, _COMPARISONS // max(1, len(signatures))))
        chosen = np.sort(self._source.choice(len(signatures), asked, replace=False))
        first = np.searchsorted(scopes, scopes[chosen], "left")
        last = np.searchsorted(scopes, scopes[chosen], "right")
        found = []
        for at, low, high in zip(chosen.tolist(), first.tolist(), last.tolist(), strict=True):
            if high - low > 1:
                distances = np.bitwise_count(signatures[low:high] ^ signatures[at])
                distances[at - low] = BITS
                found.append(int(distances.min()))
        return np.array(found, dtype=np.int64)


def expected_leading(number: int) -> NDArray[np.float64]:
    """What :attr:`Spread.leading` would be on average for *number* random signatures, shape (64,).

    A bit is the first to differ between two neighbours when both halves of a part of the space that agrees in the bits
    before it have a signature.
    """
    half: NDArray[np.float64] = np.ldexp(1.0, -np.arange(1, BITS + 1))
    parts = 0.5 / half
    exact = 1 - 2 * np.exp(number * np.log1p(-half)) + np.exp(number * np.log1p(-np.minimum(2 * half, 1 - 1e-16)))
    few = number * (number - 1.0) * half**2  # where the other one would be lost in rounding
    return np.multiply(parts, np.where(number * half < 1e-4, few, exact), dtype=np.float64)


def _leading(in_order: Numbers) -> tuple[list[int], int]:
    differing = in_order[1:] ^ in_order[:-1]
    unequal = differing[differing > 0]
    # Halves of 32 bits are exact as float64, of which frexp tells the leading bit.
    high, low = unequal >> np.uint64(32), unequal & np.uint64(0xFFFFFFFF)
    lengths = np.where(high > 0, 32 + np.frexp(high.astype(np.float64))[1], np.frexp(low.astype(np.float64))[1])
    return np.bincount(BITS - lengths, minlength=BITS).tolist(), len(differing) - len(unequal)


def _interval(signatures: Numbers) -> NDArray[np.int64]:
    return (signatures >> np.uint64(BITS - INTERVALS.bit_length() + 1)).astype(np.int64)


def _scope(page: SignedPage) -> int:
    return xxh3_64_intdigest(page.scope.encode("utf-8", "replace"))
