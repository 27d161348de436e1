"""Suggestions for mistyped names."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_NAMES = 3
_LEAST_LIKENESS = 0.8
"""Least likeness of a mistyped name and a suggestion (Ratcliff and Obershelp's): about a letter in five may differ."""


def find_nearest(wrong_name: str, names: Sequence[str]) -> list[str]:
    """Return up to three close matches for *wrong_name* among *names*, best first.

    They differ from *wrong_name* in few letters, or have all its words and other words.
    """
    from difflib import get_close_matches  # noqa: PLC0415  (only for an error)

    hardly_different = get_close_matches(wrong_name, names, _MAX_NAMES, _LEAST_LIKENESS)
    words = set(wrong_name.split("_"))
    with_its_words = [name for name in names if words <= set(name.split("_"))]
    if len(with_its_words) > _MAX_NAMES:  # *wrong_name* is a word of many names, such as MAX
        with_its_words = []
    return list(dict.fromkeys([*hardly_different, *with_its_words]))[:_MAX_NAMES]
