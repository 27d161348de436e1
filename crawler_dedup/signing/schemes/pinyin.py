"""Letters of the pinyin of a Chinese text, counted in windows: finds copies whose characters were exchanged for homophones.

The method was designed against pirated novels: text → pinyin → initials → windows of n letters that overlap → letter
frequencies less a reference → 0 … r → a short vector of each window, stored every n/2 letters and looked up at every letter.
Its description does not define window, reference and letters. Here n is 48; the 26 letters share 16 classes that are about
equally frequent in the lexicon, 4 bits each (r = 15), with the expected number in the middle; the vectors need not be equal:
half of each must be, and the rest may differ a little. Twenty letters with r = 3 or 1, as described, are ``classes=20
largest=3`` or ``largest=1``; with r = 9 they do not fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.hashes import Numbers, mix_bits, sort_distinct
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.initials import LETTERS, find_initials
from crawler_dedup.signing.schemes.featured import LexicalScheme
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme, option
from crawler_dedup.signing.schemes.winnowing import Pieces, Positions
from crawler_dedup.signing.text import Text

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


class VectorIndex:
    """An index of the distinct vectors of a text, ascending, for comparison with those of many pages.

    Two vectors match if one of their parts is equal and the sum of their differences is at most *apart*.
    """

    def __init__(self, layout: Layout, vectors: Numbers, apart: int) -> None:
        self._layout, self._vectors, self._apart = layout, vectors, apart
        # For each part, the places of the vectors in the order of this part, and the rotated vectors in that order.
        self._sorted: list[tuple[_Part, Positions, Numbers]] = []
        for part in layout.parts:
            rotated = layout.rotate(vectors, part)
            order = np.argsort(rotated, kind="stable")
            self._sorted.append((part, order, rotated[order]))

    def partners(self, theirs: Numbers) -> tuple[Positions, Positions]:
        """Return the pairs of matching vectors, as places in the indexed vectors and in *theirs* (ascending and distinct).

        Their number is bounded: a few times the length of *theirs*, or a few hundred thousand.
        """
        count = max(1, len(self._vectors))
        pairs = sort_distinct(np.concatenate([self._with_equal_part(*ours, theirs) for ours in self._sorted]))
        return pairs % count, pairs // count

    def _with_equal_part(self, part: _Part, order: Positions, rotated: Numbers, theirs: Numbers) -> Positions:
        """Return the matching pairs that have this part in common; of too many, those whose other bits are nearest.

        Each pair is one number: the place in *theirs* times the number of indexed vectors, plus the place among these.
        """
        asked, below = self._layout.rotate(theirs, part), np.uint64(part.below)
        left, right = (np.searchsorted(rotated >> below, asked >> below, side) for side in ("left", "right"))
        most = max(LEAST_PAIRS, MAX_PAIRS // max(1, len(theirs)))
        times = np.minimum(right - left, most)
        first = (np.searchsorted(rotated, asked) - most // 2).clip(left, right - times)
        of_theirs = np.repeat(np.arange(len(theirs)), times)
        before = np.cumsum(times) - times
        of_ours = order[np.repeat(first - before, times) + np.arange(len(of_theirs))]
        is_near = self._layout.differences(self._vectors[of_ours], theirs[of_theirs]) <= self._apart
        return of_theirs[is_near] * len(self._vectors) + of_ours[is_near]


MAX_BITS = 64
MAX_LETTERS = 1 << 21
MAX_PROBES = 8_192
MAX_CANDIDATES = 8

_HITS = 32
_LEAST_WINDOWS = 2.5  # a single window that matches by chance is enough to cover a shorter text
_LEAST_BITS = 20  # texts of a few thousand letters have most of the shorter vectors in common by chance
_NIBBLES = 16  # classes whose numbers fit four bits


@dataclass(frozen=True)
class Pinyin(LexicalScheme, ValueScheme):
    """Windows of letters, each described by the counts of 16 classes of letters.

    A kept text has a window at every half of a window's length, a new text has one at every letter, so that windows match
    after insertions and deletions too. Two windows match if one half of their vectors is equal and the other differs little.

    Good at: copies of long Chinese texts with homophones, other characters or another encoding. Bad at: other languages, of
    which only the first letter of each word counts; texts under 120 letters, which agree with equal texts only; crawls of
    long pages (up to 8,192 probes for each page, and the 8 best candidates are compared). In a crawl the rules compare the
    characters of blocks, too: a copy in homophones is kept.

    Half a byte and a twelfth of a key for each letter.

    Attributes:
        window: letters of a window.
        overlap: share of a window that overlaps with the next window of a kept text.
        classes: number of classes of letters; with more than 16, a letter takes a byte.
        largest: largest count of a class; its bits times the number of classes must be 20 to 64. With fewer than 32 bits,
            texts of 100,000 letters and more match by chance.
        apart: largest sum of differences between two vectors that match. If half a vector has fewer than 16 bits, vectors
            that match are equal.
        coverage: least share of the new text's letters that lie in windows of the kept text.
        resemblance: least share of the kept text's windows that the new text has: an excerpt is no copy of a book.
    """

    name: ClassVar[str] = "pinyin"
    fixed: ClassVar[str] = "version=3"
    bucket_limit: ClassVar[int | None] = 250

    window: int = option(48, "16 to 1000")
    overlap: float = option(0.5, "0 to 0.9")
    classes: int = option(16, "5 to 26")
    largest: int = option(15, "1 to 15")
    apart: int = option(4, "0 to 100", filed=False)
    coverage: float = option(0.8, "0 to 1", filed=False)
    resemblance: float = option(0.5, "0 to 1", filed=False)

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        scheme = super().build(options, config)
        bits = scheme.layout.bits
        if not _LEAST_BITS <= bits <= MAX_BITS:
            raise ConfigError(
                f"classes={scheme.classes} is not allowed with largest={scheme.largest}: a window takes"
                f" {bits} bits, and {_LEAST_BITS} to {MAX_BITS} are allowed."
            )
        return scheme

    @cached_property
    def layout(self) -> Layout:
        """The layout of the vectors of windows."""
        return Layout(self.classes, self.largest)

    def load(self) -> None:
        _ = self._class_of
        find_initials("")

    @cached_property
    def _class_of(self) -> Classes:
        """The class of each letter: frequent letters have a class of their own, rare letters share one."""
        sums = np.zeros(self.classes)
        classes = np.zeros(len(LETTERS), dtype=np.uint8)
        for letter in np.argsort(-self.loaded_lexicon.initial_counts.astype(np.float64), kind="stable").tolist():
            lightest = int(sums.argmin())
            classes[letter] = lightest
            sums[lightest] += max(1.0, float(self.loaded_lexicon.initial_counts[letter]))
        return classes

    @cached_property
    def _expected(self) -> bytes:
        """Expected number of letters of each class in a window, by the lexicon: one byte for each class."""
        counts = self.loaded_lexicon.initial_counts.astype(np.float64)
        sums = np.bincount(self._class_of, counts, minlength=self.classes)
        share = sums / max(1.0, float(sums.sum()))
        return np.rint(self.window * share).clip(0, 255).astype(np.uint8).tobytes()

    def value(self, text: Text) -> bytes:
        classes = self.classes_of(text.plain)
        return self.pack(classes) if _LEAST_WINDOWS * self.window <= len(classes) <= MAX_LETTERS else b""

    def classes_of(self, plain: str) -> Classes:
        """Return the class of each letter of a normalised text."""
        return np.take(self._class_of, find_initials(plain))

    def pack(self, classes: Classes) -> bytes:
        """Pack the classes of a text together with the expected numbers, so that reading a value needs no lexicon."""
        if self.classes > _NIBBLES:
            return b"\0" + self._expected + classes.tobytes()
        padded = np.append(classes, np.zeros(len(classes) % 2, dtype=np.uint8))
        return bytes([len(classes) % 2]) + self._expected + (padded[0::2] << 4 | padded[1::2]).tobytes()

    def _unpack(self, value: bytes) -> tuple[NDArray[np.int32], Classes]:
        """Return the expected numbers and the classes. Raises :class:`ValueError` if *value* is damaged."""
        if len(value) < 1 + self.classes or value[0] > 1:
            raise ValueError("a signature is cut off")
        expected = np.frombuffer(value[1 : 1 + self.classes], dtype=np.uint8).astype(np.int32)
        packed = np.frombuffer(value[1 + self.classes :], dtype=np.uint8)
        classes = packed
        if self.classes <= _NIBBLES:
            classes = np.stack([packed >> 4, packed & 15], axis=1).ravel()[: 2 * len(packed) - value[0]]
        if len(classes) < self.window or classes.max() >= self.classes:
            raise ValueError("fewer letters than a window has, or classes that do not exist")
        return expected, classes

    # Windows

    def pieces_of_page(self, value: bytes) -> Pieces:
        """Return the overlapping windows of a kept text, including the last possible one. Their numbers are vectors."""
        expected, classes = self._unpack(value)
        last = len(classes) - self.window
        step = max(1, int(self.window * (1 - self.overlap)))
        starts = np.unique(np.append(np.arange(0, last + 1, step), last))
        return Pieces(starts, self.layout.count(classes, expected, self.window, starts))

    def rolling(self, value: bytes) -> Pieces:
        """Return the windows of a new text: one at every letter."""
        expected, classes = self._unpack(value)
        starts = np.arange(len(classes) - self.window + 1)
        return Pieces(starts, self.layout.count(classes, expected, self.window, starts))

    # Look-up

    def keys_of(self, value: bytes) -> Numbers:
        return self.layout.keys(self.pieces_of_page(value).numbers)

    def probes_of(self, value: bytes) -> Numbers:
        return _prepare(self, value).probes

    def least_hits(self, value: bytes) -> int:
        own = len(np.intersect1d(self.keys_of(value), self.probes_of(value)))  # few if lines are repeated
        return max(1, min(_HITS, own // 4))

    def near(self, signature: Signature, filed: Numbers) -> Sequence[int]:
        return super().near(signature, filed)[:MAX_CANDIDATES]

    # Agreement

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        resemblance, coverage = _shares(self, new, kept)
        agreement = Agreement(resemblance=min(resemblance, coverage), coverage=coverage)
        return agreement if resemblance >= self.resemblance and coverage >= self.coverage else None

    def shares(self, new: bytes, kept: bytes) -> Agreement:
        """Return the share of the kept text's windows that the new text has, and the share of the new text's letters that
        lie in windows of the kept text."""
        resemblance, coverage = _shares(self, new, kept)
        return Agreement(resemblance=resemblance, coverage=coverage)


class _NewText:
    """The windows of a text that is looked up and compared, one at every letter."""

    def __init__(self, scheme: Pinyin, value: bytes) -> None:
        self.scheme = scheme
        rolling = scheme.rolling(value)
        self.numbers, self.number_of_window = np.unique(rolling.numbers, return_inverse=True)

    @cached_property
    def index(self) -> VectorIndex:
        """Index of the vectors of the windows."""
        return VectorIndex(self.scheme.layout, self.numbers, self.scheme.apart)

    @cached_property
    def probes(self) -> Numbers:
        """Keys of the windows; of too many, a choice that depends on the keys only, not on the text around them."""
        keys = sort_distinct(self.scheme.layout.keys(self.numbers))
        return keys if len(keys) <= MAX_PROBES else keys[np.argpartition(mix_bits(keys), MAX_PROBES)[:MAX_PROBES]]

    def cover(self, matching: Positions) -> float:
        """Return the share of the text's letters that lie in windows whose vectors are at *matching*."""
        is_matching = np.zeros(len(self.numbers), dtype=np.bool_)
        is_matching[matching] = True
        (starts,) = np.nonzero(is_matching[self.number_of_window])
        letters = len(self.number_of_window) + self.scheme.window - 1
        # Each window counts its letters up to the next window.
        return float(np.minimum(np.diff(starts, append=letters), self.scheme.window).sum() / letters)


_prepare = lru_cache(maxsize=1)(_NewText)
"""Prepares a text. The result is cached, because a text is looked up and then compared with several kept texts."""


@lru_cache(maxsize=8)
def _shares(scheme: Pinyin, new: bytes, kept: bytes) -> tuple[float, float]:
    """Return the shares of two texts. The result is cached, because many pages may have the same signature."""
    ours, stored = _prepare(scheme, new), scheme.pieces_of_page(kept)
    theirs, times = np.unique(stored.numbers, return_counts=True)
    new_places, kept_places = ours.index.partners(theirs)
    resemblance = float(times[sort_distinct(kept_places)].sum() / len(stored.starts))
    return resemblance, ours.cover(sort_distinct(new_places))
