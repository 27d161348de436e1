"""The names in a block, and how many times it denies something: another name or a denial makes another statement.

A name is a word with a capital letter that does not begin a sentence. Which words deny is in ``crawler_dedup/data``. Scripts
without capitals have no names.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.tables import read_denials

_NAMES, _DENIALS = 120, 7  # bits of the set of a block: names by hash, and the number of denials
NAME_BITS = (1 << _NAMES) - 1
"""The bits of a set that are names."""
DENIAL_BITS = (1 << _NAMES + _DENIALS) - 1 - NAME_BITS
"""The bits of a set that are the number of times that the block denies something."""

_UNSPACED = "\u2e80-\uffff"  # Chinese, Japanese, Korean: a word of another script may be between their characters
# A word that may begin with a capital letter. The character before it is looked at last, which is quicker.
_WORD = re.compile(rf"[^\W\d_a-z{_UNSPACED}](?<![^\W{_UNSPACED}].)(?:[^\W{_UNSPACED}]|[’'-])*", re.DOTALL)
_TOKEN = re.compile(r"[\w'’]+")
_OPENING = " ([{\"'“”„‘’«»‹›—–-"
_ENDS = (".", "!", "?", "…", ":", "•", "·", "|", "。", "！", "？")
_LONGEST_ABBREVIATION = 4  # characters: "St.", "Dr.", "Prof" is a word
_BEFORE = 16  # characters before a word that are looked at
_PRONOUN = ("i'", "i’")
_LONGEST = 64  # characters by which a name is compared, so that the cached ones take little memory
_REMEMBERED = 4096


def find_names(text: str) -> tuple[int, int]:
    """Return the set of names of a *text*, and the set of its words with a capital letter; both have the denials, too."""
    denials = _count_denials(text.lower())
    names = capitals = min(denials, (1 << _DENIALS) - 1) << _NAMES
    if text.isupper():
        return names, capitals
    for word in _WORD.finditer(text):
        bit = _bit_of(word[0][:_LONGEST])
        capitals |= bit
        if bit & ~names and not _begins_sentence(text, word.start()):
            names |= bit
    return names, capitals


@lru_cache(maxsize=_REMEMBERED)
def _bit_of(word: str) -> int:
    """Return the bit of a word that begins with a letter; 0 if it is never a name."""
    name = word.casefold()
    if not word[0].isupper() or name == "i" or name.startswith(_PRONOUN):
        return 0
    return 1 << xxh3_64_intdigest(name.removesuffix("'s").removesuffix("’s").encode("utf-8", "replace")) % _NAMES


def _begins_sentence(text: str, place: int) -> bool:
    if place > 1 and text[place - 1] == " " and text[place - 2].isalnum():  # true for most
        return False
    before = text[max(0, place - _BEFORE) : place].rstrip(_OPENING)
    if not before.endswith("."):
        return not before or before.endswith(_ENDS)
    last = before.rpartition(" ")[2]
    return len(last) > _LONGEST_ABBREVIATION or not last[:1].isupper()


@cache
def _denials() -> tuple[frozenset[str], re.Pattern[str]]:
    words, parts = read_denials()
    return frozenset(words), re.compile("|".join(parts))


def _count_denials(text: str) -> int:
    words, parts = _denials()
    tokens = _TOKEN.findall(text)
    count = 0 if words.isdisjoint(tokens) else sum(map(words.__contains__, tokens))  # true for most blocks
    count += text.count("n't") + text.count("n’t")
    return count if text.isascii() else count + len(parts.findall(text))
