"""Tree → text blocks: what a reader sees as one paragraph, heading, cell or line of a list."""

from __future__ import annotations

import re
from typing import NamedTuple

from lxml.html import HtmlElement

from crawler_dedup.maintext import BeyondLimits

# Elements that stand inside a line of text. Everything else, unknown elements too, begins and ends a block.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math mi mn mo mrow msub"
    " msup nobr q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
# Elements whose text no reader takes for the page's own.
_SKIPPED = frozenset(
    "applet aside audio button canvas datalist dialog embed footer frameset iframe input menu meter nav noembed"
    " noframes noscript object optgroup option progress script select style svg template textarea title video".split()
)
# Elements that hold one text in many blocks: a list of forty short lines.
_LISTS = frozenset(("dl", "ol", "pre", "table", "ul"))
# Blocks that make up one text with their neighbours in the same element.
_PARAGRAPHS = frozenset(("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "p"))

_WIDE = re.compile("[\u0e01-\u0fff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u9fff\uac00-\ud7a3\uf900-\ufaff]")


class Block(NamedTuple):
    """One block.

    Attributes:
        text: what it says, runs of white space as one space.
        size: how much that is, in letters of the Latin alphabet (:func:`size_of`).
        linked: how much of *size* stands inside links.
        group: number of the element whose text it is part of: the nearest list, table or preformatted text, else the
            one whose paragraphs and headings stand side by side, else its own.
    """

    text: str
    size: int
    linked: int
    group: int


def size_of(text: str) -> int:
    """How much *text* says, in letters of the Latin alphabet: a character of a script that says more with each (Han,
    kana, Hangul, Thai) counts as three."""
    return len(text) if text.isascii() else len(text) + 2 * len(_WIDE.findall(text))


class Outline(NamedTuple):
    """The blocks of a page, and how their elements are nested.

    Attributes:
        blocks: in reading order.
        parents: number of the element around each element; 0, the root, is its own. A parent's number is smaller.
    """

    blocks: list[Block]
    parents: list[int]


def outline(tree: HtmlElement, max_depth: int = 250) -> Outline:
    """What *tree* shows, less navigation, asides, footers, fields of forms, scripts and comments.

    Raises:
        BeyondLimits: elements are nested deeper than *max_depth*, as deep as this function calls itself.
    """
    reader = _Reader()
    reader.read(tree, _Place(0, 0, 0), False, max_depth)
    reader.end_block(0, False)  # what stands behind the last element
    return Outline(reader.blocks, reader.parents)


class _Place(NamedTuple):
    """Where a text stands: number of its element, its group, and the list around it (0: none)."""

    element: int
    group: int
    around: int


class _Reader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.parents = [0]
        self._parts: list[str] = []
        self._linked = 0

    def read(self, element: HtmlElement, place: _Place, in_link: bool, levels: int) -> None:
        """Take in what stands in *element*; its last block may still go on behind it."""
        if levels < 0:
            raise BeyondLimits("nested too deep")
        parts = self._parts
        if element.text:
            parts.append(element.text)
        for child in element:
            tag = child.tag
            if tag in _INLINE:
                if tag == "a" and not in_link and child.get("href") is not None:
                    self._read_link(child, place, levels)
                elif tag == "br":
                    parts.append(" ")
                elif len(child):
                    self.read(child, place, in_link, levels - 1)
                else:
                    parts.append(child.text or "")
            elif tag in _SKIPPED or not isinstance(tag, str):  # a comment's tag is a function
                parts.append(" ")
            else:
                if parts:
                    self.end_block(place.group, in_link)
                inside = self._enter(tag, place)
                self.read(child, inside, in_link, levels - 1)
                if parts:
                    self.end_block(inside.group, in_link)
            if child.tail:
                parts.append(child.tail)

    def _enter(self, tag: str, place: _Place) -> _Place:
        number = len(self.parents)
        self.parents.append(place.element)
        around = number if tag in _LISTS else place.around
        return _Place(number, around or (place.element if tag in _PARAGRAPHS else number), around)

    def _read_link(self, anchor: HtmlElement, place: _Place, levels: int) -> None:
        if not len(anchor):
            if anchor.text:
                self._parts.append(anchor.text)
                self._linked += size_of(" ".join(anchor.text.split()))
            return
        before, ended = len(self._parts), len(self.blocks)
        self.read(anchor, place, True, levels - 1)
        if len(self.blocks) != ended:  # it holds blocks of its own; what is left belongs to the last
            before = 0
        self._linked += size_of(" ".join("".join(self._parts[before:]).split()))

    def end_block(self, group: int, in_link: bool) -> None:
        """What was taken in since the last block is one."""
        text = " ".join("".join(self._parts).split())
        self._parts.clear()
        linked, self._linked = self._linked, 0
        if text:
            size = size_of(text)
            self.blocks.append(Block(text, size, size if in_link else min(linked, size), group))
