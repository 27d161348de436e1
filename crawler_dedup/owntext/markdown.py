"""Blocks of a page as Markdown: headings, paragraphs, lists, quotations, tables, and code with its white space.

Text is not escaped: it is meant to be read, by people and by language models.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from crawler_dedup.owntext.elements import Elements
from crawler_dedup.signing.outline import Outline

_LISTS, _ITEMS, _CELLS = frozenset(("ol", "ul")), frozenset(("dd", "li")), frozenset(("td", "th"))
_MOST_NESTED = 6
_MOST_BLOCKS = 3  # in a cell; cells with more are those of a layout
_FENCE = re.compile("`{3,}")


class _Place(NamedTuple):
    """The place of an element: numbers of elements around it, and of its column (0: there is none), and how deep it is."""

    item: int = 0
    column: int = 0
    row: int = 0
    table: int = 0
    lists: int = 0
    quotes: int = 0


def write_markdown(page: Outline, elements: Elements, numbers: Iterable[int]) -> str:
    """Return the blocks of a page with these *numbers*, which ascend."""
    writer = _Writer(page, elements)
    pieces = [("", False)]
    for table, group in groupby(numbers, writer.table_of):
        members = list(group)
        rows = writer.write_table(members) if table else ""
        pieces += [(rows, False)] if rows else map(writer.write_block, members)
    texts = [("\n" if before and is_item else "\n\n") + text for (_, before), (text, is_item) in pairwise(pieces)]
    return "".join(texts).lstrip("\n")


def _find_places(parents: Sequence[int], tags: Sequence[str]) -> list[_Place]:
    places, cells = [_Place()], Counter[int]()
    for number in range(1, len(parents)):
        around, tag = parents[number], tags[number]
        place = places[around]
        if tag in _ITEMS:
            place = place._replace(item=number)
        elif tag in _LISTS:
            place = place._replace(lists=place.lists + 1)
        elif tag in _CELLS:
            cells[around] += 1
            place = place._replace(column=cells[around], item=0, lists=0)
        elif tag == "tr":
            place = place._replace(row=number)
        elif tag == "table":
            place = place._replace(table=number, row=0, column=0)
        elif tag == "blockquote":
            place = place._replace(quotes=place.quotes + 1)
        places.append(place)
    return places


class _Writer:
    """Writes blocks of one page, and counts the items of its lists."""

    def __init__(self, page: Outline, elements: Elements) -> None:
        self._blocks, self._parents, self._elements = page.blocks, page.parents, elements
        places = _find_places(page.parents, elements.tags)
        self._places = [places[owner] for owner in elements.owners]  # of the blocks
        self._begun: set[int] = set()  # items of lists whose first block was written
        self._counts = Counter[int]()  # the items of ordered lists that were written

    def table_of(self, number: int) -> int:
        """Return the number of the table around a block; 0 if it is in no cell."""
        place = self._places[number]
        return place.table if place.column and place.row else 0

    def write_block(self, number: int) -> tuple[str, bool]:
        """Return a block that is in no table as Markdown, and whether it is in a list.

        Between two blocks in a list there is no empty line.
        """
        place, level = self._places[number], self._blocks[number].level
        text = self._text_of(number)
        if self._blocks[number].is_preformatted:
            fence = "`" * (1 + max([2, *map(len, _FENCE.findall(text))]))
            text = f"{fence}\n{text}\n{fence}"
        elif level:
            text = "#" * level + " " + " ".join(text.split())
        if place.item:
            mark = self._mark_item(place.item)
            text = _indent(text, "  " * min(place.lists - 1, _MOST_NESTED) + " " * len(mark), mark)
        if place.quotes:
            text = _indent(text, "> " * min(place.quotes, _MOST_NESTED))
        return text, place.item > 0

    def write_table(self, numbers: Sequence[int]) -> str:
        """Write blocks in the cells of one table; ``""`` if it is a single row or column, or the layout of a page."""
        rows: dict[int, dict[int, list[str]]] = {}
        for number in numbers:
            place = self._places[number]
            if self._blocks[number].is_preformatted or self._blocks[number].level or place.item:
                return ""
            cell = rows.setdefault(place.row, {}).setdefault(place.column, [])
            cell.append(" ".join(self._text_of(number).split()).replace("|", "\\|"))
        columns = max(map(max, rows.values()))
        most = max(len(cell) for row in rows.values() for cell in row.values())
        if min(len(rows), columns) < 2 or most > _MOST_BLOCKS:
            return ""
        head, *others = rows.values()
        # Only the head must have all columns; to fill up each row could take quadratic time.
        lines = [_write_row(head, columns), "|" + " --- |" * columns]
        return "\n".join(lines + [_write_row(row, max(row)) for row in others])

    def _text_of(self, number: int) -> str:
        return self._elements.code.get(number) or self._elements.lines.get(number) or self._blocks[number].shown

    def _mark_item(self, item: int) -> str:
        """Return the mark of an item of a list before its first block, spaces before others."""
        around = self._parents[item]
        is_numbered = self._elements.tags[around] == "ol"
        if item in self._begun:
            return "   " if is_numbered else "  "
        self._begun.add(item)
        self._counts[around] += 1
        return f"{self._counts[around]}. " if is_numbered else "- "


def _write_row(row: Mapping[int, Sequence[str]], columns: int) -> str:
    return "| " + " | ".join([" ".join(row.get(column, ())) for column in range(1, columns + 1)]) + " |"


def _indent(text: str, indentation: str, mark: str = "") -> str:
    """Return *text* with *indentation* before each line; before the first line, *mark* is the end of it."""
    first = indentation[: len(indentation) - len(mark)] + mark
    return first + text.replace("\n", "\n" + indentation)
