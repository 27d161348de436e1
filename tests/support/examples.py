"""The number of examples of a property: fewer by default than with ``pytest --hypothesis-profile slow``."""

from hypothesis import settings

FULL = 100
"""The number of examples in the profile ``slow`` if a test does not give one."""


def examples(count: int) -> int:
    """Return the number of examples in this profile: *count* in ``slow``, a quarter of it by default."""
    return max(1, count * settings().max_examples // FULL)
