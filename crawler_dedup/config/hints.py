"""Which names a mistyped name may stand for."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_NAMES = 3
_LEAST_LIKENESS = 0.8
"""Of the mistyped name and the one that is meant: about a letter in five may differ (Ratcliff and Obershelp's measure)."""


def find_nearest(wrong_name: str, names: Sequence[str]) -> list[str]:
    """Return those of *names* that may be meant by *wrong_name*, the likeliest first; few or none.

    They are hardly different, or have all words of *wrong_name* and others besides.
    """
    from difflib import get_close_matches  # noqa: PLC0415  (only for an error)

    hardly_different = get_close_matches(wrong_name, names, _MAX_NAMES, _LEAST_LIKENESS)
    words = set(wrong_name.split("_"))
    with_its_words = [name for name in names if words <= set(name.split("_"))]
    if len(with_its_words) > _MAX_NAMES:  # a word such as MAX, which says nothing
        with_its_words = []
    return list(dict.fromkeys([*hardly_different, *with_its_words]))[:_MAX_NAMES]
