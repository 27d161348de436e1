"""``DEDUP_*`` settings as options of a command, and the list of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from crawler_dedup.cli.terminal import told_errors
from crawler_dedup.config import PREFIX, Config, settings_reference
from crawler_dedup.errors import DedupError
from crawler_dedup.urls import text_without_credentials

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "--config", "-s", metavar="NAME=VALUE", help="A setting, as DEDUP_MIN_FEATURES=30; may be repeated."
    ),
]


def config_of(given: Sequence[str] | None) -> Config:
    """As :func:`read_config`; what is wrong ends the command with a sentence."""
    with told_errors():
        return read_config(given)


def read_config(given: Sequence[str] | None) -> Config:
    """The settings of the Scrapy project around the working directory, if there is one, and ``NAME=VALUE`` words, which win.

    Raises:
        DedupError: a setting is not allowed, or the project's cannot be read.
    """
    for one in given or []:
        if not one.startswith(PREFIX) or "=" not in one:
            raise typer.BadParameter(f"{text_without_credentials(one)!r} is no setting; write {PREFIX}MIN_FEATURES=30.")
    return Config.from_settings({**_project_settings(), **dict(one.split("=", 1) for one in given or [])})


def _project_settings() -> dict[str, Any]:
    from scrapy.utils.project import get_project_settings, inside_project  # noqa: PLC0415  (it takes a while)

    try:
        if not inside_project():
            return {}
        settings = get_project_settings()
    except Exception as error:  # whatever a settings module does
        raise DedupError(f"The settings of this Scrapy project cannot be read: {error}") from error
    return {name: settings[name] for name in settings if name.startswith(PREFIX)}


def project_index(config: Config) -> Path:
    """The directory of the index of the Scrapy project; raises :class:`DedupError` where there is no project."""
    from scrapy.utils.project import data_path, inside_project  # noqa: PLC0415

    if not inside_project():
        raise DedupError("Name the directory of the index: this is no Scrapy project.")
    return Path(data_path(config.dir))


def settings() -> None:
    """Print every DEDUP_* setting with default, allowed values and explanation (Markdown)."""
    typer.echo(settings_reference(), nl=False)
