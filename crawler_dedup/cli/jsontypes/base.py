"""The base classes of the types of JSON Lines."""

from __future__ import annotations

import msgspec


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An object on a line of its own. A subclass sets its ``type`` as ``tag``."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """An object within a line."""
