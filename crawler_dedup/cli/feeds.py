"""The options that name the feeds of a crawl."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from crawler_dedup.cli.options import gather_options

if TYPE_CHECKING:
    from scrapy.settings import Settings


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
