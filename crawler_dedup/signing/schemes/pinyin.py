"""Letters of the pinyin of a Chinese text, counted in windows: finds copies whose characters were exchanged for homophones.

The idea was made against pirated novels: text → pinyin → initials → windows of n letters → letter frequencies less a
reference → 0 … r → a short vector of each window, stored every n/2 letters and looked up at every letter. Its description
leaves window, reference and letters open, and 26 letters with its largest r do not fit 64 bits. Here: n = 48; the 26 letters
share 16 classes that are about equally frequent in the lexicon, 4 bits each (r = 15), in which the expected number is the
middle; in place of vectors that are equal, half of two vectors must be, and the rest may differ a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers, mix_bits
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.initials import LETTERS, find_initial_positions, find_initials
from crawler_dedup.signing.schemes.lexical import LexicalScheme
from crawler_dedup.signing.schemes.passages import PassageScheme, Pieces, Positions
from crawler_dedup.signing.schemes.scheme import Agreement, Shares, option
from crawler_dedup.signing.text import Text

CLASSES = 16
MAX_COUNT = 15
"""Largest count of the letters of a class in a vector."""
MAX_LETTERS = 16_384
MAX_PROBES = 8_192
MAX_CANDIDATES = 8
MAX_PAIRS = 1 << 18
"""Pairs of windows that share half a vector and are compared."""

_HITS = 32
_LEAST_WINDOWS = 2.5  # in a shorter text one window that matches by chance is enough to cover it
_SHIFTS = np.arange(0, 64, 4, dtype=np.uint64)
_HALF_BITS = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)

Classes = NDArray[np.uint8]


@dataclass(frozen=True)
class Pinyin(LexicalScheme, PassageScheme):
    """Windows of letters, of each how often 16 classes of letters occur.

    A kept text has a window every half of its length, a new one at every letter, so that what was put in or left out moves
    no window out of step. Two windows match if one half of their vectors is equal and the other differs by little.

    Good at: copies of long Chinese texts with homophones, other characters or another encoding, and at saying which parts
    were copied (``crawler-dedup trace``). Bad at: other languages, of which only the first letter of each word counts; texts
    under 120 letters or over 16,384, which agree with their equals only; crawls of long pages (up to 8,192 probes each, of
    which the 8 best candidates are compared).

    Half a byte for each letter, and a twelfth of a key.

    Attributes:
        window: letters of a window.
        apart: largest sum of differences between two vectors that match.
        coverage: least share of the new text's letters that lie in windows of the kept one.
        resemblance: least share of the kept text's windows that the new one has: an excerpt is no copy of a book.
    """

    name: ClassVar[str] = "pinyin"
    fixed: ClassVar[str] = f"classes={CLASSES} largest={MAX_COUNT}"
    bucket_limit: ClassVar[int | None] = 250
    least_keys: ClassVar[int] = 2

    window: int = option(48, "16 to 1000")
    apart: int = option(4, "0 to 100", filed=False)
    coverage: float = option(0.8, "0 to 1", filed=False)
    resemblance: float = option(0.5, "0 to 1", filed=False)

    def load(self) -> None:
        _ = self._class_of
        find_initials("")

    @cached_property
    def _class_of(self) -> Classes:
        """The class of each letter: the frequent ones have their own, the rare ones share one."""
        sums = np.zeros(CLASSES)
        classes = np.zeros(len(LETTERS), dtype=np.uint8)
        for letter in np.argsort(-self.lexicon.initial_counts.astype(np.float64), kind="stable").tolist():
            lightest = int(sums.argmin())
            classes[letter] = lightest
            sums[lightest] += max(1.0, float(self.lexicon.initial_counts[letter]))
        return classes

    @cached_property
    def _expected(self) -> bytes:
        """How many letters of each class a window of the reference has, a byte each."""
        sums = np.bincount(self._class_of, self.lexicon.initial_counts.astype(np.float64), minlength=CLASSES)
        share = sums / max(1.0, float(sums.sum()))
        return np.rint(self.window * share).clip(0, 255).astype(np.uint8).tobytes()

    def value(self, text: Text) -> bytes:
        classes = self.classes_of(text.plain)
        return self.pack(classes) if _LEAST_WINDOWS * self.window <= len(classes) <= MAX_LETTERS else b""

    def classes_of(self, plain: str) -> Classes:
        """Return the class of each letter of a normalised text."""
        classes: Classes = self._class_of[find_initials(plain)]
        return classes

    def pack(self, classes: Classes) -> bytes:
        """Pack the classes of a text with what the lexicon leads to expect: a value needs no lexicon to be read."""
        padded = np.append(classes, np.zeros(len(classes) % 2, dtype=np.uint8))
        return bytes([len(classes) % 2]) + self._expected + (padded[0::2] << 4 | padded[1::2]).tobytes()

    def keys_of(self, value: bytes) -> Numbers:
        return self.keys_of_pieces(self.pieces_of_page(value).numbers)

    def probes_of(self, value: bytes) -> Numbers:
        keys = np.unique(self.keys_of_pieces(self.rolling(value).numbers))
        if len(keys) > MAX_PROBES:  # the same ones, whatever surrounds them
            keys = keys[np.argsort(mix_bits(keys))[:MAX_PROBES]]
        return keys

    def least_hits(self, value: bytes) -> int:
        own = len(np.intersect1d(self.keys_of(value), self.probes_of(value)))  # few where lines are repeated
        return max(1, min(_HITS, own // 4))

    def near(self, signature: Signature, filed: Numbers) -> Sequence[int]:
        return super().near(signature, filed)[:MAX_CANDIDATES]

    @property
    def piece_letters(self) -> int:
        return self.window

    @property
    def reach(self) -> int:
        return self.window

    def find_letters(self, plain: str) -> Positions:
        return find_initial_positions(plain)

    def pieces_of_text(self, plain: str) -> Pieces:
        classes = self.classes_of(plain)
        if len(classes) < self.window:
            return Pieces(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64))
        return self.rolling(self.pack(classes))

    def pieces_of_page(self, value: bytes) -> Pieces:
        """Return the windows of a kept text: one every half of a window's length, and the last one.

        Their numbers are vectors, 16 times 4 bits.
        """
        expected, classes = _unpack(value)
        last = len(classes) - self.window
        return self._windows(expected, classes, np.unique(np.append(np.arange(0, last + 1, self.window // 2), last)))

    def rolling(self, value: bytes) -> Pieces:
        """Return the windows of a new text: one at every letter."""
        expected, classes = _unpack(value)
        return self._windows(expected, classes, np.arange(len(classes) - self.window + 1))

    def _windows(self, expected: NDArray[np.int32], classes: Classes, starts: Positions) -> Pieces:
        if len(classes) < self.window:
            raise ValueError("fewer letters than a window has")
        vectors = np.zeros(len(starts), dtype=np.uint64)
        for number in range(CLASSES):
            sums = np.append(0, np.cumsum(classes == number, dtype=np.int32))
            # What the reference leads to expect is the middle of the range.
            counts = (sums[starts + self.window] - sums[starts] - expected[number] + MAX_COUNT // 2).clip(0, MAX_COUNT)
            vectors |= counts.astype(np.uint64) << _SHIFTS[number]
        return Pieces(starts, vectors)

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        shares = _shares(self, new, kept)
        if shares.coverage < self.coverage or shares.resemblance < self.resemblance:
            return None
        return Agreement(resemblance=min(shares), coverage=shares.coverage)

    def shares(self, new: bytes, kept: bytes) -> Shares:
        """Return the share of the kept text's windows that the new one has, and the share of the new text's letters that lie
        in windows of the kept one."""
        return _shares(self, new, kept)

    def keys_of_pieces(self, numbers: Numbers) -> Numbers:
        """Return two keys of each window, the halves of its vector: two windows meet where one half is equal."""
        return np.concatenate([_low(numbers), _high(numbers) | np.uint64(1) << _HALF_BITS])

    def partners(self, ours: Numbers, theirs: Numbers) -> tuple[Positions, Positions]:
        partners = []
        for half in (_low, _high):
            order = np.argsort(half(ours), kind="stable")
            left, right = (np.searchsorted(half(ours)[order], half(theirs), side) for side in ("left", "right"))
            times = np.minimum(right - left, max(1, MAX_PAIRS // max(1, len(theirs))))
            of_theirs = np.repeat(np.arange(len(theirs)), times)
            first = np.repeat(left - np.append(0, np.cumsum(times)[:-1]), times)
            of_ours = order[first + np.arange(len(of_theirs))]
            near = _apart(ours[of_ours], theirs[of_theirs]) <= self.apart
            partners.append(np.stack([of_ours[near], of_theirs[near]]))
        both = np.unique(np.concatenate(partners, axis=1), axis=1)
        return both[0], both[1]

    def covered(self, starts: Positions, letters: int) -> float:
        """Return the share of a text's letters that lie in windows beginning at *starts*, distinct."""
        ends = np.zeros(letters + 1, dtype=np.int64)
        ends[starts] += 1
        ends[starts + self.window] -= 1
        return float(np.count_nonzero(ends.cumsum()[:-1]) / letters)


