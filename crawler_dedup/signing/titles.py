"""Titles and headings: the name of a page, without the parts that its site writes into all titles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from crawler_dedup.signing.characters import simplify_han
from crawler_dedup.signing.features import size_in_letters, unify
from crawler_dedup.signing.limits import MAX_TITLE_CHARS, MAX_WRITTEN_CHARS

_SEPARATORS = re.compile(r"\s[-–/]\s|:(?!\d)|[|·•»«›‹_()\[\]【】《》—]")
# C, C++ and C# are three things, "f=", "f>", "f-=", "f/=" and "f!=" five.
_NOT_LETTER = re.compile(r"[\W_](?<![+#&*<=>^~%])(?<![-/!](?=[=>]))")
_ORNAMENT = frozenset("&*<=>^~%")
_ORNAMENTS = re.compile(r"[&*<=>^~%]+\s+(.*?)(?:\s[&*<=>^~%]+)?", re.DOTALL)
_IDENTIFIER = re.compile(r"(?<!\w)[a-z0-9]+(?:_[a-z0-9]+)+(?!\w)")
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

    The parts of a title do not keep the order of their words: ``rgb_to_hsv`` and ``hsv_to_rgb`` have the same parts.
    """
    return frozenset(_IDENTIFIER.findall(_fold(title)))


def _fold(title: str) -> str:
    return unify(title[:MAX_WRITTEN_CHARS])[:MAX_TITLE_CHARS].casefold()


def letters_of(plain: str) -> str:
    """Return the letters, digits and operators of a normalised text, as parts of titles have them.

    Operators before the text are ornaments and left out; operators after it are, too, if there are some before it.
    """
    return _NOT_LETTER.sub("", _without_ornaments(plain))


def _without_ornaments(text: str) -> str:
    stripped = text.strip()
    ornamented = _ORNAMENTS.fullmatch(stripped) if stripped[:1] in _ORNAMENT else None  # most begin with a letter
    return ornamented[1] if ornamented else text


def titles_agree(new: AbstractSet[str], kept: AbstractSet[str], *, own_parts: bool) -> bool:
    """Return whether two titles, given by their parts, can name one page.

    Args:
        own_parts: whether the parts are those of the pages; if not, parts of their sites' names may be among them.
    """
    if not new or not kept:
        return False  # a start page, and a page of an archive, may show the article
    if new == kept or _is_cut_of(new - kept, kept - new) or _is_cut_of(kept - new, new - kept):
        return True
    # Such a part is longer than the name of a site.
    return not own_parts and any(size_in_letters(part) >= _MIN_LETTERS for part in new & kept)


def _is_cut_of(cut: AbstractSet[str], whole: AbstractSet[str]) -> bool:
    """Return whether a part in *cut* that ends with ``…`` is the beginning of a part in *whole*."""
    beginnings = tuple(part[:-1] for part in cut if part.endswith("…") and size_in_letters(part) > _MIN_LETTERS)
    return any(part.startswith(beginnings) for part in whole)


_MAX_PARTS = 32
"""Maximum number of parts of a title that are read."""
_MIN_NAMED_LETTERS = 3  # a shorter part of a title may be in any text


def find_named(headings: Sequence[tuple[str, bool]], main: Sequence[str], parts: frozenset[str], title: str) -> int:
    """Return the *parts* of a *title*, given by its letters, that the page itself names, as bits.

    The lowest bit is for the first part in alphabetical order. The *headings* are given by their letters, and whether each
    is mainly a link, the *main* text by its normalised lines.

    A heading that is a link may be the site's name, which comes before the page's name. So it counts only if it is the last
    of several such headings that name a part, and if nothing else does.
    """
    numbered = enumerate(sorted(parts)[:_MAX_PARTS])
    distinctive = [(1 << bit, part) for bit, part in numbered if size_in_letters(part) >= _MIN_NAMED_LETTERS]
    repeating = [(letters, is_link) for letters, is_link in headings if letters and letters in title]
    named = _bits(distinctive, [letters for letters, is_link in repeating if not is_link])
    named |= _bits([(bit, part) for bit, part in distinctive if not named & bit], main)
    links = [bits for letters, is_link in repeating if is_link and (bits := _bits(distinctive, [letters]))]
    return named or (links[-1] if links and links[-1] != links[0] else 0)


def _bits(parts: Sequence[tuple[int, str]], texts: Sequence[str]) -> int:
    """Return the bits of the *parts* that occur in *texts*. Spaces in the texts are ignored."""
    if not parts:
        return 0
    names = "\n".join(texts).replace(" ", "")
    return sum([bit for bit, part in parts if part in names])
