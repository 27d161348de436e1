"""Text → initials: of a Chinese character the first letter of its reading (pinyin), of another word its first letter."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.signing.features import find_unit_positions, split_units

LETTERS = "abcdefghijklmnopqrstuvwxyz"
NO_INITIAL = 255

_FIRST, _LAST = 0x3400, 0x9FFF


def find_initials(plain: str) -> NDArray[np.uint8]:
    """Find the initials of a normalised text, in order, as positions in :data:`LETTERS`.

    What has no initial is left out.
    """
    initials = initial_of_each("".join([unit[0] for unit in split_units(plain)]))
    present: NDArray[np.uint8] = initials[initials != NO_INITIAL]
    return present


def find_initial_positions(plain: str) -> NDArray[np.int64]:
    """Find where in a normalised text each of its initials comes from: shape (initials,)."""
    starts = find_unit_positions(plain)
    initials = initial_of_each("".join([plain[start] for start in starts]))
    positions: NDArray[np.int64] = np.array(starts, dtype=np.int64)[initials != NO_INITIAL]
    return positions


def initial_of_each(characters: str) -> NDArray[np.uint8]:
    """Return the initial of each character, :data:`NO_INITIAL` where it has none: shape (characters,)."""
    codes = np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    letters: NDArray[np.uint8] = _table()[np.minimum(codes, _LAST + 1)]
    return letters


@cache
def _table() -> NDArray[np.uint8]:
    """By code point. A character that is read in several ways has the first of pypinyin's readings."""
    from pypinyin import Style, pinyin  # noqa: PLC0415  (slow; only this needs it)

    table = np.full(_LAST + 2, NO_INITIAL, dtype=np.uint8)
    characters = list(map(chr, range(_FIRST, _LAST + 1)))
    readings = pinyin(characters, style=Style.FIRST_LETTER, errors=lambda _: "-")
    for character, (letter, *_) in [*zip(characters, readings, strict=True), *((letter, letter) for letter in LETTERS)]:
        if letter in LETTERS:
            table[ord(character)] = LETTERS.index(letter)
    return table
