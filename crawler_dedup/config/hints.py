"""Which names a mistyped name may stand for."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_NAMES = 3
_LEAST_LIKENESS = 0.8
"""Of the mistyped name and the one that is meant: about a letter in five may differ (Ratcliff and Obershelp's measure)."""


def find_nearest(given: str, known: Sequence[str]) -> list[str]:
    """Return the names of *known* that *given* may stand for, the likeliest first; few or none.

    They are hardly different, or have all words of *given* and others besides.
    """
    from difflib import get_close_matches  # noqa: PLC0415  (only for an error)

    hardly_different = get_close_matches(given, known, _MAX_NAMES, _LEAST_LIKENESS)
    words = set(given.split("_"))
    with_its_words = [name for name in known if words <= set(name.split("_"))]
    if len(with_its_words) > _MAX_NAMES:  # a word such as MAX, which says nothing
        with_its_words = []
    return list(dict.fromkeys([*hardly_different, *with_its_words]))[:_MAX_NAMES]
