"""Text → initials: of a Chinese character the first letter of its reading (pinyin), of another word its first letter."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.signing.features import find_unit_positions, split_units
from crawler_dedup.signing.tables import READ_CODES, read_readings

LETTERS = "abcdefghijklmnopqrstuvwxyz"
NO_INITIAL = 255


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
    letters: NDArray[np.uint8] = _table()[np.minimum(codes, READ_CODES.stop)]
    return letters


@cache
def _table() -> NDArray[np.uint8]:
    """By code point. A character that is read in several ways has its first reading."""
    positions = {letter: position for position, letter in enumerate(LETTERS)}
    table = np.full(READ_CODES.stop + 1, NO_INITIAL, dtype=np.uint8)
    table[READ_CODES] = [positions.get(reading[:1], NO_INITIAL) for reading in read_readings()]
    table[[ord(letter) for letter in LETTERS]] = range(len(LETTERS))
    return table
