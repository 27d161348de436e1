"""Completion of the values of options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def complete_setting(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the settings whose names begin with *incomplete*, with their default values."""
    from crawler_dedup.config.reference import describe_settings  # noqa: PLC0415  (slow to load)

    return [
        CompletionItem(f"{setting.name}=", help=f"default {setting.default}")
        for setting in describe_settings()
        if setting.name.startswith(incomplete)
    ]


def complete_rule(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Return the rules whose names begin with *incomplete*."""
    from crawler_dedup.rules.table import NAMES  # noqa: PLC0415  (slow to load)

    return [name for name in NAMES if name.startswith(incomplete)]
