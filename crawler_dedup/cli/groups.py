"""The commands that are groups of commands."""

from __future__ import annotations

import click

from crawler_dedup.cli.lazy import LazyCommand, LazyGroup

_INDEX_COMMANDS = {
    "stats": LazyCommand(
        "crawler_dedup.cli.index.stats:stats", "Print the configuration, size and contents of an index."
    ),
    "verify": LazyCommand("crawler_dedup.cli.index.verify:verify", "Check an index for damage. Nothing is changed."),
    "compact": LazyCommand("crawler_dedup.cli.index.compact:compact", "Rewrite an index without its free space."),
    "export": LazyCommand("crawler_dedup.cli.index.transfer:export_", "Write an index to one portable file."),
    "import": LazyCommand("crawler_dedup.cli.index.transfer:import_", "Merge an exported index into an index."),
}
_BATCH_COMMANDS = {
    "sign": LazyCommand("crawler_dedup.cli.batch.sign:sign", "Sign the pages of files, each file once."),
    "find": LazyCommand("crawler_dedup.cli.batch.find:find", "Find the near-duplicates among signed pages."),
    "apply": LazyCommand("crawler_dedup.cli.batch.apply:apply", "Write copies of files without near-duplicates."),
    "run": LazyCommand("crawler_dedup.cli.batch.run:run", "Sign, find and apply in one go."),
}
_LEXICON_COMMANDS = {
    "build": LazyCommand("crawler_dedup.cli.lexicon:build", "Count in how many documents each word stands."),
}


@click.group(cls=LazyGroup, lazy_commands=_INDEX_COMMANDS, no_args_is_help=True)
def index() -> None:
    """Inspect, verify, compact, export or import an index."""


@click.group(cls=LazyGroup, lazy_commands=_BATCH_COMMANDS, no_args_is_help=True)
def batch() -> None:
    """Find the near-duplicates in files of pages.

    The files are WARC, JSON Lines or Parquet.
    """


@click.group(cls=LazyGroup, lazy_commands=_LEXICON_COMMANDS, no_args_is_help=True)
def lexicon() -> None:
    """Count the words of a collection, for schemes that weigh words."""
