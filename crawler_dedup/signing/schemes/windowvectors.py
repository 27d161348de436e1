"""Counts of letters in the windows of a text, packed into numbers: how they are made, and which of two texts match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hashes import Numbers, sort_distinct
from crawler_dedup.signing.schemes.winnowing import Positions

MAX_PAIRS = 1 << 18
"""Maximum number of pairs of windows to compare; with many windows, :data:`LEAST_PAIRS` for each window."""
LEAST_PAIRS = 16

_LEAST_HALF_BITS = 16  # shorter halves are the same in too many windows
_TOGETHER = 1 << 16  # windows that are counted at a time
_TAG = np.uint64(1) << np.uint64(40)

Classes = NDArray[np.uint8]


class _Part(NamedTuple):
    """The leading bits of a rotated vector: by how many bits it is rotated, and how many bits follow the leading ones."""

    rotation: int
    below: int


@dataclass(frozen=True)
class Layout:
    """The layout of the counts of a window in a number, its vector.

    Attributes:
        classes: number of the classes of letters.
        largest: largest count of a class; the expected count is stored as the middle of 0 to *largest*.
    """

    classes: int
    largest: int

    @property
    def class_bits(self) -> int:
        """Bits of a count."""
        return self.largest.bit_length()

    @property
    def bits(self) -> int:
        """Bits of a vector."""
        return self.classes * self.class_bits

    @property
    def parts(self) -> list[_Part]:
        """The parts of a vector, one of which is equal in matching windows: its halves, or all of it if these are short."""
        low = self.classes // 2 * self.class_bits
        if low < _LEAST_HALF_BITS:
            return [_Part(0, 0)]
        return [_Part(low, self.bits - low), _Part(0, low)]

    def keys(self, vectors: Numbers) -> Numbers:
        """Return the keys of *vectors*, one for each part of each vector: windows with an equal part share a key."""
        keys = []
        for number, part in enumerate(self.parts):
            leading = self.rotate(vectors, part) >> np.uint64(part.below)
            keys.append(leading + np.uint64(number) * _TAG if len(self.parts) > 1 else leading)
        return np.concatenate(keys)

    def rotate(self, vectors: Numbers, part: _Part) -> Numbers:
        """Rotate *vectors* so that the bits of *part* come before the others."""
        if not part.rotation:
            return vectors
        low = vectors & np.uint64((1 << part.rotation) - 1)
        return low << np.uint64(part.below) | vectors >> np.uint64(part.rotation)

    def differences(self, ours: Numbers, theirs: Numbers) -> Positions:
        """Return for each pair of vectors the sum of the absolute differences of their counts."""
        differences = np.zeros(len(ours), dtype=np.int64)
        mask = np.uint64((1 << self.class_bits) - 1)
        for number in range(self.classes):
            shift = np.uint64(number * self.class_bits)
            left, right = ((vectors >> shift & mask).astype(np.int64) for vectors in (ours, theirs))
            differences += np.abs(left - right)
        return differences

    def count(self, letters: Classes, expected: NDArray[np.int32], window: int, starts: Positions) -> Numbers:
        """Return the vectors of the windows that begin at *starts*.

        Args:
            letters: the class of each letter of the text.
            expected: expected number of letters of each class in a window.
            window: number of letters in a window.
            starts: ascending.
        """
        vectors = np.zeros(len(starts), dtype=np.uint64)
        for at in range(0, len(starts), _TOGETHER):
            batch = starts[at : at + _TOGETHER]
            first = int(batch[0])
            letters_of_batch = letters[first : int(batch[-1]) + window]
            for number in range(self.classes):
                sums = np.append(0, np.cumsum(letters_of_batch == number))
                counts = sums[batch - first + window] - sums[batch - first]
                counted = (counts - expected[number] + self.largest // 2).clip(0, self.largest)
                vectors[at : at + _TOGETHER] |= counted.astype(np.uint64) << np.uint64(number * self.class_bits)
        return vectors


class _SortedVectors(NamedTuple):
    """Vectors sorted by one part: the part, their places before sorting, the rotated vectors, and the bits of the part."""

    part: _Part
    order: Positions
    rotated: Numbers
    leading: Numbers


class VectorIndex:
    """An index of the distinct vectors of a text, ascending, for comparison with those of many pages.

    Two vectors match if one of their parts is equal and the sum of their differences is at most *apart*.
    """

    def __init__(self, layout: Layout, vectors: Numbers, apart: int) -> None:
        self._layout, self._vectors, self._apart = layout, vectors, apart
        self._sorted = [self._sort_by(part) for part in layout.parts]

    def _sort_by(self, part: _Part) -> _SortedVectors:
        rotated = self._layout.rotate(self._vectors, part)
        order = np.argsort(rotated, kind="stable")
        return _SortedVectors(part, order, rotated[order], rotated[order] >> np.uint64(part.below))

    def partners(self, theirs: Numbers) -> tuple[Positions, Positions]:
        """Return the pairs of matching vectors, as places in the indexed vectors and in *theirs* (ascending and distinct).

        Their number is bounded: a few times the length of *theirs*, or a few hundred thousand.
        """
        count = max(1, len(self._vectors))
        pairs = sort_distinct(np.concatenate([self._with_equal_part(ours, theirs) for ours in self._sorted]))
        return pairs % count, pairs // count

    def _with_equal_part(self, ours: _SortedVectors, theirs: Numbers) -> Positions:
        """Return the matching pairs that have this part in common; of too many, those whose other bits are nearest.

        Each pair is one number: the place in *theirs* times the number of indexed vectors, plus the place among these.
        """
        asked = self._layout.rotate(theirs, ours.part)
        leading = asked >> np.uint64(ours.part.below)
        left, right = (np.searchsorted(ours.leading, leading, side) for side in ("left", "right"))
        most = max(LEAST_PAIRS, MAX_PAIRS // max(1, len(theirs)))
        times = np.minimum(right - left, most)
        first = (np.searchsorted(ours.rotated, asked) - most // 2).clip(left, right - times)
        of_theirs = np.repeat(np.arange(len(theirs)), times)
        before = np.cumsum(times) - times
        of_ours = ours.order[np.repeat(first - before, times) + np.arange(len(of_theirs))]
        is_near = self._layout.differences(self._vectors[of_ours], theirs[of_theirs]) <= self._apart
        return of_theirs[is_near] * len(self._vectors) + of_ours[is_near]