@lru_cache(maxsize=64)
def _shares(scheme: Pinyin, new: bytes, kept: bytes) -> Shares:
    """Remembered, because many pages may stand under one signature."""
    rolling, stored = scheme.rolling(new), scheme.pieces_of_page(kept)
    ours, which = np.unique(rolling.numbers, return_inverse=True)
    theirs, times = np.unique(stored.numbers, return_counts=True)
    at, there = scheme.partners(ours, theirs)
    covered = scheme.covered(rolling.starts[np.isin(which, at)], len(rolling.starts) + scheme.window - 1)
    resemblance = float(times[np.unique(there)].sum() / len(stored.starts))
    return Shares(resemblance, covered)


def _low(vectors: Numbers) -> Numbers:
    return vectors & _LOW_HALF


def _high(vectors: Numbers) -> Numbers:
    return vectors >> _HALF_BITS


def _apart(ours: Numbers, theirs: Numbers) -> NDArray[np.int64]:
    """The sum of the differences of two vectors, pair by pair."""
    apart = np.zeros(len(ours), dtype=np.int64)
    for shift in _SHIFTS:
        left, right = ((vectors >> shift & np.uint64(MAX_COUNT)).astype(np.int64) for vectors in (ours, theirs))
        apart += np.abs(left - right)
    return apart


def _unpack(value: bytes) -> tuple[NDArray[np.int32], Classes]:
    """Expected numbers and classes. Raises :class:`ValueError` if *value* is damaged."""
    if len(value) < 1 + CLASSES or value[0] > 1:
        raise ValueError("a signature is cut off")
    expected = np.frombuffer(value[1 : 1 + CLASSES], dtype=np.uint8).astype(np.int32)
    pairs = np.frombuffer(value[1 + CLASSES :], dtype=np.uint8)
    classes = np.stack([pairs >> 4, pairs & 15], axis=1).ravel()
    return expected, classes[: len(classes) - value[0]]
