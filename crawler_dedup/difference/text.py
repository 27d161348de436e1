"""The difference of two texts: which lines, and which words of them, stand only in the new or only in the kept page.

The work is bounded: what would take too long to align is reported as different throughout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import Enum
from itertools import zip_longest
from typing import NamedTuple

_MAX_COMPARISONS = 1_000_000
"""Lines times lines, or words times words: beyond, difflib takes seconds."""
_WORDS = re.compile(r"[a-zA-Z0-9À-ɏ]+\s*|.\s*")


class Change(Enum):
    """The difference of a line of the new page from the kept page."""

    EQUAL = "equal"
    CHANGED = "changed"
    ONLY_NEW = "only in the new page"
    ONLY_KEPT = "only in the kept page"


class LinePair(NamedTuple):
    """A line of the new page beside one of the kept page; ``""`` on the side that has none."""

    change: Change
    new: str
    kept: str


class Words(NamedTuple):
    """Words in a row that are equal in both lines, or differ."""

    is_equal: bool
    new: str
    kept: str


class Omission(NamedTuple):
    """A number of equal lines that are left out."""

    lines: int


def split_lines(text: str) -> list[str]:
    """Split *text* into its lines, with single spaces and without empty ones."""
    return [line for raw in text.splitlines() if (line := " ".join(raw.split()))]


def compare_lines(new: Sequence[str], kept: Sequence[str]) -> Iterator[LinePair]:
    """Align the lines of two pages. Lines that differ are set side by side in their order."""
    for is_equal, new_part, kept_part in _align(new, kept):
        if is_equal:
            yield from (LinePair(Change.EQUAL, line, line) for line in new[new_part])
            continue
        for new_line, kept_line in zip_longest(new[new_part], kept[kept_part]):
            if kept_line is None:
                yield LinePair(Change.ONLY_NEW, new_line, "")
            elif new_line is None:
                yield LinePair(Change.ONLY_KEPT, "", kept_line)
            else:
                yield LinePair(Change.CHANGED, new_line, kept_line)


def compare_words(new: str, kept: str) -> Iterator[Words]:
    """Align the words of two lines; of writing without spaces, the characters."""
    new_words, kept_words = _WORDS.findall(new), _WORDS.findall(kept)
    for is_equal, new_part, kept_part in _align(new_words, kept_words):
        yield Words(is_equal, "".join(new_words[new_part]), "".join(kept_words[kept_part]))


def omit_equal(lines: Sequence[LinePair], context: int = 1) -> Iterator[LinePair | Omission]:
    """Leave out the equal lines of a difference, except for *context* lines on each side of a line that differs."""
    kept = {
        near
        for number, line in enumerate(lines)
        if line.change is not Change.EQUAL
        for near in range(number - context, number + context + 1)
    }
    omitted = 0
    for number, line in enumerate(lines):
        if number not in kept:
            omitted += 1
            continue
        if omitted:
            yield Omission(omitted)
            omitted = 0
        yield line
    if omitted:
        yield Omission(omitted)


def _align(new: Sequence[str], kept: Sequence[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Yield which parts of the two sequences are equal and which differ, in order."""
    if len(new) * len(kept) > _MAX_COMPARISONS:
        yield False, slice(len(new)), slice(len(kept))
        return
    # What makes up more than a hundredth of a long text begins no match (autojunk): else this takes cubic time.
    for tag, new_start, new_end, kept_start, kept_end in SequenceMatcher(None, new, kept).get_opcodes():
        yield tag == "equal", slice(new_start, new_end), slice(kept_start, kept_end)
