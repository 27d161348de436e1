"""What all types of JSON Lines have in common."""

from __future__ import annotations

import msgspec


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An object that stands on a line by itself. A subclass gives its ``type`` as ``tag``."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """An object within a line."""
