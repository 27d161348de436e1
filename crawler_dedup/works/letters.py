"""Texts as rows of letters by one of two schemes, with the place of each letter in the text as it is.

With ``pinyin``, for Chinese, a letter is the initial of the reading of a character (:mod:`crawler_dedup.signing.initials`),
which is the same for homophones, in simplified and in Traditional characters. With ``winnowing`` a letter is a letter or a
digit of the normalised text; a character that says more (Han, kana, Hangul, Thai) is repeated. Both choose runs of letters
by winnowing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hashes import mix_bits
from crawler_dedup.signing.characters import HAN, LETTER, MARKS_RANGES, UNSPACED_RANGES
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import locate_initials
from crawler_dedup.signing.schemes.winnowing import Pieces, Positions, choose_runs, count_letters

Scheme = Literal["pinyin", "winnowing"]
SCHEMES: Sequence[Scheme] = ("pinyin", "winnowing")
LEAST_LETTERS: dict[Scheme, int] = {"pinyin": 30, "winnowing": 48}
"""Least number of letters of a passage that is reported."""
RUN_LETTERS: dict[Scheme, int] = {"pinyin": 12, "winnowing": 30}
"""Number of successive letters that are looked up together."""
_WINDOWS: dict[Scheme, int] = {"pinyin": 16, "winnowing": 61}  # successive runs, at least one of which is looked up

# Pieces of words: each is normalised by itself, so that its place is known. Cut, because places within one are interpolated.
_PIECE = re.compile(rf"(?:[^\W_{UNSPACED_RANGES}][{MARKS_RANGES}]*|[{UNSPACED_RANGES}]){{1,40}}")
_OTHER_WORD = re.compile(rf"{LETTER}+|[{UNSPACED_RANGES}]")
_SLICE = 1 << 14
"""Number of characters that are read at a time: the interpreter lock is held for each."""
_NO_PLACES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Letters:
    """The letters of a text.

    Attributes:
        scheme: what a letter is.
        codes: one byte for each letter, shape (letters,).
        places: the place in the text of the character of each letter, ascending, shape (letters,).
    """

    scheme: Scheme
    codes: NDArray[np.uint8]
    places: Positions

    def choose_runs(self) -> Pieces:
        """Choose the runs by which passages are found: at least one in each passage of 27 initials, or of 90 letters."""
        hashes = mix_bits(self.codes.astype(np.uint64) + np.uint64(1))
        return choose_runs(hashes, RUN_LETTERS[self.scheme], _WINDOWS[self.scheme])


@dataclass(frozen=True)
class _PlainText:
    """A normalised text with the place in the original text of each of its characters."""

    text: str
    places: Positions


def find_scheme(text: str) -> Scheme:
    """Return the scheme for *text*: initials if it has at least as many Chinese characters as other words."""
    han, others = (sum(1 for _ in pattern.finditer(text)) for pattern in (HAN, _OTHER_WORD))
    return "pinyin" if han and han >= others else "winnowing"


def read_letters(text: str, schemes: Sequence[Scheme]) -> list[Letters]:
    """Read the letters of *text* in each of the *schemes*.

    Raises :class:`~crawler_dedup.errors.BeyondLimits` for a text that becomes much longer when it is normalised.
    """
    plain = _normalise(text)
    return [_read_initials(plain) if scheme == "pinyin" else _read_characters(plain) for scheme in schemes]


def _normalise(text: str) -> _PlainText:
    parts = [_normalise_slice(text, at) for at in range(0, len(text), _SLICE)]
    return _PlainText(
        "".join([part.text for part in parts]), np.concatenate([_NO_PLACES, *(part.places for part in parts)])
    )


def _normalise_slice(text: str, at: int) -> _PlainText:
    spans = np.array([piece.span() for piece in _PIECE.finditer(text, at, at + _SLICE)], dtype=np.int64).reshape(-1, 2)
    # Nothing that is normalised makes a line break.
    lines = normalise("\n".join([text[start:end] for start, end in spans.tolist()])).split("\n")[: len(spans)]
    lengths = np.fromiter(map(len, lines), dtype=np.int64)
    starts, ends = spans.T
    begins = np.cumsum(lengths + 1) - lengths - 1
    within = np.arange((lengths + 1).sum()) - np.repeat(begins, lengths + 1)  # of its line, with the line break
    shares = within * np.repeat(ends - starts, lengths + 1) // np.repeat(np.maximum(1, lengths), lengths + 1)
    return _PlainText("".join([f"{line}\n" for line in lines]), np.repeat(starts, lengths + 1) + shares)


def _read_initials(plain: _PlainText) -> Letters:
    codes, positions = locate_initials(plain.text)
    return Letters("pinyin", codes, plain.places[positions])


def _read_characters(plain: _PlainText) -> Letters:
    codes = np.frombuffer(plain.text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    positions = np.flatnonzero(codes > ord(" "))
    codes = codes[positions]
    times = count_letters(codes)
    folded = (codes ^ codes >> 8).astype(np.uint8)  # different for all letters of most alphabets
    return Letters("winnowing", np.repeat(folded, times), plain.places[np.repeat(positions, times)])
