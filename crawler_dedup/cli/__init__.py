"""The ``crawler-dedup`` command: parse, call, print."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

import click

from crawler_dedup.cli.lazy import LazyCommand, LazyGroup
from crawler_dedup.cli.terminal import errors_as_messages

_COMMANDS = {
    "demo": LazyCommand("crawler_dedup.cli.demo:demo", "Show what the filter drops on two small sites."),
    "crawl": LazyCommand("crawler_dedup.cli.crawl:crawl", "Crawl sites politely, and write the pages that are kept."),
    "drops": LazyCommand("crawler_dedup.cli.drops:drops", "List dropped pages, with the page that stands for each."),
    "why": LazyCommand("crawler_dedup.cli.why:why", "Explain why a page was kept, dropped or not checked."),
    "report": LazyCommand(
        "crawler_dedup.cli.report:report", "Write a report of what the filter did, as one HTML file."
    ),
    "judge": LazyCommand("crawler_dedup.cli.judge:judge", "Review drops one by one, and estimate their precision."),
    "forget": LazyCommand(
        "crawler_dedup.cli.forget:forget", "Remove pages from the index, so that they can be crawled again."
    ),
    "compare": LazyCommand("crawler_dedup.cli.compare:compare", "Compare two pages by the rules of the crawl."),
    "evaluate": LazyCommand(
        "crawler_dedup.cli.evaluate:evaluate", "Measure precision and recall on labelled pairs of pages."
    ),
    "settings": LazyCommand(
        "crawler_dedup.cli.settings:settings", "Print all settings with their defaults and explanations."
    ),
    "index": LazyCommand("crawler_dedup.cli.groups:index", "Inspect, verify, compact, export or import an index."),
    "batch": LazyCommand("crawler_dedup.cli.groups:batch", "Find the near-duplicates in files of pages."),
    "plan": LazyCommand("crawler_dedup.cli.plan:plan", "Estimate the size and cost of an index of signatures."),
    "trace": LazyCommand("crawler_dedup.cli.trace:trace", "Find the kept pages from which a text was copied."),
    "lexicon": LazyCommand(
        "crawler_dedup.cli.groups:lexicon", "Count the words of a collection, for schemes that weigh words."
    ),
}


class Application(LazyGroup):
    """The outermost group: it turns the errors that a command raises on purpose into messages and exit statuses."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; a terminal shows a question mark for each character that it cannot encode."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
        return super().main(*args, **extra)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the arguments; print the help if an option asks for it."""
        with errors_as_messages():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command."""
        with errors_as_messages():
            return super().invoke(ctx)


@click.group(
    "crawler-dedup",
    cls=Application,
    lazy_commands=_COMMANDS,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="crawler-dedup", message="%(prog)s %(version)s")
def app() -> None:
    """Drop near-duplicate pages in a crawl, see why, and look after the index.

    In a Scrapy project, the commands use its settings, its index and its journal.
    `crawler-dedup COMMAND --help` explains a command, with examples.
    """
