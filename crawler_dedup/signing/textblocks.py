"""Blocks of text as a page is read: what a reader sees as one paragraph, heading, cell or line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple
from unicodedata import category

from crawler_dedup.signing.features import size_in_letters

_LINE_ENDS = ("\n", "\r")
LINK_MARK = "\0"
_LEAST_JOINED = 3
_LIST = 6  # links; fewer in one line lead to the pages beside this one, or to those above it
_NUMBERS, _SIGNS = re.compile(r"\d\D+\d"), ("Sc", "So")
_STATES = frozenset("↑↓±∓")


class Block(NamedTuple):
    """A part of a page that a reader sees as one paragraph, heading, cell or line of a list.

    Attributes:
        text: its text, with runs of white space as one space.
        size: size of the text in letters of the Latin alphabet (:func:`size_in_letters`).
        linked: how much of *size* is inside links.
        group: number of the element whose text the block is part of: the nearest list, table or preformatted text; else,
            for a paragraph or a heading, the element around it; else its own element.
        shown: the text without the parts in hidden elements (:mod:`crawler_dedup.signing.hidden`).
        level: 1 (``<h1>``) to 6 for a heading, else 0.
        path_kind: a number that is the same for all blocks whose elements have the same names, up to the root: the titles
            of a list, the cells of a table. 0 if the block has links and all of them lead to places in the same page.
        is_preformatted: whether it has lines.
        row: number of the row of a table, or of the label in a list of labels with values, that it belongs to; 0: none.
        cell: number of the cell in that row, counted from 1; 0: none.
        lines: the lines of a preformatted text, by which it is compared. The main text is found without them.
        beside: the text beside its links, if it has words or a value. If a link leads to a numbered place in another page,
            such as a comment, :data:`LINK_MARK` represents each link.
    """

    text: str
    size: int
    linked: int
    group: int
    shown: str
    level: int = 0
    path_kind: int = 0
    is_preformatted: bool = False
    row: int = 0
    cell: int = 0
    lines: tuple[Block, ...] = ()
    beside: str = ""


# The same as Block._make, without calling a function in Python for each block.
make_block = partial(tuple.__new__, Block)


def size_of_links(parts: list[str], links: list[slice], text: str, size: int) -> int:
    """Return how much of a *text* of *parts*, which has the *size*, is in *links*.

    What separates the links of a list that is written in one line, or with ``<br>``, counts as part of them.
    """
    if len(links) == 1 and join_parts(parts[links[0]]) == text:
        return size
    texts = [text for link in links if (text := join_parts(parts[link]))]
    if len(texts) >= _LIST and not any(sign.isalnum() or _is_value(sign) for sign in "".join(leave_out(parts, links))):
        return size
    return sum(map(size_in_letters, texts))


def read_beside(parts: list[str], links: list[slice], mark: str = "") -> str:
    """Return the text beside *links*, with *mark* for each; ``""`` if it is only a number ("1.", "(12)") and punctuation."""
    beside = join_parts(leave_out(parts, links, mark))
    says_more = _NUMBERS.search(beside) or any(sign.isalpha() or _is_value(sign) for sign in beside)
    return beside if says_more else ""


def find_joined(lines: Iterable[Block]) -> frozenset[int]:
    """Return the identities of lines whose links are joined by the same words as those of the lines beside them.

    In a list of the latest comments, each line is "NAME on TITLE". One of the links leads to the comment: a cast has
    lines of the same form, but belongs to its page.
    """
    runs = groupby(lines, attrgetter("beside", "path_kind"))
    joined = ([*map(id, run)] for (beside, path_kind), run in runs if path_kind and beside.count(LINK_MARK) > 1)
    return frozenset(chain.from_iterable(run for run in joined if len(run) >= _LEAST_JOINED))


def _is_value(sign: str) -> bool:
    """Return whether *sign* says something alone: €, ✓, ★, ↑, ½, ①."""
    return sign in _STATES or category(sign) in _SIGNS or (sign.isnumeric() and not sign.isdecimal())


def read_lines(block: Block, parts: list[str], links: list[slice], hidden: list[slice]) -> tuple[Block, ...]:
    """Return the lines of a *block* of preformatted text, which was made of *parts*, as blocks; none if it is one line."""
    if not (links or hidden):
        texts = [text for line in "".join(parts).replace("\r", "\n").split("\n") if (text := " ".join(line.split()))]
        sizes = map(size_in_letters, texts) if len(texts) > 1 else ()
        return tuple(
            [block._replace(text=text, size=size, shown=text) for text, size in zip(texts, sizes, strict=False) if size]
        )
    in_links, in_hidden = (
        frozenset(chain.from_iterable(range(*span.indices(len(parts))) for span in spans)) for spans in (links, hidden)
    )
    lines: list[list[tuple[str, bool, bool]]] = [[]]
    for at, part in enumerate(parts):
        for piece in part.splitlines(keepends=True):
            lines[-1].append((piece, at in in_links, at in in_hidden))
            if piece.endswith(_LINE_ENDS):
                lines.append([])
    return tuple(line for line in (_read_line(block, pieces) for pieces in lines) if line.size)


def _read_line(block: Block, pieces: list[tuple[str, bool, bool]]) -> Block:
    """Return a line of a preformatted *block* as a block, given its pieces, and whether each is in a link, and hidden."""
    parts = [piece for piece, *_ in pieces]
    links = [slice(at, at + 1) for at, (_, is_linked, _) in enumerate(pieces) if is_linked]
    hidden = [slice(at, at + 1) for at, (*_, is_hidden) in enumerate(pieces) if is_hidden]
    text, shown = join_parts(parts), join_parts(leave_out(parts, hidden))
    size = size_in_letters(text)
    linked = min(size_of_links(parts, links, text, size), size)
    return block._replace(text=text, size=size, linked=linked, shown=shown, beside=read_beside(parts, links))


def join_parts(parts: Iterable[str]) -> str:
    """Return *parts* as a text with runs of white space as one space."""
    return " ".join("".join(parts).split())


def leave_out(parts: list[str], spans: Iterable[slice], mark: str = "") -> list[str]:
    """Return the *parts* that are not in *spans*, which follow each other, with a *mark* for each span."""
    left: list[str] = []
    begin = 0
    for span in spans:
        left += (*parts[begin : span.start], mark)
        begin = span.stop
    return left + parts[begin:]
