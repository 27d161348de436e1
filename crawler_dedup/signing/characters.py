"""Sets of characters by which texts are cut and measured."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.signing.wordtables import simplified_forms

HAN_RANGES = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f"
UNSPACED_RANGES = "\u3041-\u30ff\u31f0-\u31ff\u0e01-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
"""Kana, Thai, Lao, Tibetan, Myanmar, Khmer: written without spaces between words."""
MARKS_RANGES = "\u0300-\u036f\u0591-\u05c7\u0653-\u0655\u0900-\u0963\u0966-\u0dff"
"""Vowel signs and points that \\w leaves out (Hebrew, Arabic, the Indic scripts): a word must not break at them."""
LETTER = rf"[^\W{HAN_RANGES}{UNSPACED_RANGES}]"
WIDE_RANGES = (
    "\u0e01-\u0fff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003347f"
)
"""Characters of scripts in which a character says more than a letter of the Latin alphabet: Han, kana, Hangul, Thai."""
WIDE_PUNCTUATION_RANGES = "\u2026\u3000\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff64"
"""Full-width punctuation: no part of any token, and in most Chinese texts the only characters that NFKC changes."""

IGNORABLE_RANGES = (
    # Default_Ignorable_Code_Point in Unicode: soft hyphens, joiners, marks of direction, variation selectors, fillers.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8"
    # Vowel marks and other signs for reading Arabic, and tatweel, also in the forms that are alone. Madda and hamza, which
    # make other letters, are not among them.
    "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0897-\u089f\u08ca-\u08e1"
    "\u08e3-\u08ff\ufc5e-\ufc63\ufcf2-\ufcf4\ufe70-\ufe72\ufe74\ufe76-\ufe7f"
)
"""Characters below U+10000 that change no word."""
# Without the tags that make 🏴 the flag of England, Scotland or Wales.
_RARE_IGNORABLE_RANGES = (
    "\U00010efa-\U00010eff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e001f\U000e0080-\U000e0fff"
)

HAN = re.compile(f"[{HAN_RANGES}]")
"""One Chinese character."""
WIDE = re.compile(f"[{WIDE_RANGES}]")
"""One character that says more than a letter of the Latin alphabet."""

_IGNORABLE = re.compile(f"[{IGNORABLE_RANGES}{_RARE_IGNORABLE_RANGES}]")
_ARABIC = re.compile("[\u0643\u064a-\u0652\u0670]")
_FOLDED_ARABIC = {ord("\u064a"): "\u06cc", ord("\u0643"): "\u06a9"} | dict.fromkeys((*range(0x64B, 0x653), 0x670), "")


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the code point of each character of *text*."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def drop_ignorable(text: str) -> str:
    """Drop the characters of *text* that change no word: those that Unicode calls ignorable, Arabic vowel marks and tatweel.

    Two copies of a text may differ in them: one is hyphenated or has its vowels written, the other does not.
    """
    return _IGNORABLE.sub("", text)


def fold_arabic(composed: str) -> str:
    """Fold the Arabic letters yeh and kaf of a *composed* text to those of Persian, which look the same inside of words.

    The vowel marks that composing has made of ligatures are dropped.
    """
    return composed.translate(_FOLDED_ARABIC) if _ARABIC.search(composed) else composed


def simplify_han(text: str) -> str:
    """Fold every Traditional Chinese character of *text* to its simplified form, so that both writings are one text.

    This is done character by character, with the table of OpenCC; also for a few characters that OpenCC folds in some words
    only (瞭 is 了 in 瞭解). Folding them in all words does no harm: both writings of a text go through the same table.
    """
    if text.isascii() or not HAN.search(text):
        return text
    codes = code_points(text)
    table = simplified_forms()
    last = len(table) - 1
    folded = table[np.minimum(codes, last)]
    # Characters beyond the table are kept, and so is a text without anything to fold.
    changed = (folded != codes) & (codes < last)
    if not changed.any():
        return text
    return np.where(changed, folded, codes).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
