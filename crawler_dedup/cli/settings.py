"""``crawler-dedup settings``: print all settings."""

from __future__ import annotations

import click

from crawler_dedup.cli.options import json_option
from crawler_dedup.cli.terminal import print_json
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
    print_json("setting", describe_settings())
