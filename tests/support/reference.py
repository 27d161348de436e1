"""Slow reference implementations of vectorised computations of the package."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def slow_mixed(number: int) -> int:
    """Compute the finaliser of MurmurHash3 as its author published it."""
    number ^= number >> 33
    number = number * 0xFF51AFD7ED558CCD & _MASK
    number ^= number >> 33
    number = number * 0xC4CEB9FE1A85EC53 & _MASK
    return number ^ number >> 33
