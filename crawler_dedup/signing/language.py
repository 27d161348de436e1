"""Detection of the language of a text, by script and stop words: the result does not depend on versions of libraries.

Most scripts have one language. Where several languages share a script, the text is in the language whose stop words make up
most of it: each occurrence counts less, the more languages have the word and the more words the list has, because the lists
have 35 to 1,200 words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import sqrt

import numpy as np

from crawler_dedup.signing.characters import code_points
from crawler_dedup.signing.wordtables import read_stop_words

UNKNOWN = "?"
"""The language of a text that is in no known language, or too short."""

_LATIN, _CYRILLIC, _ARABIC, _DEVANAGARI, _HAN, _KANA = "latin", "cyrillic", "arabic", "devanagari", "han", "kana"
# First code point and script of each range, or no script; upper case does not occur in normalised texts.
_RANGES = (
    "0: 61:latin 7b: df:latin f7: f8:latin 250: 370:el 400:cyrillic 530:hy 590:he 600:arabic 780: 900:devanagari 980:bn"
    " a00:pa a80:gu b00:or b80:ta c00:te c80:kn d00:ml d80:si e00:th e80:lo f00:bo 1000:my 10a0:ka 1100:ko 1200:am"
    " 13a0: 1780:km 1800: 1e00:latin 1f00:el 2000: 3005:han 3008: 3041:kana 3100: 31f0:kana 3200: 3400:han 4dc0:"
    " 4e00:han a000: ac00:ko d7a4: f900:han fb00: 20000:han 33480:"
)
_BLOCKS = [(int(start, 16), script) for start, script in (item.split(":") for item in _RANGES.split())]
_SCRIPTS = tuple(dict.fromkeys(script for _, script in _BLOCKS))
_STARTS = np.array([start for start, _ in _BLOCKS], dtype=np.uint32)
_SCRIPT_NUMBERS = np.array([_SCRIPTS.index(script) for _, script in _BLOCKS])
_WIDE = (_HAN, _KANA, "ko")
_WIDE_LETTERS = 3
"""Size of a character of a wide script in letters of the Latin alphabet, as in ``features.size_in_letters``."""

_LANGUAGES = {
    _LATIN: "af ca cs da de en eo es et eu fi fr ga gl hr hu id it lt lv nl no pl pt ro sk sl sv sw tl tr vi",
    _CYRILLIC: "bg ru uk",
    _ARABIC: "ar fa ur",
    _DEVANAGARI: "hi mr",
}
"""The languages that are distinguished by stop words. Other lists are too short, or have words of many languages."""

_LEAST_LETTERS = 20
_LATIN_SHARE = 1 / 2
"""Factor by which Latin letters count less: texts of every script contain code, names and addresses."""
_LEAST_KANA = 1 / 10
"""Least share of kana among the characters of a Japanese text; a Chinese text has hardly any kana."""
_LEAST_COVERAGE = 1 / 20
"""Least share of stop words among the words of a text: all but two of 1,600 texts in 57 languages have a larger share."""
_LEAST_STOP_WORDS = 3
"""Least number of different stop words of the language: a menu or a short list has one or two of several languages."""
_UNIT = 1 << 24
"""Weights are whole numbers: their sums are the same in any order and on every machine."""


def find_language(plain: str, tokens: Iterable[str]) -> str:
    """Find the language of a text: its ISO 639-1 code, or :data:`UNKNOWN`.

    Args:
        plain: the text, normalised.
        tokens: its tokens, in any order.
    """
    script = _find_script(plain)
    if script in _LANGUAGES:
        return _find_by_stop_words(tokens, _stop_words_of(script))
    return script or UNKNOWN


def _find_script(plain: str) -> str:
    """Return the script of most of a text, or the only language with this script; ``""`` for a short text."""
    numbers = _SCRIPT_NUMBERS[np.searchsorted(_STARTS, code_points(plain), "right") - 1]
    counts = np.bincount(numbers, minlength=len(_SCRIPTS)).tolist()
    count = Counter({script: number for script, number in zip(_SCRIPTS, counts, strict=True) if script and number})
    letters = Counter({script: number * (_WIDE_LETTERS if script in _WIDE else 1) for script, number in count.items()})
    if letters.total() < _LEAST_LETTERS:
        return ""
    letters[_HAN] += letters.pop(_KANA, 0)
    weighed = {script: number * (_LATIN_SHARE if script == _LATIN else 1) for script, number in letters.items()}
    script = max(weighed, key=lambda name: (weighed[name], name))
    if script != _HAN:
        return script
    return "ja" if count[_KANA] >= _LEAST_KANA * (count[_KANA] + count[_HAN]) else "zh"


def _find_by_stop_words(tokens: Iterable[str], weights: Mapping[str, Mapping[str, int]]) -> str:
    counts = Counter(token for token in tokens if not token.isdigit())
    scores: Counter[str] = Counter()
    for word in weights.keys() & counts.keys():
        for language, weight in weights[word].items():
            scores[language] += counts[word] * weight
    if not scores:
        return UNKNOWN
    language = max(scores, key=lambda name: (scores[name], name))
    stop_words = [count for word, count in counts.items() if language in weights.get(word, ())]
    is_written_in_it = len(stop_words) >= _LEAST_STOP_WORDS and sum(stop_words) >= _LEAST_COVERAGE * counts.total()
    return language if is_written_in_it else UNKNOWN


@cache
def _stop_words_of(script: str) -> Mapping[str, Mapping[str, int]]:
    """Return for each stop word of the languages of a script these languages, with its weight in each."""
    all_words = read_stop_words()
    words = {language: all_words[language] for language in _LANGUAGES[script].split()}
    having = Counter(word for language in words.values() for word in language)
    weights: dict[str, dict[str, int]] = {}
    for language, of_language in words.items():
        for word in of_language:
            weight = _UNIT / sqrt(having[word]) / sqrt(sqrt(len(of_language)))
            weights.setdefault(word, {})[language] = round(weight)
    return weights
