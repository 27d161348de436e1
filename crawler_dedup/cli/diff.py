"""The difference of two texts as a table."""

from __future__ import annotations

from rich.box import MINIMAL
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.terminal import printable
from crawler_dedup.inspection.difference import Aligned, Omission, compare_lines, compare_words, omit_equal, split_lines

_MAX_WIDTH = 200  # in a file or a pipe, where lines may have any length


def print_side_by_side(
    console: Console, new: str, kept: str, *, folded: bool, titles: tuple[str, str] = ("new", "kept"), context: int = 1
) -> None:
    """Print two texts as :func:`side_by_side` lays them out, in colour if *console* has colours.

    If both texts are empty, a message is printed instead.
    """
    if not (new.strip() or kept.strip()):
        console.print(
            "Neither page has a main text; pages that only list links have none.",
            soft_wrap=True,
        )
        return
    in_colour = console.color_system is not None and not console.no_color
    table = side_by_side(new, kept, folded=folded, in_colour=in_colour, titles=titles, context=context)
    console.print(table, width=min(console.width, _MAX_WIDTH))


def side_by_side(
    new: str,
    kept: str,
    *,
    folded: bool,
    in_colour: bool = True,
    titles: tuple[str, str] = ("new", "kept"),
    context: int = 1,
) -> Table:
    """Lay out two texts, *new* on the left, *kept* on the right.

    Args:
        folded: leave out lines that are equal on both sides.
        in_colour: print the words that differ in colour; else between ``{+`` and ``+}`` on the left, ``[-`` and ``-]`` on
            the right.
        titles: the headings of the two columns.
        context: how many equal lines before and after a line that differs are not left out.
    """
    table = Table(box=MINIMAL, expand=True, show_edge=False, pad_edge=False)
    table.add_column("", width=1)
    for title in titles:
        table.add_column(Text(printable(title)), ratio=1, overflow="fold")
    lines = list(compare_lines(_printable_lines(new), _printable_lines(kept)))
    for line in omit_equal(lines, context) if folded else lines:
        table.add_row(*(_omission(line) if isinstance(line, Omission) else _row(line, in_colour)))
    return table


def _printable_lines(text: str) -> list[str]:
    return [shown for line in split_lines(text) if (shown := printable(line))]


def _row(line: Aligned, in_colour: bool) -> tuple[Text, Text, Text]:
    if line.is_equal:
        return Text(""), Text(line.new, "dim"), Text(line.kept, "dim")
    if not line.kept:
        return Text("+"), Text(line.new, "green"), Text("")
    if not line.new:
        return Text("-"), Text(""), Text(line.kept, "red")
    return Text("≠"), *_changed(line, in_colour)


def _changed(line: Aligned, in_colour: bool) -> tuple[Text, Text]:
    """Return two lines in which the words that differ are coloured, or between brackets."""
    new, kept = Text(), Text()
    for words in compare_words(line.new, line.kept):
        if words.is_equal:
            new.append(words.new)
            kept.append(words.kept)
        elif in_colour:
            new.append(words.new, "bold green")
            kept.append(words.kept, "bold red")
        else:
            new.append(_enclose("{+", words.new, "+}"))
            kept.append(_enclose("[-", words.kept, "-]"))
    return new, kept


def _enclose(opening: str, words: str, closing: str) -> str:
    inner = words.rstrip()
    return f"{opening}{inner}{closing}{words[len(inner) :]}" if inner else words


def _omission(omission: Omission) -> tuple[Text, Text, Text]:
    message = f"… {omission.lines} equal line{'s' * (omission.lines > 1)} …"
    return Text(""), Text(message, "dim"), Text(message, "dim")
