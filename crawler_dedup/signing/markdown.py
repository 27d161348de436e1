"""Blocks of a page as Markdown: headings, paragraphs, lists, quotations, tables, and code with its white space.

Text is not escaped: it is meant to be read, by people and by language models.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from crawler_dedup.signing.outline import Outline

_LISTS, _ITEMS, _CELLS = frozenset(("ol", "ul")), frozenset(("dd", "li")), frozenset(("td", "th"))
_MOST_NESTED = 6
_MOST_BLOCKS = 3  # in a cell; cells with more are those of a layout
_FENCE = re.compile("`{3,}")


class _Place(NamedTuple):
    """The place of an element: numbers of elements around it (0: there is none), and how many lists and quotations."""

    item: int = 0
    cell: int = 0
    row: int = 0
    table: int = 0
    lists: int = 0
    quotes: int = 0


class _Piece(NamedTuple):
    """A piece of Markdown. Between two pieces of lists there is no empty line."""

    text: str
    is_item: bool = False


class MarkdownWriter:
    """Writes blocks of a page that was read with elements."""

    def __init__(self, page: Outline) -> None:
        assert page.elements is not None
        self._blocks, self._parents, self._elements = page.blocks, page.parents, page.elements
        self._places = {0: _Place()}  # of elements
        self._begun: set[int] = set()  # items of lists whose first block was written
        self._counts: dict[int, int] = {}  # the items of ordered lists that were written

    def write(self, numbers: Iterable[int]) -> str:
        """Return the blocks with these *numbers*, which ascend."""
        pieces: list[_Piece] = []
        for table, group in groupby(numbers, self._table_of):
            members = list(group)
            rows = self._write_table(members) if table else ""
            pieces += [_Piece(rows)] if rows else map(self._write_block, members)
        text = ""
        for before, piece in zip([_Piece(""), *pieces], pieces, strict=False):
            text += ("\n" if before.is_item and piece.is_item else "\n\n") + piece.text
        return text.lstrip("\n")

    def _place_of(self, number: int) -> _Place:
        return self._find_place(self._elements.owners[number])

    def _find_place(self, element: int) -> _Place:
        place = self._places.get(element)
        if place is None:
            place = self._find_place(self._parents[element])
            tag = self._elements.tags[element]
            if tag in _ITEMS:
                place = place._replace(item=element)
            elif tag in _LISTS:
                place = place._replace(lists=place.lists + 1)
            elif tag in _CELLS:
                place = place._replace(cell=element, item=0, lists=0)
            elif tag == "tr":
                place = place._replace(row=element)
            elif tag == "table":
                place = place._replace(table=element, row=0, cell=0)
            elif tag == "blockquote":
                place = place._replace(quotes=place.quotes + 1)
            self._places[element] = place
        return place

    def _table_of(self, number: int) -> int:
        place = self._place_of(number)
        return place.table if place.cell and place.row else 0

    def _text_of(self, number: int) -> str:
        return self._elements.code.get(number) or self._blocks[number].shown

    def _write_block(self, number: int) -> _Piece:
        place, block = self._place_of(number), self._blocks[number]
        text = self._elements.preformatted.get(number)
        if text is not None:
            fence = "`" * (1 + max([2, *(len(run) for run in _FENCE.findall(text))]))
            text = f"{fence}\n{text}\n{fence}"
        else:
            text = "#" * block.level + " " * (block.level > 0) + self._text_of(number)
        if place.item:
            mark = self._mark_item(place.item)
            text = _indent(text, "  " * min(place.lists - 1, _MOST_NESTED) + " " * len(mark), mark)
        if place.quotes:
            text = _indent(text, "> " * min(place.quotes, _MOST_NESTED))
        return _Piece(text, is_item=place.item > 0)

    def _mark_item(self, item: int) -> str:
        """Return the mark of an item of a list before its first block, spaces before others."""
        around = self._parents[item]
        is_numbered = self._elements.tags[around] == "ol"
        if item in self._begun:
            return "   " if is_numbered else "  "
        self._begun.add(item)
        self._counts[around] = count = self._counts.get(around, 0) + 1
        return f"{count}. " if is_numbered else "- "

    def _write_table(self, numbers: Sequence[int]) -> str:
        """Return blocks in the cells of one table; ``""`` if it is a single row or column, or the layout of a page."""
        rows: dict[int, dict[int, list[str]]] = {}
        for number in numbers:
            place = self._place_of(number)
            if number in self._elements.preformatted or self._blocks[number].level or place.item:
                return ""
            cell = rows.setdefault(place.row, {}).setdefault(self._columns[place.cell], [])
            cell.append(self._text_of(number).replace("|", "\\|"))
        columns = 1 + max(map(max, rows.values()))
        if (
            len(rows) < 2
            or columns < 2
            or any(len(cell) > _MOST_BLOCKS for row in rows.values() for cell in row.values())
        ):
            return ""
        head, *others = rows.values()
        # Only the head must have all columns; to fill up each row could take quadratic time.
        lines = [_write_row(head, columns), "|" + " --- |" * columns]
        return "\n".join(lines + [_write_row(row, 1 + max(row)) for row in others])

    @cached_property
    def _columns(self) -> dict[int, int]:
        """For each cell, how many cells are before it in its row."""
        counts: Counter[int] = Counter()
        columns: dict[int, int] = {}
        for element, tag in enumerate(self._elements.tags):
            if tag in _CELLS:
                row = self._parents[element]
                columns[element] = counts[row]
                counts[row] += 1
        return columns


def _write_row(row: Mapping[int, Sequence[str]], columns: int) -> str:
    return "| " + " | ".join([" ".join(row.get(column, ())) for column in range(columns)]) + " |"


def _indent(text: str, indentation: str, mark: str = "") -> str:
    """Return *text* with *indentation* before each line; before the first line, *mark* is the end of it."""
    first = indentation[: len(indentation) - len(mark)] + mark
    return first + text.replace("\n", "\n" + indentation)
