"""Sets of characters by which texts are cut and measured."""

from __future__ import annotations

import re
import unicodedata
from enum import IntFlag
from functools import cache

import numpy as np

from crawler_dedup.signing.tables import simplified_forms

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

# What Unicode calls Default_Ignorable_Code_Point: soft hyphens, joiners, marks of direction, variation selectors, fillers.
_IGNORABLE_RANGES = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Vowel marks and other signs for reading Arabic, and tatweel, also in the forms that stand alone. Madda and hamza, which
# make other letters, are not among them.
_ARABIC_SIGNS_RANGES = (
    "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0897-\u089f\u08ca-\u08e1"
    "\u08e3-\u08ff\ufc5e-\ufc63\ufcf2-\ufcf4\ufe70-\ufe72\ufe74\ufe76-\ufe7f\U00010efa-\U00010eff"
)

HAN = re.compile(f"[{HAN_RANGES}]")
"""One Chinese character."""
WIDE = re.compile(f"[{WIDE_RANGES}]")
"""One character that says more than a letter of the Latin alphabet."""

_PAGE = 256
_BMP = 0x10000
LAST_MARK = 0x1F000
"""Characters above this one (emoji, ideographs, tags, private use) do not combine."""
_NOT_IDEOGRAPHS = (range(0x3400), range(0xA000, 0xAC00), range(0xD7A4, 0xD800), range(0xF900, _BMP))
"""The first 65,536 characters without Chinese characters, Hangul syllables and private use, none of which combine."""
_JAMO = (range(0x1100, 0x1200), range(0xA960, 0xA980), range(0xD7B0, 0xD800))
_FINAL_SIGMA = "Σ"  # becomes another letter in lower case at the end of a word


_IGNORABLE = re.compile(f"[{_IGNORABLE_RANGES}{_ARABIC_SIGNS_RANGES}]")
_ARABIC = re.compile("[\u0643\u064a-\u0652\u0670]")
_FOLDED_ARABIC = {ord("\u064a"): "\u06cc", ord("\u0643"): "\u06a9"} | dict.fromkeys((*range(0x64B, 0x653), 0x670), "")
# Some of these scripts (the Brahmic ones) have characters that compose, and others have combining characters.
_RARE_SCRIPTS = re.compile(f"[{chr(_BMP)}-{chr(LAST_MARK - 1)}]")
_WIDE_PUNCTUATION = re.compile(f"[{WIDE_PUNCTUATION_RANGES}]")


class Trait(IntFlag):
    """Properties of a character."""

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
        if re.fullmatch(f"(?:{pattern})+", characters):  # true for most scripts other than Latin
            traits |= np.uint16(trait)
        else:
            traits[[match.start() for match in re.finditer(pattern, characters)]] |= np.uint16(trait)
    return traits.tobytes()


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
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    table = simplified_forms()
    last = len(table) - 1
    folded = table[np.minimum(codes, last)]
    # Characters beyond the table are kept, and so is a text without anything to fold.
    changed = (folded != codes) & (codes < last)
    if not changed.any():
        return text
    return np.where(changed, folded, codes).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def describe_folding(page: int, *, fold_han: bool) -> list[str | None]:
    """Return the normalised forms of 256 characters in a row, the first of which is 256 × *page*, in any context.

    The form is ``""`` for full-width punctuation, a run of which becomes a space, and ``None`` if it depends on the context.
    """
    characters = [chr(code).replace("\n", " ") for code in range(page * _PAGE, (page + 1) * _PAGE)]
    lines = "\n".join(characters)  # nothing composes with a line break
    composed = unicodedata.normalize("NFKC", lines)
    lower = composed.lower()
    folded = (simplify_han(lower) if fold_han else lower).split("\n")
    described: list[str | None] = [*folded]
    if _RARE_SCRIPTS.search(composed) or _changing().search(composed):
        for place, becomes in enumerate(composed.split("\n")):
            if _RARE_SCRIPTS.search(becomes) or _changing().search(becomes):
                described[place] = None
    for place, character in enumerate(characters):
        if _WIDE_PUNCTUATION.match(character):
            described[place] = ""
    if not page:
        described[ord("\n")] = "\n"
    return described


def describe_casefold(page: int) -> list[str]:
    """Return the case-folded forms of 256 characters in a row, the first of which is 256 × *page*."""
    return [chr(code).casefold() for code in range(page * _PAGE, (page + 1) * _PAGE)]


@cache
def _changing() -> re.Pattern[str]:
    """Match those of the first 65,536 characters that combine, compose with the previous character or depend on the next."""
    characters = [chr(code) for codes in _NOT_IDEOGRAPHS for code in codes]
    decompositions = [parts for parts in map(unicodedata.decomposition, characters) if parts and parts[0] != "<"]
    second = (chr(int(parts[1], 16)) for parts in map(str.split, decompositions) if len(parts) == 2)
    jamo = (chr(code) for codes in _JAMO for code in codes)
    changing = {*filter(unicodedata.combining, characters), *second, *jamo, _FINAL_SIGMA}
    return re.compile(f"[{re.escape(''.join(sorted(changing)))}]")
