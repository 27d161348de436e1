"""Titles: what a page is called, less what the site writes into all its titles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set as AbstractSet
from functools import lru_cache

_SEPARATORS = re.compile(r"\s[-–/]\s|:(?!\d)|[|·•»«›‹_()\[\]【】《》—]")
_NOT_LETTERS = re.compile(r"[\W_]+")
_TRUNCATED = 20
"""A part with as many letters may be the beginning of the other."""


@lru_cache(maxsize=4096)
def parts(title: str) -> frozenset[str]:
    """The parts of *title* between separators, letters and digits only, case folded."""
    folded = unicodedata.normalize("NFKC", title).casefold()
    found = (_NOT_LETTERS.sub("", part) for part in _SEPARATORS.split(folded))
    return frozenset(part for part in found if part)


def agree(new: AbstractSet[str], kept: AbstractSet[str], *, known: bool) -> bool:
    """Whether two titles, given by their parts, can name one page.

    Args:
        known: the parts are those of the page alone; else the site's may stand among them.
    """
    if not kept:
        return True
    if not new:
        return False  # a start page shows the article, but the article's page is none
    only_new, only_kept = new - kept, kept - new
    if not only_new and not only_kept:
        return True
    if not known and (new & kept or not only_new or not only_kept):
        return True
    return any(_begins(one, other) for one in only_new for other in only_kept)


def _begins(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _TRUNCATED and long.startswith(short)
