"""Callbacks by which long operations report progress."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int], None]
"""Called with the number of things that were done since the previous call."""
Start = Callable[[str, "int | None"], Advance]
"""Called with the name of an operation and its number of things (``None``: not known); returns its :data:`Advance`."""


def ignore_progress(_: int) -> None:
    """Do nothing: the :data:`Advance` of an operation that shows no progress."""
