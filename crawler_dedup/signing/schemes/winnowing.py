"""Winnowing: a choice of runs of letters of a text such that every passage of a given length has at least one of them.

Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003, §3: every run of k
letters is hashed; of every w = t - k + 1 successive runs the smallest hash is chosen, the last one if several are equal. The
choice depends on these w runs alone. So two texts that share t letters in a row choose a hash in common, wherever the
letters are, and two texts that share fewer than k in a row choose none. If successive chosen runs have equal hashes, the
paper's robust winnowing keeps the first run as long as it can; here one run is kept for every w letters.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.hashes import Numbers, mix_bits, sort_distinct
from crawler_dedup.signing.characters import WIDE, code_points
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme, compare_members, option
from crawler_dedup.signing.text import Text, hash_runs

Positions = NDArray[np.int64]

MAX_CHOSEN = 1 << 17
"""Maximum number of hashes of a text: those of about a million Chinese characters, or four million letters."""
MAX_PROBES = 64
WIDE_LETTERS = 3
"""Number of letters that a character counts as if its script says more with each character."""

_HEAD = struct.Struct("<I")
_GAP_BITS = np.uint64(16)  # low bits of a number in a value: the gap to the run before; the high bits are the hash
_LOW_GAP = (np.uint64(1) << _GAP_BITS) - np.uint64(1)
_PLACE_BITS = 20
_LOW_PLACE = np.uint64((1 << _PLACE_BITS) - 1)
_TOGETHER = 1 << 16  # windows at a time; with the letters of the last window, their places fit 20 bits
_WIDE_END = 0x33480


class Pieces(NamedTuple):
    """Runs of letters of a text: the letter at which each begins (int64), and a hash of it (uint64)."""

    starts: Positions
    numbers: Numbers


@dataclass(frozen=True)
class Winnowing(ValueScheme):
    """Hashes of runs of letters, chosen so that two texts have one in common for every long passage that they share.

    Letters are the letters and digits of the normalised text, without spaces and punctuation. A character of a script that
    says more with each character (Han, kana, Hangul, Thai) counts as three letters.

    Good at: excerpts, and texts put together from others, in any script. Bad at: texts in which every few words a letter was
    changed, such as Chinese with homophones; texts of fewer letters than *noise*, which agree with equal texts only.

    8 bytes and a key for every 31 letters; up to 64 probes.

    Attributes:
        noise: the paper's k: passages of fewer letters are not found.
        guarantee: the paper's t: all passages of this many letters are found.
        coverage: least share of the new text's hashes that the kept text has.
        resemblance: least share of all hashes of the two texts that is in both: an excerpt of a few lines is no copy of a
            book.
    """

    name: ClassVar[str] = "winnowing"
    fixed: ClassVar[str] = f"wide={WIDE_LETTERS}"
    bucket_limit: ClassVar[int | None] = 1_000

    noise: int = option(30, "4 to 90")
    guarantee: int = option(90, "30 to 1000")
    coverage: float = option(0.8, "0 to 1", filed=False)
    resemblance: float = option(0.5, "0 to 1", filed=False)

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        scheme = super().build(options, config)
        if scheme.guarantee < scheme.noise:
            raise ConfigError(
                f"guarantee={scheme.guarantee} is not allowed with noise={scheme.noise}: it must be at least {scheme.noise}."
            )
        return scheme

    @property
    def _window(self) -> int:
        """Number of successive runs of letters of which one is chosen."""
        return self.guarantee - self.noise + 1

    def load(self) -> None:
        _letters_by_code()

    # Values

    def value(self, text: Text) -> bytes:
        letters = _letters_of("".join(text.units))
        chosen = choose_runs(letters, self.noise, self._window)
        return _pack(len(letters), chosen) if 0 < len(chosen.starts) <= MAX_CHOSEN else b""

    def keys_of(self, value: bytes) -> Numbers:
        return unpack(value).numbers

    def probes_of(self, value: bytes) -> Numbers:
        # Sorted by another hash, because the chosen hashes are small. Every text that has these keys takes the same ones.
        keys = sort_distinct(self.keys_of(value))
        return keys[np.argsort(mix_bits(keys))[:MAX_PROBES]]

    def least_hits(self, value: bytes) -> int:
        return max(1, int(self.coverage / 2 * len(self.probes_of(value))))

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        return self.shares(new, kept).if_at_least(self.resemblance, self.coverage)

    def shares(self, new: bytes, kept: bytes) -> Agreement:
        return compare_members(sort_distinct(self.keys_of(new)), sort_distinct(self.keys_of(kept)))


def choose_runs(letters: Numbers, width: int, window: int) -> Pieces:
    """Choose from the runs of *width* letters, one at least of every *window* successive runs (winnowing).

    Return where each chosen run begins, and 48 bits of its hash.

    Args:
        letters: a hash of each letter.
    """
    count = len(letters) - width + 1
    if count < 1:
        return Pieces(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64))
    window = min(window, count)
    parts = []
    for first in range(0, count - window + 1, _TOGETHER):
        hashes = hash_runs(letters[first : first + _TOGETHER + window + width - 2], width)
        # Of equal hashes the last place makes the smallest number.
        ranked = hashes & ~_LOW_PLACE | _LOW_PLACE - np.arange(len(hashes), dtype=np.uint64)
        least = _sliding_minimum(ranked, window)
        chosen = least[np.flatnonzero(np.diff(least, prepend=~least[:1]))]
        places = (_LOW_PLACE - (chosen & _LOW_PLACE)).astype(np.int64)
        parts.append(Pieces(places + first, hashes[places] >> _GAP_BITS))
    starts, first_of = np.unique(np.concatenate([part.starts for part in parts]), return_index=True)
    return _without_repeats(Pieces(starts, np.concatenate([part.numbers for part in parts])[first_of]), window)


def _without_repeats(chosen: Pieces, width: int) -> Pieces:
    """Keep the first of successive equal hashes, and one of them for every *width* letters after it."""
    begins = np.flatnonzero(np.append(True, np.diff(chosen.numbers) != 0))
    lengths = np.diff(np.append(begins, len(chosen.numbers)))
    stretch = (chosen.starts - np.repeat(chosen.starts[begins], lengths)) // width
    is_kept = np.append(True, np.diff(stretch) != 0)
    is_kept[begins] = True
    return Pieces(chosen.starts[is_kept], chosen.numbers[is_kept])


def _sliding_minimum(numbers: Numbers, width: int) -> Numbers:
    """Return the minimum of every *width* successive *numbers*."""
    least, length = numbers, 1
    while 2 * length <= width:
        least = np.minimum(least[:-length], least[length:])
        length *= 2
    remaining_width = width - length
    return np.minimum(least[: len(least) - remaining_width], least[remaining_width:]) if remaining_width else least


def _letters_of(characters: str) -> Numbers:
    """Return a hash of each letter; a character that counts as several is repeated."""
    codes = code_points(characters)
    return np.repeat(mix_bits(codes.astype(np.uint64)), count_letters(codes))


def count_letters(codes: NDArray[np.uint32]) -> Positions:
    """Return the number of letters that each character counts as."""
    return np.take(_letters_by_code(), np.minimum(codes, _WIDE_END))


@cache
def _letters_by_code() -> Positions:
    counts = np.ones(_WIDE_END + 1, dtype=np.int64)
    characters = "".join(map(chr, range(_WIDE_END)))
    counts[[match.start() for match in WIDE.finditer(characters)]] = WIDE_LETTERS
    return counts


def _pack(letters: int, chosen: Pieces) -> bytes:
    gaps = np.diff(chosen.starts, prepend=0).astype(np.uint64)
    return _HEAD.pack(letters) + (chosen.numbers << _GAP_BITS | gaps).astype("<u8").tobytes()


def unpack(value: bytes) -> Pieces:
    """Return the chosen pieces. Raises :class:`ValueError` if *value* is damaged."""
    if len(value) <= _HEAD.size:
        raise ValueError("a signature is cut off")
    numbers = np.frombuffer(value[_HEAD.size :], dtype="<u8")
    return Pieces(np.cumsum((numbers & _LOW_GAP).astype(np.int64)), numbers >> _GAP_BITS)
