"""``crawler-dedup index``: what is done with an index between crawls."""

from __future__ import annotations

import click

from crawler_dedup.cli.lazy import LazyCommand, LazyGroup

_COMMANDS = {
    "stats": LazyCommand(
        "crawler_dedup.cli.index.stats:stats", "Print the configuration, size and contents of an index."
    ),
    "verify": LazyCommand(
        "crawler_dedup.cli.index.verify:verify", "Check that the buckets of an index agree with its records."
    ),
    "compact": LazyCommand("crawler_dedup.cli.index.compact:compact", "Rewrite an index without its free space."),
    "export": LazyCommand("crawler_dedup.cli.index.transfer:export_", "Write an index to one portable file."),
    "import": LazyCommand("crawler_dedup.cli.index.transfer:import_", "Merge an exported index into an index."),
}


@click.group(cls=LazyGroup, lazy_commands=_COMMANDS, no_args_is_help=True)
def index() -> None:
    """Inspect, verify, compact, export or import an index."""
