"""``crawler-dedup settings``: print all settings."""

from __future__ import annotations

import click

from crawler_dedup.cli.jsonlines import print_json
from crawler_dedup.cli.jsontypes.settings import Setting
from crawler_dedup.cli.options import json_option
from crawler_dedup.config.reference import describe_settings, settings_reference


@click.command
@json_option
def settings(json: bool) -> None:
    """Print all settings with their defaults and explanations.

    The output is Markdown.

    \b
    Examples:
      crawler-dedup settings
      crawler-dedup settings --json | grep DISTANCE
    """
    if not json:
        click.echo(settings_reference(), nl=False)
        return
    print_json(
        Setting(
            name=setting.name,
            default=setting.default,
            allowed=setting.allowed,
            explanation=setting.explanation,
        )
        for setting in describe_settings()
    )
