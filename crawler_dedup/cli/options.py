"""Arguments and options that several commands have, and how their values are read."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from math import isnan
from pathlib import Path
from typing import Any

import click

from crawler_dedup.cli.completion import complete_rule, complete_setting
from crawler_dedup.journal.entry import DUPLICATES
from crawler_dedup.journal.reader import Selection
from crawler_dedup.urls import host_of


class NumberRange(click.FloatRange):
    """A number within limits, which ``nan`` is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


class IndexType(click.Path):
    """The directory of an index, or the address of one on a server."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from crawler_dedup.index.location import find_location  # noqa: PLC0415

        location = find_location(value)
        return super().convert(value, param, ctx) if isinstance(location, Path) else location


index_argument = click.argument("index", required=False, type=IndexType())
journal_option = click.option(
    "--journal",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of the journal. Can be repeated.  [default: the files beside the index]",
)
settings_option = click.option(
    "--set",
    "-s",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_setting,
    help="A setting, as in DEDUP_MAX_DISTANCE=4. Can be repeated.",
)
jobs_option = click.option(
    "--jobs",
    "-j",
    metavar="N",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="number of processors",
    help="Number of processes that work at a time.",
)
json_option = click.option("--json", is_flag=True, help="Print JSON Lines: one JSON object per line.")
host_option = click.option("--host", metavar="HOST", default="", help="Only pages of this host.")
rule_option = click.option(
    "--rule", metavar="NAME", default="", shell_complete=complete_rule, help="Only pages that this rule decided."
)
since_option = click.option(
    "--since",
    metavar="TIME",
    default="",
    help="Only since this time (2026-11-21T18:00, in UTC), or of the last 2h, 3d, 1w.",
)
run_option = click.option(
    "--run", metavar="RUN", default="", help="Only this run, as `drops --summary` and `index stats` list it."
)
last_option = click.option("--last", is_flag=True, help="Only the latest run: the one that began last.")

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def select_duplicates(host: str, rule: str, since: str, run: str) -> Selection:
    """Select the duplicates in a journal that options ask for; ``""`` asks for all.

    Args:
        run: the number of a run as the journal writes it.

    Raises:
        click.BadParameter: an option has a wrong value.
    """
    from crawler_dedup.rules import table  # noqa: PLC0415  (loads numpy, which --help does not need)

    if rule and rule not in table.NAMES:
        raise click.BadParameter(f"There is no rule {rule!r}; there are {', '.join(map(repr, table.NAMES))}.")
    return Selection(
        DUPLICATES,
        host_of(host) if "//" in host else host,
        rule,
        parse_since(since) if since else "",
        run,
    )


def parse_duration(text: str) -> float | None:
    """Return the seconds of ``90d``, ``12h`` or ``2w``; ``None`` if *text* is no duration."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    return float(match[1]) * _SECONDS[match[2]] if match else None


def parse_since(text: str) -> str:
    """Return the time at which a period begins, in UTC as the journal writes it.

    Raises:
        click.BadParameter: *text* is neither a time nor a duration before now.
    """
    seconds = parse_duration(text)
    try:
        if seconds is not None:
            time = datetime.now(timezone.utc) - timedelta(seconds=seconds)
        else:
            time = datetime.fromisoformat(text.removesuffix("Z"))
            time = time.astimezone(timezone.utc) if time.tzinfo else time
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is neither a time (2026-11-21T18:00) nor a duration (2h, 3d, 1w)."
        ) from None
    return time.strftime("%Y-%m-%dT%H:%M:%S")


def parse_run(text: str) -> str:
    """Return the number of a run as the journal writes it, 8 hexadecimal digits.

    Raises:
        click.BadParameter: *text* is no such number.
    """
    if not re.fullmatch("[0-9a-fA-F]{1,8}", text):
        raise click.BadParameter(f"{text!r} is no run; `crawler-dedup index stats` names them.")
    return text.lower().zfill(8)
