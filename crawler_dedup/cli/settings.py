"""``crawler-dedup settings``: the list of all settings."""

from __future__ import annotations

import click

from crawler_dedup.config import settings_reference


@click.command
def settings() -> None:
    """Print all settings with their defaults and explanations.

    The output is Markdown."""
    click.echo(settings_reference(), nl=False)
