"""Titles: the name of a page, without the parts that its site writes into all titles."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache

from crawler_dedup.signing.characters import simplify_han
from crawler_dedup.signing.features import size_in_letters, unify

_SEPARATORS = re.compile(r"\s[-–/]\s|:(?!\d)|[|·•»«›‹_()\[\]【】《》—]")
# C, C++ and C# are three things, "f=", "f>", "f-=", "f/=" and "f!=" five.
_NOT_LETTER = re.compile(r"[\W_](?<![+#&*<=>^~%])(?<![-/!](?=[=>]))")
# What the pattern matches in a text of ASCII without = and >, with which operators of several signs end.
_PUNCTUATION = bytes(code for code in range(128) if _NOT_LETTER.fullmatch(chr(code)))
_ORNAMENTS = re.compile(r"[&*<=>^~%]+\s+(.*?)(?:\s[&*<=>^~%]+)?", re.DOTALL)
_IDENTIFIER = re.compile(r"(?<!\w)[a-z0-9]+(?:_[a-z0-9]+)+(?!\w)")
MAX_TITLE_CHARS = 200
"""Maximum number of characters of a title, once it is normalised, that are read."""
MAX_WRITTEN_CHARS = 2 * MAX_TITLE_CHARS
"""Maximum number of characters as they are written: some texts have a mark or a soft hyphen after each letter."""
_MIN_LETTERS = 15
"""Least number of letters of a part that is probably not a site's name."""


@lru_cache(maxsize=512)  # of a hostile page a title takes 20 KB
def split_title(title: str) -> frozenset[str]:
    """Split *title* at its separators into parts: their letters, digits and operators, case and Han folded.

    A part that was cut short ends with ``…``.
    """
    folded = simplify_han(_fold(title))
    parts = _SEPARATORS.split(_without_ornaments(folded))
    split = ((_NOT_LETTER.sub("", part), part.rstrip().endswith("...")) for part in parts)
    return frozenset(letters + "…" * is_cut for letters, is_cut in split if letters)


@lru_cache(maxsize=512)
def find_identifiers(title: str) -> frozenset[str]:
    """Return the names in *title* that are written with underscores, as those of functions and files are.

    The parts of a title do not keep the order of their words: those of ``rgb_to_hsv`` are those of ``hsv_to_rgb``.
    """
    folded = _fold(title)
    return frozenset(_IDENTIFIER.findall(folded)) if "_" in folded else frozenset()


def _fold(title: str) -> str:
    return unify(title[:MAX_WRITTEN_CHARS])[:MAX_TITLE_CHARS].casefold()


def letters_of(plain: str) -> str:
    """Return the letters, digits and operators of a normalised text, as parts of titles have them.

    Operators before the text are ornaments and left out; operators after it are, too, if there are some before it.
    """
    if plain.isalnum():
        return plain
    text = _without_ornaments(plain)
    if text.isascii() and "=" not in text and ">" not in text:  # a tenth of the time
        return text.encode().translate(None, _PUNCTUATION).decode()
    return _NOT_LETTER.sub("", text)


def _without_ornaments(text: str) -> str:
    ornamented = _ORNAMENTS.fullmatch(text.strip())
    return ornamented[1] if ornamented else text


def titles_agree(new: AbstractSet[str], kept: AbstractSet[str], *, own_parts: bool) -> bool:
    """Return whether two titles, given by their parts, can name one page.

    Args:
        own_parts: whether only this page has the parts; if not, parts of the site's name may be among them.
    """
    if not kept:
        return True
    if not new:
        return False  # a start page may show the article, but the article's page is no start page
    only_new, only_kept = new - kept, kept - new
    if not only_new and not only_kept:
        return True
    if _is_cut_of(only_new, only_kept) or _is_cut_of(only_kept, only_new):
        return True
    if not own_parts:
        return any(size_in_letters(part) >= _MIN_LETTERS for part in new & kept)  # longer than the name of a site
    return False


def _is_cut_of(cut: AbstractSet[str], whole: AbstractSet[str]) -> bool:
    """Return whether a part in *cut* that ends with ``…`` is the beginning of a part in *whole*."""
    beginnings = tuple(part[:-1] for part in cut if part.endswith("…") and size_in_letters(part) > _MIN_LETTERS)
    return any(part.startswith(beginnings) for part in whole)
