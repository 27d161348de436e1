"""Arguments and options that several commands have, and how their values are read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated

import typer

from crawler_dedup.journal.entry import DUPLICATES
from crawler_dedup.journal.reader import Selection
from crawler_dedup.urls import host_of

IndexArgument = Annotated[
    Path | None, typer.Argument(file_okay=False, help="Directory of the index; none: that of this Scrapy project.")
]
JournalOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--journal", dir_okay=False, help="A file of the journal; may be repeated. None: those beside the index."
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "--config", "-s", metavar="NAME=VALUE", help="A setting, as DEDUP_MIN_FEATURES=30; may be repeated."
    ),
]
HostOption = Annotated[str, typer.Option(help="Of pages of this host.")]
RuleOption = Annotated[str, typer.Option(help="Decided by this rule, as “alike”.")]
SinceOption = Annotated[
    str, typer.Option(help="A time (2026-11-21, 2026-11-21T18:00, in UTC) or a duration (2h, 3d, 1w).")
]
RunOption = Annotated[str, typer.Option(help="Of this run, as the journal and `index stats` name it.")]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def select_duplicates(host: str, rule: str, since: str, run: str) -> Selection:
    """Select the duplicates in a journal that options ask for; ``""`` asks for all.

    Raises:
        typer.BadParameter: an option has a wrong value.
    """
    from crawler_dedup.rules import table  # noqa: PLC0415  (loads numpy, which --help does not need)

    if rule and rule not in table.NAMES:
        raise typer.BadParameter(f"There is no rule {rule!r}; there are {', '.join(map(repr, table.NAMES))}.")
    return Selection(
        DUPLICATES,
        host_of(host) if "//" in host else host,
        rule,
        parse_since(since) if since else "",
        parse_run(run) if run else "",
    )


def parse_duration(text: str) -> float | None:
    """Return the seconds of ``90d``, ``12h`` or ``2w``; ``None`` if *text* is no duration."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    return float(match[1]) * _SECONDS[match[2]] if match else None


def parse_since(text: str) -> str:
    """Return the time at which a period begins, in UTC as the journal writes it.

    Raises:
        typer.BadParameter: *text* is neither a time nor a duration before now.
    """
    seconds = parse_duration(text)
    try:
        if seconds is not None:
            time = datetime.now(timezone.utc) - timedelta(seconds=seconds)
        else:
            time = datetime.fromisoformat(text.removesuffix("Z"))
            time = time.astimezone(timezone.utc) if time.tzinfo else time
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is neither a time (2026-11-21T18:00) nor a duration (2h, 3d, 1w)."
        ) from None
    return time.strftime("%Y-%m-%dT%H:%M:%S")


def parse_run(text: str) -> str:
    """Return the number of a run as the journal writes it, 8 hexadecimal digits.

    Raises:
        typer.BadParameter: *text* is no such number.
    """
    if not re.fullmatch("[0-9a-fA-F]{1,8}", text):
        raise typer.BadParameter(f"{text!r} is no run; `crawler-dedup index stats` names them.")
    return text.lower().zfill(8)
