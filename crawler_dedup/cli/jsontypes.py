"""The objects that commands print with ``--json``, one a line.

``docs/json.md`` is generated from these types: a docstring is the explanation of a type, the description of a field that of
the field. Fields have the names of the Python API and of the journal.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An object that stands on a line by itself. A subclass gives its ``type`` as ``tag``."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """An object within a line."""


class Setting(Line, frozen=True, kw_only=True, tag="setting"):
    """A setting, as `crawler-dedup settings --json` prints it."""

    name: Annotated[str, Meta(description="Name, as in `DEDUP_MAX_DISTANCE`.")]
    default: Annotated[Any, Meta(description="Default value.")]
    allowed: Annotated[str, Meta(description="Which values are allowed, in words.")]
    explanation: Annotated[str, Meta(description="What the setting does (Markdown).")]


LINES: tuple[type[Line], ...] = (Setting,)
"""All types of lines, in the order of ``docs/json.md``."""
