"""The difference of two texts: which lines, and which words of them, are only in the new or only in the kept page.

Words that would take too long to align are reported as different throughout.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from crawler_dedup.signing.characters import HAN_RANGES, MARKS_RANGES, UNSPACED_RANGES

_MAX_COMPARISONS = 1_000_000
"""Words times words: beyond, difflib takes seconds."""
_ALIKE = 0.5
"""Least share of common words of two lines that are set side by side: with less, a reader sees two texts."""
_WINDOW = 10
"""Number of lines of the kept page among which the one most like a new line is searched for, so that this is linear."""
_WORD = rf"(?:[^\W_{HAN_RANGES}{UNSPACED_RANGES}]|[{MARKS_RANGES}])+"
_WORDS = re.compile(rf"{_WORD}\s*|.\s*")
_WORDS_ALONE = re.compile(rf"{_WORD}|[^\W_]")


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
    """Align the lines of two pages, of which none is empty, in the order of the new page.

    Each line is beside its equal, wherever the kept page has that. Of the others, those with enough common words are set
    side by side, as far as the order of both pages allows.
    """
    equal = _find_equal(new, kept)
    matched = set(equal.values())
    new_at = kept_at = 0
    for anchor, _ in [*_longest_increasing([*equal.items()]), (len(new), len(kept))]:
        kept_end = equal.get(anchor, len(kept))
        unmatched = [number for number in range(kept_at, kept_end) if number not in matched]
        changed = _pair_alike({at: new[at] for at in range(new_at, anchor) if at not in equal}, unmatched, kept)
        waiting = deque(unmatched)
        for at in range(new_at, anchor):
            if at in changed:
                while waiting[0] != changed[at]:
                    yield Aligned("", kept[waiting.popleft()])
                waiting.popleft()
            yield Aligned(new[at], new[at] if at in equal else kept[changed[at]] if at in changed else "")
        yield from (Aligned("", kept[number]) for number in waiting)
        if anchor < len(new):
            yield Aligned(new[anchor], new[anchor])
        new_at, kept_at = anchor + 1, kept_end + 1


def _find_equal(new: Sequence[str], kept: Sequence[str]) -> dict[int, int]:
    """Return the place of a line in *new* → that of its equal in *kept*: of repeated lines, the first of the first."""
    places = defaultdict[str, deque[int]](deque)
    for number, line in enumerate(kept):
        places[line].append(number)
    return {at: places[line].popleft() for at, line in enumerate(new) if places.get(line)}


def _pair_alike(new: Mapping[int, str], unmatched: Sequence[int], kept: Sequence[str]) -> dict[int, int]:
    """Return the places of lines in *new* → those of the *unmatched* lines in *kept* that are alike, in ascending order."""
    words = [_count_words(kept[number]) for number in unmatched] if new else []
    pairs, first = dict[int, int](), 0
    for at, line in new.items():
        own = _count_words(line)
        shares = [
            2 * (own & other).total() / (own.total() + other.total() or 1) for other in words[first : first + _WINDOW]
        ]
        if shares and max(shares) >= _ALIKE:
            first += shares.index(max(shares)) + 1
            pairs[at] = unmatched[first - 1]
    return pairs


def _count_words(line: str) -> Counter[str]:
    return Counter(_WORDS_ALONE.findall(line.lower()))


def compare_words(new: str, kept: str) -> Iterator[Aligned]:
    """Align the words of two lines; of writing without spaces, the characters."""
    words = _WORDS.findall(new), _WORDS.findall(kept)
    if len(words[0]) * len(words[1]) > _MAX_COMPARISONS:
        yield Aligned(new, kept)
        return
    # What makes up more than a hundredth of a long text begins no match (autojunk): else this takes cubic time.
    for _, new_start, new_end, kept_start, kept_end in SequenceMatcher(None, *words).get_opcodes():
        yield Aligned("".join(words[0][new_start:new_end]), "".join(words[1][kept_start:kept_end]))


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


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of *pairs*, ascending by their first numbers, in which the second numbers rise, too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for at, (_, kept) in enumerate(pairs):
        length = bisect_left(ends, kept)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [kept]
        last[length : length + 1] = [at]
    rising = []
    at = last[-1] if last else -1
    while at >= 0:
        rising.append(pairs[at])
        at = before[at]
    return rising[::-1]
