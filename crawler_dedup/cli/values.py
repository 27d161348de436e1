"""Values that options of the commands take, and how times are shown."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import typer

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def duration(text: str) -> float | None:
    """Seconds of ``90d``, ``12h``, ``2w``; ``None`` for what is no duration."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    return float(found[1]) * _SECONDS[found[2]] if found else None


def run_of(text: str) -> str:
    """The number of a run as the journal has it, 8 hexadecimal digits; what is none ends the command."""
    if not re.fullmatch("[0-9a-fA-F]{1,8}", text):
        raise typer.BadParameter(f"{text!r} is no run; `crawler-dedup index stats` names them.")
    return text.lower().zfill(8)


def time_of(seconds: float) -> str:
    """``2026-11-21 23:10:02 UTC`` for seconds since 1970."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # an imported record may say anything
        return f"{seconds} s after 1970"
