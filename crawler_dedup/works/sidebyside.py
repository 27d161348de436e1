"""A passage of a page beside that of a work, with what differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from crawler_dedup.difference.text import compare_words
from crawler_dedup.signing.initials import NO_INITIAL, initial_of_each


class AlignedPart(NamedTuple):
    """A part of two passages: equal, in characters whose readings begin alike, or different."""

    kind: Literal["equal", "homophone", "different"]
    text: str
    work_text: str


def align_passages(text: str, work_text: str) -> Iterator[AlignedPart]:
    """Align a passage of a page with that of a work; white space is shown as single spaces."""
    for part in compare_words(" ".join(text.split()), " ".join(work_text.split())):
        if part.is_equal:
            yield AlignedPart("equal", *part)
        else:
            is_homophone = _sound_alike(part.new.replace(" ", ""), part.kept.replace(" ", ""))
            yield AlignedPart("homophone" if is_homophone else "different", *part)


def _sound_alike(first: str, second: str) -> bool:
    if len(first) != len(second) or (first + second).isascii():
        return False
    initials = initial_of_each(first), initial_of_each(second)
    return bool(np.array_equal(*initials) and (initials[0] != NO_INITIAL).all())
