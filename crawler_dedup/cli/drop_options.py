"""The options that select drops out of a journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from crawler_dedup.cli.completion import complete_rule
from crawler_dedup.cli.options import group_options, last_option, parse_duration, run_option
from crawler_dedup.cli.runs import choose_run, find_emptying
from crawler_dedup.journal.entry import DUPLICATES
from crawler_dedup.journal.reader import Journals, Selection
from crawler_dedup.urls import host_of

_OPTIONS = (
    last_option,
    run_option,
    click.option(
        "--since",
        metavar="TIME",
        default="",
        help="Only since this time (2026-11-21T18:00, in UTC), or of the last 2h, 3d, 1w.",
    ),
    click.option("--host", metavar="HOST", default="", help="Only pages of this host."),
    click.option(
        "--rule", metavar="NAME", default="", shell_complete=complete_rule, help="Only pages that this rule decided."
    ),
)


@dataclass(frozen=True)
class WantedDrops:
    """The values of :func:`drop_options`, which select the drops that a command is about; ``""``: all."""

    last: bool
    run: str
    since: str
    host: str
    rule: str

    def select(self, journals: Journals) -> Selection:
        """Return the selection of these drops in *journals*: without a chosen run, those since the index was emptied.

        Raises:
            click.BadParameter: an option has a wrong value.
            DedupError: the journals cannot be read, or no run is known.
        """
        from crawler_dedup.rules import table  # noqa: PLC0415  (loads numpy, which --help does not need)

        if self.rule and self.rule not in table.NAMES:
            raise click.BadParameter(f"There is no rule {self.rule!r}; there are {', '.join(map(repr, table.NAMES))}.")
        since = _parse_since(self.since) if self.since else ""
        host = host_of(self.host) if "//" in self.host else self.host
        run = choose_run(self.run, self.last, journals)
        return Selection(DUPLICATES, host, self.rule, since, run, "" if run else find_emptying(journals))


def drop_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select drops: the argument ``wanted``, :class:`WantedDrops`."""
    return group_options(command, "wanted", WantedDrops, _OPTIONS)


def _parse_since(text: str) -> str:
    """Return the time at which a period begins, in UTC as the journal writes it.

    Raises:
        click.BadParameter: *text* is neither a time nor a duration before now.
    """
    seconds = parse_duration(text)
    try:
        if seconds is not None:
            time = datetime.now(UTC) - timedelta(seconds=seconds)
        else:
            time = datetime.fromisoformat(text.removesuffix("Z"))
            time = time.astimezone(UTC) if time.tzinfo else time
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is neither a time (2026-11-21T18:00) nor a duration (2h, 3d, 1w)."
        ) from None
    return time.strftime("%Y-%m-%dT%H:%M:%S")
