"""``DEDUP_*`` settings as options of a command, and the list of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from crawler_dedup.cli.terminal import told_errors
from crawler_dedup.config import PREFIX, Config, settings_reference

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "--config", "-s", metavar="NAME=VALUE", help="A setting, as DEDUP_MIN_FEATURES=30; may be repeated."
    ),
]


def given_settings(given: Sequence[str] | None) -> dict[str, str]:
    """The settings that *given* ``NAME=VALUE`` words name."""
    for one in given or []:
        if not one.startswith(PREFIX) or "=" not in one:
            raise typer.BadParameter(f"{one!r} is no setting; write {PREFIX}MIN_FEATURES=30.")
    return dict(one.split("=", 1) for one in given or [])


def config_of(given: Sequence[str] | None) -> Config:
    """The settings that *given* ``NAME=VALUE`` words make; a wrong one ends the command with a sentence."""
    with told_errors():
        return Config.from_settings(given_settings(given))


def settings() -> None:
    """Print every DEDUP_* setting with default, allowed values and explanation (Markdown)."""
    typer.echo(settings_reference(), nl=False)
