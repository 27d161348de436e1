"""Arguments and options that several commands have, and how their values are read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from crawler_dedup.urls import text_without_credentials

if TYPE_CHECKING:
    from scrapy.settings import Settings

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class IndexType(click.Path):
    """The directory of an index, or the address of one on a server."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from crawler_dedup.index.location import find_location  # noqa: PLC0415

        if str(value).startswith(("http://", "https://")):
            self.fail(
                f"{value!r} is the address of a page, not an index; `crawler-dedup compare NEW KEPT` compares two pages.",
                param,
                ctx,
            )
        location = find_location(value)
        return super().convert(value, param, ctx) if isinstance(location, Path) else location


index_argument = click.argument("index", required=False, type=IndexType())
journal_option = click.option(
    "--journal",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of the journal, the record of drops. Can be repeated.  [default: the files beside the index]",
)
answers_option = click.option(
    "--output",
    "-o",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder where your answers (right or wrong) are saved.  [default: the folder `judged` in the directory of the"
    " index, or in DEDUP_DIR if the index is on a server]",
)
jobs_option = click.option(
    "--jobs",
    "-j",
    metavar="N",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="number of processors",
    help="Number of processes that work at the same time.",
)
json_option = click.option("--json", is_flag=True, help="Print JSON Lines: one JSON object per line.")
run_option = click.option(
    "--run", metavar="RUN", default="", help="Only this run: its number, as `drops --summary` prints it (00c4f1a2)."
)
last_option = click.option("--last", is_flag=True, help="Only the latest run: the one that began last.")

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def settings_option(example: str) -> Option:
    """Return the option for settings; its help has the *example*, which has an effect on the command."""
    return click.option(
        "--set",
        "-s",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help=f"A setting for this call, such as {example}. Can be repeated.",
    )


def output_file_option(default: str, text: str) -> Option:
    """Return the option for the file that a command writes, which *text* explains."""
    return click.option(
        "--output",
        "-o",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path(default),
        show_default=True,
        help=text,
    )


def add_options(*options: Option) -> Option:
    """Return a decorator that gives a command all *options*, in this order."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def gather_options(name: str, values: type, *options: Option) -> Option:
    """Return a decorator that gives a command *options*. Their values are its argument *name*, of the dataclass *values*."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**given: Any) -> Any:
            gathered = values(**{field.name: given.pop(field.name) for field in fields(values)})

            return command(**{name: gathered}, **given)

        return add_options(*options)(call)

    return decorate


def parse_pairs(words: Sequence[str], noun: str, example: str) -> dict[str, str]:
    """Return the names and values of ``NAME=VALUE`` words, each of which is a *noun*.

    Raises:
        click.BadParameter: a word is none; the message has the *example*.
    """
    for word in words:
        if "=" not in word:
            raise click.BadParameter(
                f"{text_without_credentials(word)!r} is no {noun} with a value: write NAME=VALUE, such as {example}."
            )
    return dict(word.split("=", 1) for word in words)


def parse_time(text: str) -> datetime:
    """Return the time that ``2026-11-21T18:00`` (in UTC if it has no zone) or ``3d`` (before now) names, in UTC.

    Raises:
        click.BadParameter: *text* is neither a time nor an age.
    """
    duration = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    try:
        if duration:
            return datetime.now(UTC) - timedelta(seconds=float(duration[1]) * _SECONDS[duration[2]])
        time = datetime.fromisoformat(text.removesuffix("Z"))
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is neither a time (2026-11-21T18:00) nor an age (2h, 3d, 1w).") from None


@dataclass(frozen=True)
class Feeds:
    """The values of :data:`feed_options`: files to append to, and files to replace."""

    output: Sequence[str]
    replaced: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.output or self.replaced)

    @property
    def use_stdout(self) -> bool:
        """Whether pages are written to stdout."""
        return "-" in (*self.output, *self.replaced)

    def add_to(self, settings: Settings) -> None:
        """Add the feeds to those of the project, as Scrapy's own commands do.

        Raises:
            click.UsageError: an option has a wrong value.
            OSError: a file cannot be written.
        """
        if not self:
            return
        from scrapy.exceptions import UsageError  # noqa: PLC0415  (slow to load)
        from scrapy.utils.conf import feed_process_params_from_cli  # noqa: PLC0415

        output, replaced = _with_format(self.output), _with_format(self.replaced)
        try:
            feeds = feed_process_params_from_cli(settings, output, overwrite_output=replaced)
        except UsageError as error:
            raise click.UsageError(str(error)) from None
        for feed in feeds:
            if not urlsplit(feed).scheme and "%" not in feed:  # the path of a file, and no template
                path = Path(feed)
                path.parent.mkdir(parents=True, exist_ok=True)
                # A file that cannot be written is an error now, and not when the first page is kept.
                path.open("ab").close()
        settings.set("FEEDS", feeds, priority="cmdline")


feed_options = gather_options(
    "feeds",
    Feeds,
    click.option(
        "-o",
        "--output",
        multiple=True,
        metavar="FILE",
        help="Append the items of the crawl to FILE (.jsonl, .csv, …; - for stdout).",
    ),
    click.option("-O", "--overwrite-output", "replaced", multiple=True, metavar="FILE", help="Replace FILE instead."),
)
"""Decorator that gives a command the argument ``feeds``, :class:`Feeds`."""


def _with_format(files: Sequence[str]) -> list[str]:
    """Return *files* with the format of ``-``, which means stdout."""
    return ["-:jsonlines" if file == "-" else file for file in files]
