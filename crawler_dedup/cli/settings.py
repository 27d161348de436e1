"""``crawler-dedup settings``: the list of all settings."""

from __future__ import annotations

import typer

from crawler_dedup.config import settings_reference


def settings() -> None:
    """Print every DEDUP_* setting with default, allowed values and explanation (Markdown)."""
    typer.echo(settings_reference(), nl=False)
