"""The ``crawler-dedup`` command: parse, call, print."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import ClassVar

import typer

from crawler_dedup.cli.lazy import LazyCommand, LazyGroup


class _Commands(LazyGroup):
    """All commands, with the first paragraphs of their help."""

    lazy_commands: ClassVar = {
        "settings": LazyCommand(
            "crawler_dedup.cli.settings:settings",
            "Print every DEDUP_* setting with default, allowed values and explanation (Markdown).",
        ),
        "compare": LazyCommand(
            "crawler_dedup.cli.compare:compare",
            "Say whether NEW would be dropped because KEPT is kept, and which rule decides.",
        ),
        "why": LazyCommand(
            "crawler_dedup.cli.why:why",
            "Say whether a page was kept, dropped or not checked; when, by which rule, and because of which other page.",
        ),
        "drops": LazyCommand(
            "crawler_dedup.cli.drops:drops",
            "List the pages that were dropped, or that were marked and passed: each with the page that stands for it,"
            " and why.",
        ),
        "judge": LazyCommand(
            "crawler_dedup.cli.judge:judge",
            "Show drops one by one, ask whether each is right, and say how often they are: the precision, with its"
            " interval.",
        ),
        "forget": LazyCommand(
            "crawler_dedup.cli.forget:forget",
            "Forget pages: they stand for nothing any more, and are new when they come again. What is given must all hold.",
        ),
        "report": LazyCommand(
            "crawler_dedup.cli.report:report",
            "Show what the filter did: totals, hosts, rules, largest groups, how near the limits, as one HTML file.",
        ),
        "plan": LazyCommand(
            "crawler_dedup.cli.plan:plan",
            "Print what each design of permuted tables costs for a number of pages.",
        ),
        "evaluate": LazyCommand(
            "crawler_dedup.cli.evaluate:evaluate",
            "Say how often the filter is right about labelled pairs of pages.",
        ),
        "calibrate": LazyCommand(
            "crawler_dedup.cli.calibrate:calibrate",
            "Find the thresholds that find most duplicates at a wanted precision, and print them as settings.",
        ),
        "trace": LazyCommand(
            "crawler_dedup.cli.trace:trace",
            "Say which kept pages a text shares passages with, and how much: where it was copied from.",
        ),
        "index": LazyCommand("crawler_dedup.cli.index:app", "Look after an index."),
        "lexicon": LazyCommand(
            "crawler_dedup.cli.lexicon:app",
            "Counts of a collection, for the schemes that weigh words by them.",
        ),
    }


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=__doc__,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _replace_unencodable() -> None:
    """Print a question mark for each character that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
