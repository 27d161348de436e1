"""Callbacks with which long work reports how far it is."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int], None]
"""Called with numbers of things that were done since the call before."""
Start = Callable[[str, "int | None"], Advance]
"""Called with the name of some work and the number of things in it (``None``: not known); returns its :data:`Advance`."""


def ignore_progress(_: int) -> None:
    """Do nothing: an :data:`Advance` where nobody looks."""
