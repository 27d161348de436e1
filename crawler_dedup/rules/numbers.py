"""Comparison of the numbers in two texts, by their sketches."""

from __future__ import annotations

import numpy as np

from crawler_dedup.signing import sketch

_MANY_NUMBERS = 5  # fewer numbers may be a date
_OTHER_NUMBERS = 1 / 10  # share of the new page's numbers
_SAME_NUMBERS = 0.3  # all labelled duplicates share at least .8
_SAME_NUMBERS_ESTIMATED = 0.08  # from sketches, whose standard error is .03 there


def differ(new: bytes, kept: bytes) -> bool:
    """Return whether two sketches of numbers have hardly any number in common."""
    new_numbers, kept_numbers = sketch.read_members(new), sketch.read_members(kept)
    if new_numbers is None and kept_numbers is None:
        return sketch.resemblance(new, kept) < _SAME_NUMBERS_ESTIMATED
    if new_numbers is None or kept_numbers is None:
        return False
    fewer = min(len(new_numbers), len(kept_numbers))
    return fewer >= _MANY_NUMBERS and len(np.intersect1d(new_numbers, kept_numbers)) < _SAME_NUMBERS * fewer


def conflict(new: bytes, kept: bytes) -> bool:
    """Return whether each of two sketches has numbers that the other lacks, and the new page's more than a few."""
    new_numbers, kept_numbers = sketch.read_members(new), sketch.read_members(kept)
    if new_numbers is None or kept_numbers is None:
        return False
    common = len(np.intersect1d(new_numbers, kept_numbers))
    return common < len(kept_numbers) and len(new_numbers) - common > _OTHER_NUMBERS * len(new_numbers)


def lacks(new: bytes, kept: bytes) -> bool:
    """Return whether the kept text is known to lack one of the new text's numbers."""
    new_numbers, kept_numbers = sketch.read_members(new), sketch.read_members(kept)
    if new_numbers is None or kept_numbers is None:
        return False
    return len(np.setdiff1d(new_numbers, kept_numbers)) > 0
