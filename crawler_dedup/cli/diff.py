"""Two texts side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest

from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.terminal import printable

_CONTEXT = 1
_MOST_COMPARED = 1_000_000
"""Lines times lines, or words times words: beyond, difflib takes seconds."""
_STYLES = {"=": "dim", "≠": "", "+": "green", "-": "red"}
_PIECES = re.compile(r"[a-zA-Z0-9À-ɏ]+\s*|.\s*")

Line = tuple[str, str, str]
"""What is to be said of two lines (equal, changed, only new, only kept), and the two."""


def side_by_side(new: str, kept: str, *, folded: bool) -> Table:
    """*new* on the left, *kept* on the right.

    Args:
        folded: lines that are equal on both sides are left out, but for those beside others.
    """
    table = Table(expand=True, show_lines=False)
    table.add_column("", width=1)
    table.add_column("new", ratio=1, overflow="fold")
    table.add_column("kept", ratio=1, overflow="fold")
    lines = list(_lines(new, kept))
    for sign, left, right in _folded(lines) if folded else lines:
        marked = _marked(left, right) if sign == "≠" else (Text(left, _STYLES[sign]), Text(right, _STYLES[sign]))
        table.add_row(Text("" if sign == "=" else sign), *marked)
    return table


def _lines(new: str, kept: str) -> Iterator[Line]:
    left, right = (
        [shown for line in text.splitlines() if (shown := printable(" ".join(line.split())))] for text in (new, kept)
    )
    for equal, i1, i2, j1, j2 in _changes(left, right):
        if equal:
            yield from (("=", line, line) for line in left[i1:i2])
            continue
        for one, other in zip_longest(left[i1:i2], right[j1:j2]):
            yield "+" if other is None else "-" if one is None else "≠", one or "", other or ""


def _changes(left: list[str], right: list[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    if len(left) * len(right) > _MOST_COMPARED:
        yield False, 0, len(left), 0, len(right)
        return
    # What makes up more than a hundredth of a long text begins no match (autojunk): else this takes cubic time.
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right).get_opcodes():
        yield tag == "equal", i1, i2, j1, j2


def _folded(lines: list[Line]) -> Iterator[Line]:
    shown = {
        near
        for number, line in enumerate(lines)
        if line[0] != "="
        for near in range(number - _CONTEXT, number + _CONTEXT + 1)
    }
    left_out = 0
    for number, line in enumerate([*lines, None]):
        if line is not None and number not in shown:
            left_out += 1
            continue
        if left_out:
            said = f"… {left_out} equal line{'s' * (left_out > 1)} …"
            yield "=", said, said
            left_out = 0
        if line is not None:
            yield line


def _marked(left: str, right: str) -> tuple[Text, Text]:
    """Two lines that differ, with what differs in them in colour."""
    pieces = _PIECES.findall(left), _PIECES.findall(right)
    marked = Text(), Text()
    for equal, i1, i2, j1, j2 in _changes(*pieces):
        marked[0].append("".join(pieces[0][i1:i2]), "" if equal else "bold green")
        marked[1].append("".join(pieces[1][j1:j2]), "" if equal else "bold red")
    return marked
