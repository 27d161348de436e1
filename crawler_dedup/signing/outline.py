"""Tree → text blocks: what a reader sees as one paragraph, heading, cell or line of a list."""

from __future__ import annotations

from typing import NamedTuple

from lxml.html import HtmlElement

from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.hidden import SHOWN, Concealment, concealment, roots_and_states
from crawler_dedup.signing.parsing import BeyondLimits

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
# Their parts.
_ITEMS = frozenset(("dd", "li", "td", "th"))
# Blocks that make up one text with their neighbours in the same element.
_PARAGRAPHS = frozenset(("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "p"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


class Block(NamedTuple):
    """What a reader sees as one paragraph, heading, cell or line of a list.

    Attributes:
        text: what it says, runs of white space as one space.
        size: how much that is, in letters of the Latin alphabet (:func:`size_of`).
        linked: how much of *size* stands inside links.
        group: number of the element whose text it is part of: the nearest list, table or preformatted text, else the
            one whose paragraphs and headings stand side by side, else its own.
        shown: the text without what stands in hidden elements (:mod:`crawler_dedup.signing.hidden`).
        level: of a heading 1 (``<h1>``) to 6, else 0.
    """

    text: str
    size: int
    linked: int
    group: int
    shown: str
    level: int = 0


class Outline(NamedTuple):
    """The blocks of a page, and how their elements are nested.

    Attributes:
        blocks: in reading order.
        parents: number of the element around each element; 0, the root, is its own. A parent's number is smaller.
    """

    blocks: list[Block]
    parents: list[int]


def read_outline(tree: HtmlElement, max_depth: int = 250) -> Outline:
    """Read the blocks of *tree*, less navigation, asides, footers, fields of forms, scripts and comments.

    Raises:
        BeyondLimits: elements are nested deeper than *max_depth*, as deep as this function calls itself.
    """
    reader = _Reader()
    for root, around in roots_and_states(tree):
        reader.turn(concealment(root, around))
        reader.read(root, _ROOT, max_depth)
        reader.end_block(_ROOT)
        reader.turn(SHOWN)
    return Outline(reader.blocks, reader.parents)


class _Context(NamedTuple):
    """Where a text stands: numbers of its element, its group, and the list around it (0: none); the level of its heading."""

    element: int
    group: int
    around: int
    level: int


_ROOT = _Context(0, 0, 0, 0)


class _Reader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.parents = [0]
        self._parts: list[str] = []
        self._linked = 0
        self._link_begins: int | None = None  # where in the parts; None outside links
        self._state = SHOWN
        self._hidden_begins = 0  # where in the parts, while they are hidden
        self._hidden: list[slice] = []  # those parts, of what was hidden and is no more

    def read(self, element: HtmlElement, context: _Context, levels: int) -> None:
        """Take in what stands in *element*; its last block may still go on behind it."""
        if levels < 1:
            raise BeyondLimits("nested too deep")
        parts, state = self._parts, self._state
        # White space before a text is not taken in, so that no block ends where none has begun.
        text = element.text
        if text and (parts or not text.isspace()):
            parts.append(text)
        for child in element:
            tag = child.tag
            if tag in _INLINE:
                if (names := child.keys()) and ("hidden" in names or "style" in names):  # most have neither
                    self.turn(concealment(child, state))
                self._read_inline(child, tag, context, levels)
            elif tag in _SKIPPED:
                parts.append(" ")
            elif isinstance(tag, str):  # a comment's tag is a function
                if parts:
                    self.end_block(context)
                if (names := child.keys()) and ("hidden" in names or "style" in names):  # most have neither
                    self.turn(concealment(child, state))
                inside = self._enter(child, tag, context)
                self.read(child, inside, levels - 1)
                if parts:
                    self.end_block(inside)
            if self._state is not state:
                self.turn(state)
            tail = child.tail
            if tail and (parts or not tail.isspace()):
                parts.append(tail)

    def _read_inline(self, element: HtmlElement, tag: str, context: _Context, levels: int) -> None:
        if tag == "a" and self._link_begins is None and element.get("href") is not None:
            self._link_begins = len(self._parts)
            self.read(element, context, levels - 1)
            self._end_link()
            self._link_begins = None
        elif tag == "br":
            self._parts.append(" ")
        elif len(element):
            self.read(element, context, levels - 1)
        else:
            self._parts.append(element.text or "")

    def _enter(self, element: HtmlElement, tag: str, context: _Context) -> _Context:
        number = len(self.parents)
        self.parents.append(context.element)
        around = number if tag in _LISTS else context.around
        if around and tag in _ITEMS and _is_text_of_its_own(element):
            around = 0
        group = around or (context.element if tag in _PARAGRAPHS else number)
        return _Context(number, group, around, _HEADINGS.get(tag, context.level))

    def turn(self, state: Concealment) -> None:
        """What is taken in from here on is shown, or not."""
        if state is self._state:
            return
        if self._state is SHOWN:
            self._hidden_begins = len(self._parts)
        elif state is SHOWN:
            self._hidden.append(slice(self._hidden_begins, len(self._parts)))
        self._state = state

    def _end_link(self) -> None:
        self._linked += size_in_letters(" ".join("".join(self._parts[self._link_begins :]).split()))

    def end_block(self, context: _Context) -> None:
        """What was taken in since the last block is one, in *context*."""
        if self._link_begins is not None:  # the link goes on in the next block
            self._end_link()
            self._link_begins = 0
        text = " ".join("".join(self._parts).split())
        shown = self._shown() if self._hidden or self._state is not SHOWN else text
        self._parts.clear()
        linked, self._linked = self._linked, 0
        if text:
            size = size_in_letters(text)
            self.blocks.append(Block(text, size, min(linked, size), context.group, shown, context.level))

    def _shown(self) -> str:
        """What was taken in since the last block and is not hidden."""
        if self._state is not SHOWN:
            self._hidden.append(slice(self._hidden_begins, len(self._parts)))
            self._hidden_begins = 0  # it goes on in the next block
        parts: list[str] = []
        begin = 0
        for hidden in self._hidden:
            parts += self._parts[begin : hidden.start]
            begin = hidden.stop
        parts += self._parts[begin:]
        self._hidden.clear()
        return " ".join("".join(parts).split())


def _is_text_of_its_own(item: HtmlElement) -> bool:
    """Whether a part of a list holds several blocks, as the cells of a layout do, and comments."""
    inside = [
        child for child in item if isinstance(child.tag, str) and child.tag not in _INLINE and child.tag not in _SKIPPED
    ]
    if len(inside) == 1 and inside[0].tag not in _PARAGRAPHS:
        return len(inside[0]) > 1
    return len(inside) > 1
