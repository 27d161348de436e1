"""Sets of characters by which texts are cut and measured."""

from __future__ import annotations

import re
from enum import IntFlag

import numpy as np

HAN_RANGES = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f"
UNSPACED_RANGES = "\u3041-\u30ff\u31f0-\u31ff\u0e01-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
"""Kana, Thai, Lao, Tibetan, Myanmar, Khmer: written without spaces between words."""
MARKS_RANGES = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
"""Vowel signs and points that \\w leaves out (Hebrew, Arabic, the Indic scripts): a word must not break at them."""
LETTER = rf"[^\W{HAN_RANGES}{UNSPACED_RANGES}]"
WIDE_RANGES = (
    "\u0e01-\u0fff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003347f"
)
"""Of scripts that say more with each character than the Latin alphabet: Han, kana, Hangul, Thai."""
WIDE_PUNCTUATION_RANGES = "\u2026\u3000\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff64"
"""Full-width punctuation is no part of any token, and the only thing in most Chinese texts that is not in NFKC."""

HAN = re.compile(f"[{HAN_RANGES}]")
"""One Chinese character."""
WIDE = re.compile(f"[{WIDE_RANGES}]")
"""One character that says more than a letter of the Latin alphabet."""

_PAGE = 256


class Trait(IntFlag):
    """What is known of a character."""

    SPACE = 1
    WIDE = 2
    LETTER = 4
    MARK = 8
    HAN = 16
    UNSPACED = 32
    DIGIT = 64
    WORD = 128
    WIDE_PUNCTUATION = 256


_PATTERNS = {
    Trait.SPACE: r"\s",
    Trait.WIDE: f"[{WIDE_RANGES}]",
    Trait.LETTER: LETTER,
    Trait.MARK: f"[{MARKS_RANGES}]",
    Trait.HAN: f"[{HAN_RANGES}]",
    Trait.UNSPACED: f"[{UNSPACED_RANGES}]",
    Trait.DIGIT: r"\d",
    Trait.WORD: r"\w",
    Trait.WIDE_PUNCTUATION: f"[{WIDE_PUNCTUATION_RANGES}]",
}


def describe_page(page: int) -> bytes:
    """Return the traits of 256 characters in a row, the first of which is 256 × *page*: two bytes each."""
    characters = "".join(map(chr, range(page * _PAGE, (page + 1) * _PAGE)))
    traits = np.zeros(_PAGE, dtype="<u2")
    for trait, pattern in _PATTERNS.items():
        traits[[match.start() for match in re.finditer(pattern, characters)]] |= np.uint16(trait)
    return traits.tobytes()
