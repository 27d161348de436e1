"""The difference of two texts as a table."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.terminal import printable
from crawler_dedup.difference.text import (
    Change,
    LinePair,
    Omission,
    compare_lines,
    compare_words,
    omit_equal,
    split_lines,
)

_MAX_WIDTH = 200

_SIGNS = {Change.EQUAL: "", Change.CHANGED: "≠", Change.ONLY_NEW: "+", Change.ONLY_KEPT: "-"}
_STYLES = {Change.EQUAL: "dim", Change.CHANGED: "", Change.ONLY_NEW: "green", Change.ONLY_KEPT: "red"}


class _ReadableTable(Table):
    """A table that does not take the whole width of a file or a pipe, where lines may have any length."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return super().__rich_console__(console, options.update(max_width=min(options.max_width, _MAX_WIDTH)))


def side_by_side(new: str, kept: str, *, folded: bool) -> Table:
    """Lay out two texts, *new* on the left, *kept* on the right.

    Args:
        folded: leave out lines that are equal on both sides, except for those next to others.
    """
    table = _ReadableTable(expand=True, show_lines=False)
    table.add_column("", width=1)
    table.add_column("new", ratio=1, overflow="fold")
    table.add_column("kept", ratio=1, overflow="fold")
    lines = list(compare_lines(_printable_lines(new), _printable_lines(kept)))
    for line in omit_equal(lines) if folded else lines:
        table.add_row(*(_omission(line) if isinstance(line, Omission) else _row(line)))
    return table


def _printable_lines(text: str) -> list[str]:
    return [shown for line in split_lines(text) if (shown := printable(line))]


def _row(line: LinePair) -> tuple[Text, Text, Text]:
    style = _STYLES[line.change]
    new, kept = _changed(line) if line.change is Change.CHANGED else (Text(line.new, style), Text(line.kept, style))
    return Text(_SIGNS[line.change]), new, kept


def _changed(line: LinePair) -> tuple[Text, Text]:
    """Return the two lines with the words that differ in colour."""
    new, kept = Text(), Text()
    for words in compare_words(line.new, line.kept):
        new.append(words.new, "" if words.is_equal else "bold green")
        kept.append(words.kept, "" if words.is_equal else "bold red")
    return new, kept


def _omission(omission: Omission) -> tuple[Text, Text, Text]:
    message = f"… {omission.lines} equal line{'s' * (omission.lines > 1)} …"
    style = _STYLES[Change.EQUAL]
    return Text(""), Text(message, style), Text(message, style)
