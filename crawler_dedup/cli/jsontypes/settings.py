"""The JSON Lines of ``settings``."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from crawler_dedup.cli.jsontypes.base import Line


class Setting(Line, frozen=True, kw_only=True, tag="setting"):
    """A setting, as `crawler-dedup settings --json` prints it."""

    name: Annotated[str, Meta(description="Name, as in `DEDUP_MAX_DISTANCE`.")]
    default: Annotated[Any, Meta(description="Default value.")]
    allowed: Annotated[str, Meta(description="Which values are allowed, in words.")]
    explanation: Annotated[str, Meta(description="What the setting does (Markdown).")]
