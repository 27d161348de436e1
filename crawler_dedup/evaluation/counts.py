"""Counts of right and wrong answers, and the shares computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

_Z = 1.959964  # 95 % of a normal distribution lie within this number of standard deviations


@dataclass(frozen=True)
class Share:
    """The share of *hits* in *total*."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; ``None`` if *total* is 0."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share, from 0 to 1.

        Wilson's score interval ("Probable inference, the law of succession, and statistical inference", Journal of the
        American Statistical Association 22, 1927), which is valid for shares near 0 and 1 and for small numbers too.
        """
        if not self.total:
            return 0.0, 1.0
        share, z2 = self.hits / self.total, _Z * _Z
        middle = (share + z2 / (2 * self.total)) / (1 + z2 / self.total)
        half = _Z * sqrt(share * (1 - share) / self.total + z2 / (4 * self.total * self.total)) / (1 + z2 / self.total)
        # The ends 0 and 1 are exact: rounding must not move them.
        low = middle - half if self.hits else 0.0
        high = middle + half if self.hits < self.total else 1.0
        return low, high


@dataclass(frozen=True)
class Counts:
    """Labelled pairs by the outcome.

    Attributes:
        found: duplicates that are called duplicates.
        missed: duplicates that are not called duplicates.
        false: other pairs that are called duplicates.
        apart: other pairs that are not called duplicates.
    """

    found: int = 0
    missed: int = 0
    false: int = 0
    apart: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.found + other.found, self.missed + other.missed, self.false + other.false, self.apart + other.apart
        )

    @property
    def precision(self) -> Share:
        """The share of duplicates among the pairs that are called duplicates."""
        return Share(self.found, self.found + self.false)

    @property
    def recall(self) -> Share:
        """The share of the duplicates that are found."""
        return Share(self.found, self.found + self.missed)
