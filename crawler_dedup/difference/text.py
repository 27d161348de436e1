"""The difference of two texts: which lines, and which words of them, are only in the new or only in the kept page.

The work is bounded: what would take too long to align is reported as different throughout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import NamedTuple

_MAX_COMPARISONS = 1_000_000
"""Lines times lines, or words times words: beyond, difflib takes seconds."""
_WORDS = re.compile(r"[a-zA-Z0-9À-ɏ]+\s*|.\s*")


class Aligned(NamedTuple):
    """A line of the new page beside one of the kept page, or words of two lines; ``""`` on the side that has none."""

    new: str
    kept: str

    @property
    def is_equal(self) -> bool:
        """Whether both sides are the same."""
        return self.new == self.kept


class Omission(NamedTuple):
    """A number of equal lines that are left out."""

    lines: int


def split_lines(text: str) -> list[str]:
    """Split *text* into its lines, with single spaces and without empty ones."""
    return [line for raw in text.splitlines() if (line := " ".join(raw.split()))]


def compare_lines(new: Sequence[str], kept: Sequence[str]) -> Iterator[Aligned]:
    """Align the lines of two pages, of which none is empty. Lines that differ are set side by side in their order."""
    for new_part, kept_part in _align(new, kept):
        yield from map(Aligned._make, zip_longest(new[new_part], kept[kept_part], fillvalue=""))


def compare_words(new: str, kept: str) -> Iterator[Aligned]:
    """Align the words of two lines; of writing without spaces, the characters."""
    new_words, kept_words = _WORDS.findall(new), _WORDS.findall(kept)
    for new_part, kept_part in _align(new_words, kept_words):
        yield Aligned("".join(new_words[new_part]), "".join(kept_words[kept_part]))


def omit_equal(lines: Sequence[Aligned], context: int = 1) -> Iterator[Aligned | Omission]:
    """Leave out the equal lines of a difference, except for *context* lines on each side of a line that differs."""
    kept = {
        near
        for number, line in enumerate(lines)
        if not line.is_equal
        for near in range(number - context, number + context + 1)
    }
    for is_kept, rows in groupby(enumerate(lines), lambda row: row[0] in kept):
        part = [line for _, line in rows]
        yield from part if is_kept else [Omission(len(part))]


def _align(new: Sequence[str], kept: Sequence[str]) -> Iterator[tuple[slice, slice]]:
    """Yield the parts of the two sequences that are equal or differ, in order."""
    if len(new) * len(kept) > _MAX_COMPARISONS:
        yield slice(len(new)), slice(len(kept))
        return
    # What makes up more than a hundredth of a long text begins no match (autojunk): else this takes cubic time.
    for _, new_start, new_end, kept_start, kept_end in SequenceMatcher(None, new, kept).get_opcodes():
        yield slice(new_start, new_end), slice(kept_start, kept_end)
