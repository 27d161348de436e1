"""The ``crawler-dedup`` command: parse, call, print."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from crawler_dedup.cli.terminal import errors_as_messages


class LazyCommand(click.Command):
    """A command that is imported when it is called, so that the help of its group is quick.

    Args:
        location: ``module:name`` of the command; a module of this package begins with a dot.
        summary: the first paragraph of its help, which the help of the group lists.
    """

    def __init__(self, name: str, location: str, summary: str) -> None:
        super().__init__(name, short_help=summary)
        self.location = location

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.location.partition(":")
        command = getattr(import_module(module, __name__), attribute)
        assert isinstance(command, click.Command)
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Return the context of the imported command, which click then calls."""
        return self.load().make_context(*args, **extra)


class Application(click.Group):
    """The outermost group: it turns the errors that a command raises on purpose into messages and exit statuses.

    Args:
        sections: the commands by the headings under which the help lists them.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[click.Command]], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.sections = sections
        for commands in sections.values():
            for command in commands:
                self.add_command(command)

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  (click's)
        """Write the names and summaries of all commands, in sections."""
        width = max(map(len, self.commands))
        for heading, commands in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{command.name:{width}}", str(command.short_help)) for command in commands])


def _group(name: str, text: str, *commands: click.Command) -> click.Group:
    return click.Group(name, commands=commands, help=text, short_help=text, no_args_is_help=True)


_INDEX = _group(
    "index",
    "Inspect, verify, compact, export or import an index.",
    LazyCommand("stats", ".index:stats", "Print the configuration, size and contents of an index."),
    LazyCommand("verify", ".index:verify", "Check an index for damage. Nothing is changed."),
    LazyCommand("compact", ".index:compact", "Rewrite an index without its free space."),
    LazyCommand("export", ".index:export_", "Write an index to one portable file."),
    LazyCommand("import", ".index:import_", "Merge an exported index into an index."),
    LazyCommand(
        "overrides", ".restore:overrides", "List the overrides: what `keep`, `separate` and `restore` have set."
    ),
)
_BATCH = _group(
    "batch",
    "Find the near-duplicates in WARC, JSON Lines or Parquet files.",
    LazyCommand("sign", ".batch:sign", "Compute the signatures by which `find` compares the pages of files."),
    LazyCommand("find", ".batch:find", "Find the near-duplicates among signed pages."),
    LazyCommand("apply", ".batch:apply", "Copy files, and leave out the near-duplicates."),
    LazyCommand("run", ".batch:run", "Run sign, find and apply, one after the other."),
)
_LEXICON = _group(
    "lexicon",
    "Count words, for a DEDUP_SCHEME in which rare words weigh more.",
    LazyCommand("build", ".lexicon:build", "Count the documents that contain each word."),
)
_WORKS = _group(
    "works",
    "Keep a library of works (books, articles), and find their copies.",
    LazyCommand("add", ".works:add", "Add works to a library."),
    LazyCommand("list", ".works:list_", "List the works of a library."),
    LazyCommand("remove", ".works:remove", "Remove works from a library."),
    LazyCommand("check", ".works:check", "Find the pages that share passages with works of a library."),
    LazyCommand("matches", ".matches:matches", "List the matches of a library, most recently seen first."),
    LazyCommand(
        "show", ".matches:show", "Show the passages of a match, those of the page and of the work side by side."
    ),
    LazyCommand("mark", ".matches:mark", "Set the status of matches: open, confirmed, dismissed or licensed."),
    LazyCommand("report", ".matches:report", "Write an HTML report of the matches by work, by host and over time."),
)
_SECTIONS = {
    "Try": (
        LazyCommand("demo", ".crawl:demo", "Show what the filter drops on two small sites."),
        LazyCommand("crawl", ".crawl:crawl", "Crawl sites politely, and write the pages that are not dropped."),
        LazyCommand("settings", ".project:print_settings", "Print all settings with their defaults and explanations."),
    ),
    "Look": (
        LazyCommand("drops", ".drops:drops", "List dropped pages, each with the kept page that it duplicates."),
        LazyCommand("why", ".why:why", "Explain why a page was kept, dropped or left unchecked."),
        LazyCommand("compare", ".compare:compare", "Compare two pages by the rules of the crawl."),
        LazyCommand("groups", ".drops:groups", "List the pages that have the same content."),
        LazyCommand("report", ".report:report", "Write a report of what the filter did, as one HTML file."),
    ),
    "Correct": (
        LazyCommand("review", ".judge:review", "Look at drops in the browser, and correct them."),
        LazyCommand("forget", ".forget:forget", "Remove kept pages from the index, as if they had not been crawled."),
        LazyCommand("restore", ".restore:restore", "Undo wrong drops, and let the next crawl request the pages again."),
        LazyCommand("keep", ".restore:keep", "Never drop a page, or the pages below an address, as a duplicate."),
        LazyCommand("separate", ".restore:separate", "Never drop one of two pages as a duplicate of the other."),
    ),
    "Measure": (
        LazyCommand("judge", ".judge:judge", "Judge random drops yourself, and estimate the precision."),
        LazyCommand("evaluate", ".evaluate:evaluate", "Measure precision and recall on labelled pairs of pages."),
    ),
    "Operate": (_INDEX, _BATCH, _LEXICON, _WORKS),
}


@click.group(
    "crawler-dedup",
    cls=Application,
    sections=_SECTIONS,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="crawler-dedup", message="%(prog)s %(version)s")
def app() -> None:
    """Drop near-duplicate pages in a crawl, see why, and look after the index.

    In a Scrapy project, the commands use its settings, its index (a record of the kept pages) and its journal (the record of
    dropped pages, in files beside the index). `crawler-dedup COMMAND --help` explains a command, with examples.
    """
