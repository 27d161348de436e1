"""The names in a block, and how many times it denies something: another name or a denial makes another statement.

A name is a word with a capital letter that does not begin a sentence. Which words deny is in ``crawler_dedup/data``. Scripts
without capitals have no names.
"""

from __future__ import annotations

import re
from functools import cache

from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.tables import read_denials

_NAMES, _DENIALS = 120, 7  # members of the set of a block: names by hash, and the number of denials
NAME_BITS = (1 << _NAMES) - 1
"""The bits of a set that are names."""
DENIAL_BITS = (1 << _NAMES + _DENIALS) - 1 - NAME_BITS
"""The bits of a set of which one is set if the block denies: for once, twice, and so on."""

_UNSPACED = "\u2e80-\uffff"  # Chinese, Japanese, Korean: a word of another script may be between their characters
_LETTER = rf"[^\W\d_{_UNSPACED}]"
_WORD = re.compile(
    rf"(?<![^\W{_UNSPACED}])(?![a-z]){_LETTER}(?:[^\W{_UNSPACED}]|[’'-])*"
)  # it may begin with a capital
_BEGINNING = re.compile(r"(?:^|[.!?…。！？•·|:]) ?[\s(\[{\"'“”„‘’«»‹›—–-]*$")
_ABBREVIATED = re.compile(r"(?<!\w)[^\W\d_a-z]\w{0,2}\. ?$")  # "Dr.", "St.", "J."
_POSSESSIVE = re.compile(r"['’]s?$")
_BEFORE = 16  # characters before a word that are looked at
_PRONOUN = "i"


def find_names(text: str) -> tuple[int, int]:
    """Return the set of names of a *text*, and the set of all its words with a capital letter; with both the denials."""
    denials = _count_denials(text)
    denied = 1 << _NAMES + min(denials, _DENIALS) - 1 if denials else 0
    names = capitals = denied
    if text.isupper():
        return names, capitals
    for word in _WORD.finditer(text):
        if not word[0][0].isupper():
            continue
        name = _POSSESSIVE.sub("", word[0].casefold())
        if name == _PRONOUN or name.startswith(("i'", "i’")):
            continue
        bit = 1 << xxh3_64_intdigest(name.encode("utf-8", "replace")) % _NAMES
        capitals |= bit
        if not _begins_sentence(text, word.start()):
            names |= bit
    return names, capitals


def _begins_sentence(text: str, place: int) -> bool:
    before = text[max(0, place - _BEFORE) : place]
    return bool(_BEGINNING.search(before)) and not _ABBREVIATED.search(before)


@cache
def _denial_pattern() -> re.Pattern[str]:
    words, parts = map("|".join, read_denials())
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)|n['’]t(?!\w)|{parts}", re.IGNORECASE)


def _count_denials(text: str) -> int:
    return len(_denial_pattern().findall(text))
