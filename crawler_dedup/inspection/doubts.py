"""Why a drop may be wrong, as far as titles, addresses, measures and stored texts can tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crawler_dedup.difference.text import split_lines
from crawler_dedup.journal.entry import Entry
from crawler_dedup.rules.table import SAME_BYTES
from crawler_dedup.signing.text import unpack_text

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"(?<!['’])\b\w+|(?<=['’])\w{2,}")  # without the "s" of "Anna's"
_SHOWN = 5  # words of a title


def find_doubts(entry: Entry, kept_title: str | None, kept_text: bytes, max_distance: int) -> list[tuple[int, str]]:
    """Return the reasons to doubt a drop, each with its weight: the higher the sum, the earlier a person should look.

    Args:
        kept_title: the title of the representative; ``None`` if it is not known.
        kept_text: the compressed main text of the representative; empty if it is not known.
        max_distance: the setting.
    """
    if entry.rule == SAME_BYTES:
        return []
    distance = -1 if entry.distance is None else entry.distance
    return [
        *_compare_contents(entry, kept_title, kept_text),
        *_compare_addresses(entry),
        *([(2, "signatures as far apart as allowed")] if distance == max_distance else []),
        *([(2, "found by its name: the signatures are far apart")] if distance > max_distance else []),
    ]


def _compare_contents(entry: Entry, kept_title: str | None, kept_text: bytes) -> Iterator[tuple[int, str]]:
    if kept_title is not None:
        words, kept_words = (_WORD.findall(title.lower()) for title in (entry.title, kept_title))
        if other := [word for word in dict.fromkeys(words) if word not in kept_words]:
            yield 4, f"other words in the title: {', '.join(other[:_SHOWN])}"
    if entry.text and kept_text:
        lines, kept_lines = (set(split_lines(unpack_text(text))) for text in (entry.text, kept_text))
        if number := len(lines - kept_lines):
            yield min(4, 1 + number), f"{number:,} block{'s' * (number > 1)} that the kept page lacks"


def _compare_addresses(entry: Entry) -> Iterator[tuple[int, str]]:
    path, kept_path = (url.partition("://")[2].partition("/")[2] for url in (entry.url, entry.duplicate_of))
    numbers, kept_numbers = set(_NUMBER.findall(path)), set(_NUMBER.findall(kept_path))
    if numbers - kept_numbers and kept_numbers - numbers:
        yield 2, "another date or number in the address"
    if path.rpartition("/")[0] != kept_path.rpartition("/")[0]:
        yield 1, "another path"
