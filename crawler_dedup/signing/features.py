"""Text → tokens → weighted features.

A text is cut into runs of one kind of script, and each run is tokenised as this script requires. So a page that mixes
languages is tokenised in the same way whichever has the majority, and one changed sentence cannot change other tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import inf

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing import characters
from crawler_dedup.signing.limits import MAX_CHARS
from crawler_dedup.signing.segmentation import CutHan, character_bigrams
from crawler_dedup.signing.wordtables import stop_words

# Words of ASCII, which are matched in three quarters of the time, and all others.
_WORD = rf"(?:[a-z0-9_]++(?![^\0-\x7f])|{characters.LETTER}+(?:[{characters.MARKS_RANGES}]+(?:{characters.LETTER}+)?)*)"
_WORDS = re.compile(_WORD)
# [x][x]* for [x]+: if a pattern begins with a set of characters, re skips all others quickly.
# In slices: jieba takes memory for each character of a run.
_HAN_RUNS = re.compile(f"[{characters.HAN_RANGES}][{characters.HAN_RANGES}]{{0,4999}}")
_UNSPACED_RUNS = re.compile(f"[{characters.UNSPACED_RANGES}][{characters.UNSPACED_RANGES}]*")
_OTHER_THAN_WORDS = re.compile(f"[{characters.HAN_RANGES}{characters.UNSPACED_RANGES}]")
_UNITS = re.compile(f"{_WORD}|[{characters.HAN_RANGES}{characters.UNSPACED_RANGES}]")
# Without full-width punctuation, normalising takes a tenth of the time.
_WIDE_PUNCTUATION = re.compile(f"[{characters.WIDE_PUNCTUATION_RANGES}][{characters.WIDE_PUNCTUATION_RANGES}]*")
_WIDE_RUNS = re.compile(f"[{characters.WIDE_RANGES}][{characters.WIDE_RANGES}]*")

_MAX_MARKS = 30
"""Maximum of combining marks in a row that are kept, as in the Stream-Safe Text Format (Unicode Standard Annex 15, §13)."""
_PIECE = 1 << 14
"""Number of characters that are normalised at a time."""
_BMP = 0x10000
_LAST_MARK = 0x1F000
"""Characters above this one (emoji, ideographs, tags, private use) do not combine."""
_RARE = re.compile(f"[{chr(_BMP)}-{chr(_LAST_MARK - 1)}\U000e0000-\U000e0fff]")
"""One character above :data:`_BMP` that may be ignorable or combine."""

LANGUAGES = (
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "portuguese", "romanian", "russian",
    "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip
"""The languages of snowballstemmer 2.2; later versions have more."""

_LONGEST_KNOWN = 200
"""Maximum number of characters of a text whose size is remembered."""
_LONGEST_WORD = 40
"""Maximum number of letters of a word that is stemmed: longer strings are not words, and take long."""
_FIRST_WIDE = "\u2e80"
"""First character of the range with kana, Han and Hangul, which no algorithm changes."""

WEIGHT_UNIT = 64
"""Weights are whole multiples of 1/64: sums of whole numbers are exact in any order, so a signature is the same on
every machine."""
STOP_WORD_UNIT = 32


def size_in_letters(text: str) -> int:
    """Return the size of *text*, once it is normalised, in letters of the Latin alphabet.

    A character of a script that says more with each character (Han, kana, Hangul, Thai) counts as three.
    """
    if text.isascii():
        return len(text)
    return (_size_of if len(text) <= _LONGEST_KNOWN else _size_of.__wrapped__)(text)


@lru_cache(maxsize=20_000)  # the pages of a site have many texts in common; they take 25 MB at most, and usually 5
def _size_of(text: str) -> int:
    composed = _compose(_without_excess(text))
    return len(composed) + 2 * sum(map(len, _WIDE_RUNS.findall(composed)))


@dataclass(frozen=True)
class Features:
    """A text as a weighted set.

    Attributes:
        hashes: uint64, shape (n,), ascending, distinct: xxh3 of each feature.
        weights: float64 holding whole numbers, shape (n,): 64 × the feature's count to the power of 3/4; half of that
            for a stop word.
        is_content: bool, shape (n,): false for a stop word.
        counts: float64 holding whole numbers, shape (n,): how often each feature is in the text.
    """

    hashes: NDArray[np.uint64]
    weights: NDArray[np.float64]
    is_content: NDArray[np.bool_]
    counts: NDArray[np.float64]

    @cached_property
    def content(self) -> NDArray[np.uint64]:
        """The hashes of all features but stop words, ascending."""
        return self.hashes[self.is_content]


@cache
def _marks(end: int) -> str:
    """Return the combining marks among the characters below *end*, escaped for a set of a regular expression.

    A combining mark here is every character whose full decomposition begins with a character of a combining class
    other than 0.
    """
    return "".join(
        re.escape(character)
        for character in map(chr, range(0x80, end))
        if unicodedata.combining(character)
        or (unicodedata.decomposition(character) and unicodedata.combining(unicodedata.normalize("NFKD", character)[0]))
    )


@cache
def _too_many_marks(end: int) -> re.Pattern[str]:
    """Match the combining marks after the first :data:`_MAX_MARKS` in a row, among the characters below *end*.

    Normalising sorts a row of them by their class, in time that grows with the square of its length.
    A set of characters that are all below :data:`_BMP` is matched 20 times faster.
    """
    return re.compile(f"[{_marks(end)}](?<=[{_marks(end)}]{{{_MAX_MARKS + 1}}})[{_marks(end)}]*")


@cache
def _droppable() -> re.Pattern[str]:
    """Match one character below :data:`_BMP` that is ignorable, or a combining mark: most texts have none."""
    return re.compile(f"[{characters.IGNORABLE_RANGES}{_marks(_BMP)}]")


def unify(text: str) -> str:
    """Return *text* in the form that all its writings have in common: in NFKC, without characters that change no word.

    Case, full-width punctuation and Traditional characters, which :func:`normalise` folds too, remain different.
    """
    return text if text.isascii() else _compose(_drop_excess(text))


def fold_words(text: str) -> str:
    """Return *text* with its words as :func:`unify` returns them, in folded case; full-width punctuation becomes spaces."""
    return _compose(_without_excess(text)).casefold() if not text.isascii() else text.lower()


def check_length(text: str) -> None:
    """Raise :class:`BeyondLimits` for a text that is too long to be signed."""
    if len(text) > MAX_CHARS:
        raise BeyondLimits("too many characters")


def check_expansion(size: int, written: int) -> None:
    """Raise :class:`BeyondLimits` if normalising *written* characters makes more than twice as many, and 100."""
    if size > 2 * written + 100:  # a few characters are ligatures of many
        raise BeyondLimits("too many characters")


def normalise(text: str, limit: float | None = None) -> str:
    """Fold compatibility forms of *text* (NFKC), then case, then Traditional characters to simplified ones.

    Characters that change no word are dropped (:func:`~crawler_dedup.signing.characters.drop_ignorable`), and two Arabic
    letters folded. Every text that is hashed or measured is normalised here, or by :func:`unify`.

    Of more than 30 combining marks in a row only the first 30 are kept: no writing system needs more.

    Raises:
        BeyondLimits: the text becomes longer than *limit*, which by default is twice its length plus 100 characters.
    """
    if text.isascii():
        return text.lower()
    # A few characters are ligatures of many.
    most = 2 * len(text) + 100 if limit is None else limit
    return characters.simplify_han(_compose(_without_excess(text), most).lower())


def _without_excess(text: str) -> str:
    """Return *text* without full-width punctuation, characters that change no word, and marks beyond the limit for a row."""
    return _WIDE_PUNCTUATION.sub(" ", _drop_excess(text))


def _drop_excess(text: str) -> str:
    is_rare = _RARE.search(text) is not None
    if not is_rare and not _droppable().search(text):
        return text
    # Dropping ignorable characters makes rows of combining marks longer.
    return _too_many_marks(_LAST_MARK if is_rare else _BMP).sub("", characters.drop_ignorable(text))


def _compose(text: str, limit: float = inf) -> str:
    """Return *text* in NFKC, with Arabic letters folded. Raises :class:`BeyondLimits` for more than *limit* characters.

    This is done in pieces, for each of which the interpreter lock is held. They are cut before white space, with which
    nothing composes; text without white space is cut anywhere.
    """
    pieces: list[str] = []
    start = size = 0
    while start < len(text):
        end = start + _PIECE
        if end < len(text):
            space = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
            end = end if space < 0 else space
        pieces.append(characters.fold_arabic(unicodedata.normalize("NFKC", text[start:end])))
        start, size = end, size + len(pieces[-1])
        if size > limit:
            raise BeyondLimits("too many characters")
    return "".join(pieces)


def tokenise(plain: str, cut_han: CutHan) -> list[str]:
    """Cut a normalised text into tokens: words, Chinese words, character bigrams of other scripts without spaces.

    They are sorted by kind of script.
    """
    words: list[str] = _WORDS.findall(plain)
    if not _OTHER_THAN_WORDS.search(plain):
        return words
    pairs = [pair for run in _UNSPACED_RUNS.findall(plain) for pair in character_bigrams(run)]
    return [*words, *cut_han(_HAN_RUNS.findall(plain)), *pairs]


def split_units(plain: str) -> list[str]:
    """Cut a normalised text into units: words and, of scripts without spaces, single characters, in their order."""
    return _UNITS.findall(plain)


def find_unit_positions(plain: str) -> list[int]:
    """Find the position in a normalised text at which each of its units begins."""
    return [unit.start() for unit in _UNITS.finditer(plain)]


def weigh_tokens(tokens: Collection[str]) -> Features:
    """Weigh *tokens* by the 3/4th power of their count, and stop words by half of that.

    The power damps words that a page repeats. Stop words, which all texts of a language share, bring similar texts closer
    together. Square roots are rounded in the same way by every machine (IEEE 754), logarithms are not. Lone surrogates count
    as question marks.
    """
    counts = Counter(tokens)
    ignored = stop_words()
    try:
        hashes = np.array([xxh3_64_intdigest(token.encode()) for token in counts], dtype=np.uint64)
    except UnicodeEncodeError:
        return weigh_tokens([token.encode("utf-8", "replace").decode() for token in tokens])
    tf = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    is_content = ~np.fromiter(map(ignored.__contains__, counts), dtype=np.bool_, count=len(counts))
    weights = np.rint(np.sqrt(tf * np.sqrt(tf)) * np.where(is_content, WEIGHT_UNIT, STOP_WORD_UNIT))
    order = np.argsort(hashes)
    return Features(hashes[order], weights[order], is_content[order], tf[order])


def stem_words(words: list[str], language: str) -> list[str]:
    """Return the stems of *words* by the rules of *language*. Stop words, which are listed unstemmed, are not changed."""
    ignored = stop_words()
    return [
        word if word >= _FIRST_WIDE or len(word) > _LONGEST_WORD or word in ignored else _stem(word, language)
        for word in words
    ]


@lru_cache(maxsize=1 << 15)
def _stem(word: str, language: str) -> str:
    import snowballstemmer  # noqa: PLC0415  (optional)

    # A stemmer for each call: it stores the word that it works on, and several threads may sign pages.
    return str(snowballstemmer.stemmer(language).stemWord(word))
