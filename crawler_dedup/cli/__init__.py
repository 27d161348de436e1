"""The ``crawler-dedup`` command: parse, call, print."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

import typer
from typer.core import TyperGroup

from crawler_dedup.cli import drops, evaluate, forget, index, judge, lexicons, pages, plan, report, settings, trace, why
from crawler_dedup.cli.terminal import OUT_OF_MEMORY, report_error


class _Commands(TyperGroup):
    """The commands, of which none ends with a traceback because memory has run out."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MemoryError:
            report_error(OUT_OF_MEMORY)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=__doc__,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _any_character() -> None:
    """What the terminal cannot show is a question mark, no error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


app.command()(settings.settings)
app.command()(pages.compare)
app.command()(why.why)
app.command()(drops.drops)
app.command()(judge.judge)
app.command()(forget.forget)
app.command()(report.report)
app.command()(plan.plan)
app.command()(evaluate.evaluate)
app.command()(evaluate.calibrate)
app.command()(trace.trace)
app.add_typer(index.app, name="index")
app.add_typer(lexicons.app, name="lexicon")
