"""How many examples a property is tried with: fewer by default than with ``pytest --hypothesis-profile slow``."""

from __future__ import annotations

from hypothesis import settings

FULL = 100
"""How many examples the profile ``slow`` takes, where a test does not say."""


def examples(count: int) -> int:
    """Return how many of *count* examples the profile takes: all in ``slow``, a quarter by default."""
    return max(1, count * settings().max_examples // FULL)
