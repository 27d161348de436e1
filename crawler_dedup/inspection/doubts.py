"""Why a drop may be wrong, as far as its journal entry and the titles can tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crawler_dedup.journal.entry import Entry
from crawler_dedup.rules.limits import MIN_COVERAGE, MIN_RESEMBLANCE
from crawler_dedup.rules.table import SAME_BYTES

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
_NEAR = 0.03  # from a limit of coverage or resemblance
_SHOWN = 5  # words of a title


def find_doubts(entry: Entry, kept_title: str | None, max_distance: int) -> list[tuple[int, str]]:
    """Return the reasons to doubt a drop, each with its weight: the higher the sum, the earlier a person should look.

    Args:
        kept_title: the title of the representative; ``None`` if it is not known.
        max_distance: the setting.
    """
    return list(_find(entry, kept_title, max_distance)) if entry.rule != SAME_BYTES else []


def _find(entry: Entry, kept_title: str | None, max_distance: int) -> Iterator[tuple[int, str]]:
    if kept_title is not None:
        words, kept_words = (_WORD.findall(title.lower()) for title in (entry.title, kept_title))
        if other := [word for word in dict.fromkeys(words) if word not in kept_words]:
            yield 4, f"other words in the title: {', '.join(other[:_SHOWN])}"
    path, kept_path = (url.partition("://")[2].partition("/")[2] for url in (entry.url, entry.duplicate_of))
    numbers, kept_numbers = _NUMBER.findall(path), _NUMBER.findall(kept_path)
    if numbers and kept_numbers and numbers != kept_numbers:
        yield 2, "another date or number in the address"
    if path.rpartition("/")[0] != kept_path.rpartition("/")[0]:
        yield 1, "another path"
    if entry.distance is not None and entry.distance >= max_distance:
        yield 2, "signatures as far apart as allowed"
    for name, value, limit in (
        ("coverage", entry.coverage, MIN_COVERAGE),
        ("resemblance", entry.resemblance, MIN_RESEMBLANCE),
    ):
        if value is not None and value < limit + _NEAR:
            yield 2, f"{name} near the limit"
