"""The page of all settings, ``docs/settings.md``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from crawler_dedup.config.settings import Config, declared_types, setting_name
from crawler_dedup.config.values import describe_values


@dataclass(frozen=True)
class SettingDescription:
    """The documentation of a setting.

    Attributes:
        name: its name, such as ``DEDUP_MAX_DISTANCE``.
        default: its default value.
        allowed: the values that it takes, in words.
        explanation: what it does, in Markdown.
    """

    name: str
    default: Any
    allowed: str
    explanation: str


def describe_settings() -> Iterator[SettingDescription]:
    """Yield the descriptions of all settings."""
    for setting in fields(Config):
        yield SettingDescription(
            setting_name(setting.name),
            setting.default,
            describe_values(declared_types()[setting.name]),
            setting.metadata["explanation"],
        )


def settings_reference() -> str:
    """Return the text of ``docs/settings.md``."""
    parts = [
        "# Settings\n",
        "All settings are read once when the crawl starts. If a value is not allowed or a `DEDUP_*` name is unknown, the",
        "crawl does not start: one line of the log says why, and the exit status is 1.",
        "In Python they are keyword arguments of `crawler_dedup.Config` (`DEDUP_MAX_DISTANCE` is `max_distance`).",
        "\nThis page is printed by `crawler-dedup settings`.",
    ]
    for setting, declared in zip(describe_settings(), fields(Config), strict=True):
        parts.append(f"\n## {setting.name}\n")
        parts.append(f"Default {declared.metadata['shown']}; takes {setting.allowed}.\n")
        parts.append(_fill(setting.explanation))
    return "\n".join(parts) + "\n"


def _fill(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)
