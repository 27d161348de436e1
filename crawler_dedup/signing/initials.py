"""Text → initials: the first letter of the reading (pinyin) of each Chinese character, and of each other word.

A character with several readings is read as in the longest phrase that contains it (行 in 银行), else by its first reading.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.signing.characters import code_points
from crawler_dedup.signing.features import find_unit_positions
from crawler_dedup.signing.wordtables import READ_CODES, read_phrases, read_readings

LETTERS = "abcdefghijklmnopqrstuvwxyz"
NO_INITIAL = 255


def find_initials(plain: str) -> NDArray[np.uint8]:
    """Find the initials of a normalised text, in order, as positions in :data:`LETTERS`.

    Units without an initial are left out.
    """
    return locate_initials(plain)[0]


def locate_initials(plain: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Find the initials of a normalised text as :func:`find_initials` does, and the position of each: shape (initials,)."""
    starts = find_unit_positions(plain)
    initials = initials_in_context("".join([plain[start] for start in starts]))
    is_present = initials != NO_INITIAL
    return initials[is_present], np.array(starts, dtype=np.int64)[is_present]


def initial_of_each(characters: str) -> NDArray[np.uint8]:
    """Return the initial of each character by itself, :data:`NO_INITIAL` where it has none: shape (characters,)."""
    return np.take(_table(), np.minimum(code_points(characters), READ_CODES.stop))


def initials_in_context(characters: str) -> NDArray[np.uint8]:
    """Return the initial of each character as it is read beside the others, :data:`NO_INITIAL` where it has none.

    Phrases are found from left to right, the longest first.
    """
    initials = initial_of_each(characters)
    codes = code_points(characters)
    initials_of_phrases, lengths, may_begin = _phrases()
    (begins,) = np.nonzero(may_begin[_hash_pairs(codes)])
    end = 0
    for begin in begins.tolist():
        for length in lengths if begin >= end else ():
            phrase_initials = initials_of_phrases.get(characters[begin : begin + length])
            if phrase_initials is not None:
                end = begin + length
                initials[begin:end] = phrase_initials
                break
    return initials


@cache
def _phrases() -> tuple[dict[str, NDArray[np.uint8]], list[int], NDArray[np.bool_]]:
    """Return the initials of each phrase, the lengths of all phrases, the longest first, and whether a phrase may begin
    with two characters, by their hash.
    """
    first = np.uint8(ord(LETTERS[0]))
    initials = {phrase: np.frombuffer(letters.encode(), np.uint8) - first for phrase, letters in read_phrases()}
    may_begin = np.zeros(1 << 16, dtype=np.bool_)
    for phrase in initials:
        may_begin[_hash_pairs(code_points(phrase[:2]))] = True
    return initials, sorted({*map(len, initials)}, reverse=True), may_begin


def _hash_pairs(codes: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Hash each pair of successive characters."""
    return (codes[:-1] * np.uint32(0x9E37) + codes[1:]).astype(np.uint16)


@cache
def _table() -> NDArray[np.uint8]:
    """Return the initials by code point. A character with several readings has its first one."""
    positions = {letter: position for position, letter in enumerate(LETTERS)}
    table = np.full(READ_CODES.stop + 1, NO_INITIAL, dtype=np.uint8)
    table[READ_CODES] = [positions.get(reading[:1], NO_INITIAL) for reading in read_readings()]
    table[[ord(letter) for letter in LETTERS]] = range(len(LETTERS))
    return table
