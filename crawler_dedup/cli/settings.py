"""``crawler-dedup settings``: print all settings."""

from __future__ import annotations

import textwrap
from dataclasses import fields

import click

from crawler_dedup.config.settings import Config, declared_types, setting_name
from crawler_dedup.config.values import describe_values


@click.command
def settings() -> None:
    """Print all settings with their defaults and explanations.

    The output is Markdown.

    \b
    Example:
      crawler-dedup settings
    """
    click.echo(settings_reference(), nl=False)


def settings_reference() -> str:
    """Return the text of ``docs/reference/settings.md``."""
    parts = [
        "# Settings\n",
        "All settings are read once when the crawl starts. If a value is not allowed or a `DEDUP_*` name is unknown, the",
        "crawl does not start: one line of the log says why, and the exit status is 1.",
        "In Python they are keyword arguments of `crawler_dedup.Config` (`DEDUP_MAX_DISTANCE` is `max_distance`).",
        "\nThis page is printed by `crawler-dedup settings`.",
    ]
    for setting in fields(Config):
        parts.append(f"\n## {setting_name(setting.name)}\n")
        allowed = describe_values(declared_types()[setting.name])
        parts.append(f"Default {setting.metadata['shown']}; takes {allowed}.\n")
        parts.append(
            textwrap.fill(setting.metadata["explanation"], 118, break_long_words=False, break_on_hyphens=False)
        )
    return "\n".join(parts) + "\n"
