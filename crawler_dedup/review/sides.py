"""A dropped page beside its representative, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.evaluation.answers import PageContent
from crawler_dedup.inspection.difference import Aligned, Omission, compare_lines, compare_words, omit_equal, split_lines
from crawler_dedup.signing import parsing
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.signer import Signer

MAX_ROWS = 500
"""Largest number of rows that are shown of a pair."""

Words = Sequence[tuple[str, bool]]
"""Parts of a block, each with whether the other side lacks it."""


@dataclass(frozen=True)
class Cell:
    """A block of one page: its words, and whether it is a heading or a link."""

    words: Words = ()
    kind: str = ""


@dataclass(frozen=True)
class Row:
    """Two blocks side by side, or a number of equal blocks that are left out.

    Attributes:
        state: ``equal``, ``changed``, ``new`` (only the dropped page has it), ``kept`` or ``omitted``.
    """

    state: str
    new: Cell = Cell()
    kept: Cell = Cell()
    omitted: int = 0


@dataclass(frozen=True)
class Sides:
    """Two pages side by side.

    Attributes:
        rows: at most :data:`MAX_ROWS`.
        counts: number of all rows in each state.
    """

    rows: Sequence[Row]
    counts: Mapping[str, int]


def compare_sides(new: PageContent, kept: PageContent, signer: Signer) -> Sides:
    """Compare two pages by the blocks that a reader sees, or by their main texts if only that of one is known."""
    read = _read_blocks if new.html and kept.html else partial(_read_lines, signer=signer)
    new_blocks, kept_blocks = read(new), read(kept)
    lines = list(compare_lines([text for text, _ in new_blocks], [text for text, _ in kept_blocks]))
    rows = _make_rows(omit_equal(lines), dict(new_blocks), dict(kept_blocks))
    return Sides(list(islice(rows, MAX_ROWS)), Counter(map(_state, lines)))


def _read_blocks(content: PageContent) -> list[tuple[str, str]]:
    """Return text and kind of each block."""
    try:
        blocks = read_outline(parsing.parse(content.html, None)).blocks
    except BeyondLimits as limit:
        return [(f"({limit})", "")]
    kinds = (
        (block.text, "heading" if block.level else "link" if 2 * block.linked > block.size else "") for block in blocks
    )
    return [(line, kind) for text, kind in kinds for line in split_lines(text)]


def _read_lines(content: PageContent, signer: Signer) -> list[tuple[str, str]]:
    return [(line, "") for line in split_lines(read_main_text(content, signer))]


def read_main_text(content: PageContent, signer: Signer) -> str:
    """Return the main text of a page; of a page beyond a limit, the limit in parentheses."""
    try:
        return content.text or signer.main_text(content.html)
    except BeyondLimits as limit:
        return f"({limit})"


def _state(line: Aligned) -> str:
    return "equal" if line.is_equal else "changed" if line.new and line.kept else "new" if line.new else "kept"


def _make_rows(
    lines: Iterator[Aligned | Omission], new_kinds: Mapping[str, str], kept_kinds: Mapping[str, str]
) -> Iterator[Row]:
    for line in lines:
        if isinstance(line, Omission):
            yield Row("omitted", omitted=line.lines)
            continue
        state = _state(line)
        parts = list(compare_words(line.new, line.kept)) if state == "changed" else [line]
        differs = state != "equal"
        new = [(part.new, differs and not part.is_equal) for part in parts if part.new]
        kept = [(part.kept, differs and not part.is_equal) for part in parts if part.kept]
        yield Row(state, Cell(new, new_kinds.get(line.new, "")), Cell(kept, kept_kinds.get(line.kept, "")))
