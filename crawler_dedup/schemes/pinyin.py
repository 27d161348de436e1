"""Letters of the pinyin of a Chinese text, counted in windows: finds copies whose characters were exchanged for homophones.

The idea was made against pirated novels: text → pinyin → initials → windows of n letters → letter frequencies less a
reference → 0 … r → a short vector of each window, stored every n/2 letters and looked up at every letter. Its
description leaves window, reference and letters open, and 26 letters with its largest r do not fit 64 bits. Here: n =
48; the 26 letters share 16 classes that are about equally frequent in the lexicon, 4 bits each (r = 15), in which the
expected number is the middle; in place of vectors that are equal, half of two vectors must be, and the rest may differ
a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.letters import LETTERS, letters_of
from crawler_dedup.schemes.lexical import LexicalScheme
from crawler_dedup.schemes.scheme import Agreement, Numbers, option
from crawler_dedup.signedpage import Signature
from crawler_dedup.texts import Text, mixed

CLASSES = 16
LARGEST = 15
MAX_LETTERS = 32_768
MAX_PROBES = 8_192
MAX_CANDIDATES = 16

_BITS = 5
_HALF = CLASSES // 2
_COMPARED = 1 << 20
_HITS = 32


class Windows(NamedTuple):
    """Windows of a text: where each begins (letters), and its vector (uint8, shape (windows, 16))."""

    starts: NDArray[np.int64]
    vectors: NDArray[np.uint8]


@dataclass(frozen=True)
class Pinyin(LexicalScheme):
    """Windows of letters, of each how often 16 classes of letters occur.

    A kept text has a window every half of its length, a new one at every letter, so that what was put in or left out moves
    no window out of step. Two windows match if one half of their vectors is equal and the other differs by little.

    Good at: copies of long Chinese texts with homophones, other characters or another encoding, and at saying which parts
    were copied (``crawler-dedup trace``). Bad at: other languages, of which only the first letter of each word counts;
    texts under 48 letters or over 32,768, which agree with their equals only; crawls with long pages (thousands of
    probes each).

    About two thirds of a byte for each character, and a sixth of a key.

    Attributes:
        window: letters of a window.
        apart: largest sum of differences between two vectors that match.
        coverage: least share of the new text's letters that lie in windows of the kept one.
        resemblance: least share of the kept text's windows that the new one has: an excerpt is no copy of a book.
    """

    name: ClassVar[str] = "pinyin"
    libraries: ClassVar[Sequence[str]] = ("pypinyin",)
    fixed: ClassVar[str] = f"classes={CLASSES} largest={LARGEST}"

    window: int = option(48, "16 to 1000")
    apart: int = option(4, "0 to 100", filed=False)
    coverage: float = option(0.8, "0 to 1", filed=False)
    resemblance: float = option(0.5, "0 to 1", filed=False)

    def load(self) -> None:
        _ = self._class_of
        letters_of("")

    @cached_property
    def _class_of(self) -> NDArray[np.uint8]:
        """The class of each letter.

        The frequent ones have their own, the rare ones share, so that all are alike frequent.
        """
        sums = np.zeros(CLASSES)
        classes = np.zeros(len(LETTERS), dtype=np.uint8)
        for letter in np.argsort(-self.lexicon.letters.astype(np.float64), kind="stable").tolist():
            lightest = int(sums.argmin())
            classes[letter] = lightest
            sums[lightest] += max(1.0, float(self.lexicon.letters[letter]))
        return classes

    @cached_property
    def _expected(self) -> NDArray[np.float64]:
        """How many letters of each class a window of the reference has."""
        sums = np.bincount(self._class_of, self.lexicon.letters.astype(np.float64), minlength=CLASSES)
        return np.asarray(self.window * sums / max(1.0, float(sums.sum())), dtype=np.float64)

    def value(self, text: Text) -> bytes:
        letters = letters_of(text.plain)
        if not self.window <= len(letters) <= MAX_LETTERS:
            return b""
        bits = np.unpackbits(letters[:, None], axis=1)[:, 8 - _BITS :]
        return bytes([len(letters) & 7]) + np.packbits(bits.ravel()).tobytes()

    def keys_of(self, value: bytes) -> Numbers:
        return self.keys_of_windows(self.stored(letters_in(value)))

    def probes_of(self, value: bytes) -> Numbers:
        keys = np.unique(self.keys_of_windows(self.rolling(letters_in(value))))
        if len(keys) > MAX_PROBES:  # the same ones, whatever surrounds them
            keys = keys[np.argsort(mixed(keys))[:MAX_PROBES]]
        return keys

    def least_hits(self, value: bytes) -> int:
        return max(1, min(len(letters_in(value)) // self.window, _HITS))

    def near(self, signature: Signature, filed: Numbers) -> Sequence[int]:
        return super().near(signature, filed)[:MAX_CANDIDATES]

    def keys_of_windows(self, windows: Windows) -> Numbers:
        """Two of each window: its vector's halves, so that one changed letter in the other half does not hide it."""
        halves = windows.vectors.reshape(-1, 2, _HALF)
        nibbles = halves[:, :, 0::2] << 4 | halves[:, :, 1::2]
        packed = np.ascontiguousarray(nibbles).view("<u4").reshape(-1, 2).astype(np.uint64)
        return (packed | np.array([0, 1], dtype=np.uint64) << np.uint64(32)).ravel()

    def stored(self, letters: NDArray[np.uint8]) -> Windows:
        """The windows of a kept text: one every half of its length, and the last one."""
        starts = np.arange(0, len(letters) - self.window + 1, self.window // 2)
        return self._windows(letters, np.unique(np.append(starts, len(letters) - self.window)))

    def rolling(self, letters: NDArray[np.uint8]) -> Windows:
        """The windows of a new text: one at every letter."""
        return self._windows(letters, np.arange(len(letters) - self.window + 1))

    def _windows(self, letters: NDArray[np.uint8], starts: NDArray[np.int64]) -> Windows:
        if len(letters) < self.window:
            raise ValueError("fewer letters than a window has")
        ones = np.zeros((len(letters) + 1, CLASSES), dtype=np.int32)
        ones[np.arange(1, len(letters) + 1), self._class_of[letters]] = 1
        sums = ones.cumsum(axis=0)
        counts = sums[starts + self.window] - sums[starts]
        # What the reference leads to expect is the middle of the range.
        shifted = counts - np.rint(self._expected).astype(np.int64) + LARGEST // 2
        return Windows(starts, shifted.clip(0, LARGEST).astype(np.uint8))

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        ours, theirs = letters_in(new), letters_in(kept)
        stored = self.stored(theirs)
        at, there = self.matches(self.rolling(ours), stored)
        covered = self.covered(at, len(ours))
        found = len(np.unique(there)) / len(stored.starts)
        if covered < self.coverage or found < self.resemblance:
            return None
        return Agreement(resemblance=min(covered, found), coverage=covered)

    def covered(self, starts: NDArray[np.int64], letters: int) -> float:
        """The share of a text's letters that lie in windows beginning at *starts*."""
        ends = np.zeros(letters + 1, dtype=np.int64)
        np.add.at(ends, starts, 1)
        np.add.at(ends, starts + self.window, -1)
        return float(np.count_nonzero(ends.cumsum()[:-1]) / letters)

    def matches(self, rolling: Windows, stored: Windows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where windows begin that match: in the new text, and in the kept one."""
        ours, theirs = (self.keys_of_windows(windows).reshape(-1, 2) for windows in (rolling, stored))
        met = np.flatnonzero(np.isin(ours, theirs).any(axis=1))
        found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        step = max(1, _COMPARED // (CLASSES * len(theirs)))
        for at in range(0, len(met), step):
            some = met[at : at + step]
            share_half = (ours[some][:, None, :] == theirs[None, :, :]).any(axis=2)
            differences = np.abs(rolling.vectors[some][:, None, :].astype(np.int16) - stored.vectors[None, :, :])
            left, right = np.nonzero(share_half & (differences.sum(axis=2) <= self.apart))
            found.append((rolling.starts[some][left], stored.starts[right]))
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])


def letters_in(value: bytes) -> NDArray[np.uint8]:
    """The letters that a value holds. Raises :class:`ValueError` if it is damaged."""
    if len(value) < 2:
        raise ValueError("a signature is cut off")
    bits = np.unpackbits(np.frombuffer(value[1:], dtype=np.uint8))
    number = len(bits) // _BITS
    number -= (number - value[0]) & 7
    padded = np.zeros((number, 8), dtype=np.uint8)
    padded[:, 8 - _BITS :] = bits[: number * _BITS].reshape(-1, _BITS)
    letters = np.packbits(padded, axis=1).ravel()
    if not number or letters.max() >= len(LETTERS):
        raise ValueError("a signature holds what is no letter")
    return letters
