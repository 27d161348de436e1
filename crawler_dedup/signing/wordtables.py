"""The tables of words and characters on which signatures depend. ``crawler_dedup/data`` has them as files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.system.compression import decompress

READ_CODES = range(0x3400, 0xA000)
"""Code points of the characters whose readings are known."""

GENERAL = "general"
"""Name of the lexicon of English and Chinese in general, which is made from two of the tables."""

_HAN_END = 0x323B0
_MAX_BYTES = 1 << 24


@cache
def stop_words() -> frozenset[str]:
    """Return the stop words of all languages in one set: no language has to be guessed."""
    _, *words = _lines("stopwords.txt.zst")
    return frozenset("\t".join(words).split("\t"))


def read_stop_words() -> dict[str, frozenset[str]]:
    """Read the stop words of each language, by its ISO 639-1 code."""
    languages, *words = _lines("stopwords.txt.zst")
    return {language: frozenset(line.split("\t")) for language, line in zip(languages.split("\t"), words, strict=True)}


@cache
def simplified_forms() -> NDArray[np.uint32]:
    """Return by code point what each character is folded to: itself, or its simplified form."""
    table = np.arange(_HAN_END + 1, dtype=np.uint32)
    characters, forms = (np.frombuffer(line.encode("utf-32-le"), "<u4") for line in _lines("simplified.txt.zst"))
    table[characters] = forms
    return table


def read_readings() -> list[str]:
    """Read the first reading (pinyin without tones) of each of :data:`READ_CODES`; ``""`` where it has none."""
    return _lines("readings.txt.zst")


def read_phrases() -> list[tuple[str, str]]:
    """Read the phrases in which a character is not read by its first reading, each with the initials of its characters."""
    return [(phrase, initials) for phrase, initials in map(str.split, _lines("phrases.txt.zst"))]


def read_patterns(kind: str) -> list[str]:
    """Read the regular expressions of a *kind* of words, of all languages, as normalised text has them."""
    text = (files("crawler_dedup") / "data" / "patterns.txt").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return [pattern for row_kind, _, patterns in rows if row_kind == kind for pattern in patterns.split()]


def read_date_names(kind: str) -> dict[str, list[int]]:
    """Read the names of each ``month`` or ``weekday`` in all languages, with its number, or several if languages differ."""
    text = (files("crawler_dedup") / "data" / "dates.txt").read_text("utf-8")
    numbers: dict[str, list[int]] = {}
    for row_kind, number, *names in (line.split("\t") for line in text.splitlines()):
        for name in names if row_kind == kind else ():
            numbers.setdefault(name, []).append(int(number))
    return numbers


def _lines(name: str) -> list[str]:
    packed = (files("crawler_dedup") / "data" / name).read_bytes()
    return decompress(packed, _MAX_BYTES).decode().split("\n")[:-1]
