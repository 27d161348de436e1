"""Sizes of memory as they are written in messages."""

from __future__ import annotations

from math import ceil

_UNITS = ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K"))


def format_memory(size: int) -> str:
    """Return ``1.5G`` or ``283M`` for a number of bytes, rounded up, as ``--memory`` reads it."""
    for unit, letter in _UNITS:
        if size >= unit:
            return f"{ceil(10 * size / unit) / 10:g}{letter}" if letter == "G" else f"{ceil(size / unit)}{letter}"
    return str(size)
