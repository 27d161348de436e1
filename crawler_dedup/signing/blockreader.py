"""Tree → text blocks: what a reader sees as one paragraph, heading, cell or line of a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from lxml.etree import Comment, Entity, ProcessingInstruction
from lxml.html import HtmlElement

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.fields import FIELDS, read_field
from crawler_dedup.signing.hidden import (
    HIDING_ATTRIBUTES,
    HIDING_TAGS,
    NOT_DISPLAYED,
    SHOWN,
    Concealment,
    concealment,
    hidden_within,
    is_shadow_tree,
)
from crawler_dedup.signing.limits import MAX_DEPTH
from crawler_dedup.signing.textblocks import (
    LINK_MARK,
    Block,
    join_parts,
    leave_out,
    make_block,
    read_beside,
    read_lines,
    size_of_links,
)

if TYPE_CHECKING:
    from crawler_dedup.owntext.elements import Elements

LINE_BREAK = "\r\n"
"""The part of a block that represents ``<br>``: this very object. An equal string from elsewhere is white space."""
# Elements inside a line of text.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math mi mn mo mrow msub"
    " msup nobr q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
# Elements whose text readers do not regard as the page's own.
_SKIPPED = frozenset(
    "applet aside audio canvas datalist dialog embed footer frameset iframe menu nav noembed"
    " noframes noscript object optgroup option script style template title video".split()
)
_DRAWING = "svg"
# Elements of a drawing that contain text; its <title> is only for readers who do not see the drawing.
_WRITTEN = ("text", "tspan", "textpath", "foreignobject", "div", "p", "span")
# Elements that hold one text in many blocks: a list of forty short lines.
LISTS = frozenset(("dl", "ol", "pre", "table", "ul"))
_LINES = "pre"
_LINK, _BREAK = "a", "br"
# Such as "mailto:", "tel:" and "sms:": they lead to no page, and their text is a fact.
_CONTACT = re.compile(r"\s*+(?!https?:|javascript:)[a-z][a-z\d+.-]*+:", re.IGNORECASE)
_SAME_PAGE = re.compile(r"#|\s*+javascript:", re.IGNORECASE)
_PLACE = re.compile(r"[^#]++#[^#\d]*+\d")  # a numbered place in another page: "/tea#comment-5"
_RAISED = frozenset(("mn", "sub", "sup"))
_CODE = frozenset("code kbd samp tt var".split())
# The parts of lists and tables.
_ITEMS = frozenset(("dd", "li", "td", "th"))
_CELLS = frozenset(("td", "th"))
_ROWS = frozenset(("dt", "tr"))
# Blocks that make up one text with their neighbours in the same element.
_PARAGRAPHS = frozenset(("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "p"))
_ROOT = 0
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# All others, also unknown ones, begin and end a block. A comment has a function for a name.
_NO_BLOCKS = frozenset((*_INLINE, *FIELDS, *_SKIPPED, _DRAWING, Comment, Entity, ProcessingInstruction))
_NO_PART = _NO_BLOCKS - FIELDS  # of an item with several blocks
# Of those that do, these determine the group, the level, the row or the cell of the blocks in them.
_DETERMINING = LISTS | _ITEMS | _PARAGRAPHS | _ROWS


class BlockReader:
    """Reads a tree into blocks.

    Attributes:
        skipped: elements that are not read, and have elements in them.

    Args:
        hosts: elements whose content is not shown because of a shadow tree.
        swallowed: elements that are read, although elements of their names are skipped.
        elements: gets what is noted of elements and blocks.
        revealed: whether what only a script or an animation uncovers counts as shown.
    """

    def __init__(
        self,
        hosts: AbstractSet[HtmlElement],
        swallowed: AbstractSet[HtmlElement] = frozenset(),
        elements: Elements | None = None,
        *,
        revealed: bool = False,
    ) -> None:
        self.blocks: list[Block] = []
        self.skipped: list[HtmlElement] = []
        self.elements = elements
        # For each element that begins and ends a block, by its number:
        self.parents = [_ROOT]
        # Number of the list around it, level of the heading around it, the kind of its path, its row and its cell
        # there; 0: there is none. Whether it has lines; its group.
        self._around = [(0, 0, 0, 0, 0, False, _ROOT)]
        self._cells = Counter[int]()  # of each row
        self._labels: dict[int, int] = {}  # the last <dt> in each element

        self._hosts, self._swallowed, self._revealed = hosts, swallowed, revealed
        self._known_kinds: dict[tuple[int, str], int] = {}
        self._parts: list[str] = []
        self._link_begins: int | None = None  # where in the parts; None outside links
        self._leads_away = False  # whether a link since the last block leads to another page
        self._leads_to_place = False  # whether one leads to a numbered place in another page
        self._state = SHOWN
        self._hidden_begins = 0  # where in the parts, while they are hidden
        self._hidden: list[slice] = []  # the hidden parts that have ended
        self._links: list[slice] = []  # the parts inside links, and those that are code, since the last block
        self._code: list[slice] = []

    def read_root(self, root: HtmlElement, around: Concealment) -> None:
        """Read a whole tree; *around*: the concealment around it."""
        self._turn(concealment(root, around, revealed=self._revealed))
        self._read(root, _ROOT, MAX_DEPTH)
        self._end_block(_ROOT)
        self._turn(SHOWN)

    def _read(self, element: HtmlElement, number: int, levels: int) -> None:
        """Read the content of *element*; its last block may continue after it.

        Args:
            number: of the element around that begins and ends a block.
        """
        if levels < 1:
            raise BeyondLimits("nested too deep")
        outside = self._state
        if self._hosts and element in self._hosts:
            self._turn(NOT_DISPLAYED)
        parts, state = self._parts, self._state
        # White space before a text is not added, so that no block ends where none has begun.
        text = element.text
        if text and (parts or not text.isspace()):
            parts.append(text)
        for child in element:
            tag = child.tag
            if tag not in _NO_BLOCKS or (self._swallowed and child in self._swallowed):
                self._read_block(child, tag, number, levels)
            elif tag in _INLINE:
                self._read_inline(child, tag, number, levels)
            elif tag == _DRAWING:
                self._read_drawing(child, number)
            elif tag in FIELDS:
                self._read_field(child)
            elif tag in _SKIPPED:
                self._read_skipped(child, number, levels, outside)
            if self._state is not state:
                self._turn(state)
            tail = child.tail
            if tail and (parts or not tail.isspace()):
                parts.append(tail)

    def _read_block(self, element: HtmlElement, tag: str, parent: int, levels: int) -> None:
        parts = self._parts
        if parts:
            self._end_block(parent)
        if tag in HIDING_TAGS or not HIDING_ATTRIBUTES.isdisjoint(element.keys()):  # few do
            self._turn(concealment(element, self._state, revealed=self._revealed))
        number = self._enter(element, tag, parent)
        if len(element) or levels < 2:
            self._read(element, number, levels - 1)
        elif (text := element.text) and not text.isspace():
            parts.append(text)
        if parts:
            self._end_block(number)

    def _read_skipped(self, element: HtmlElement, number: int, levels: int, outside: Concealment) -> None:
        """Read *element* only if it is a shadow tree; *outside*: the concealment around the element that shows it."""
        if is_shadow_tree(element):
            self._turn(outside)
            self._read_block(element, element.tag, number, levels)
            return
        self._parts.append(" ")
        if len(element):
            self.skipped.append(element)

    def _read_inline(self, element: HtmlElement, tag: str, number: int, levels: int) -> None:
        parts = self._parts
        if tag in HIDING_TAGS or not HIDING_ATTRIBUTES.isdisjoint(element.keys()):
            self._turn(concealment(element, self._state, revealed=self._revealed))
        target = element.get("href") if tag == _LINK and self._link_begins is None else None
        if target is not None and not _CONTACT.match(target):
            self._link_begins = len(parts)
            self._leads_away = self._leads_away or not _SAME_PAGE.match(target)
            self._leads_to_place = self._leads_to_place or _PLACE.match(target) is not None
            self._read(element, number, levels - 1)
            self._links.append(slice(self._link_begins, len(parts)))
            self._link_begins = None
        elif tag == _BREAK:
            parts.append(LINE_BREAK)
        elif tag in _RAISED and parts and parts[-1][-1:].isdigit() and (element.text or "")[:1].isdigit():
            parts.append(" ")  # 10<sup>5</sup> is not 105
            self._read(element, number, levels - 1)
        elif tag in _CODE:
            begin = len(parts)
            self._read(element, number, levels - 1)
            self._code.append(slice(min(begin, len(parts)), len(parts)))
        elif len(element):
            self._read(element, number, levels - 1)
        elif text := element.text:
            parts.append(text)
        else:
            self._read_icon(element, number)

    def _read_icon(self, icon: HtmlElement, number: int) -> None:
        """Read the label of a picture or the like in a list or table: it may be all that a line or cell says, as "yes"."""
        if self._around[number][0] and self._link_begins is None:
            title = icon.find("title")  # of a drawing
            label = icon.get("alt") or icon.get("aria-label") or icon.get("title") or (title is not None and title.text)
            if label:
                self._parts.append(f" {label} ")

    def _read_field(self, field: HtmlElement) -> None:
        if self._state is SHOWN and concealment(field, SHOWN, revealed=self._revealed) is SHOWN:
            self._parts.append(f" {read_field(field)} ")

    def _read_drawing(self, drawing: HtmlElement, parent: int) -> None:
        """Read all text of a drawing as one block. An icon has no text, and does not end a block."""
        texts = [
            (around, text)
            for node in drawing.iter(*_WRITTEN)
            for around, text in ((node, node.text), (node.getparent(), node.tail))
            if text and not text.isspace()
        ]
        if not texts:
            self._parts.append(" ")
            self._read_icon(drawing, parent)
            return
        if self._parts:
            self._end_block(parent)
        hidden = hidden_within(drawing, self._state, revealed=self._revealed)
        for around, text in texts:
            self._turn(NOT_DISPLAYED if around in hidden else SHOWN)
            self._parts += (text, " ")
        self._end_block(self._enter(drawing, _DRAWING, parent))

    def _enter(self, element: HtmlElement, tag: str, parent: int) -> int:
        parents, known = self.parents, self._known_kinds
        number = len(parents)
        around, level, path_kind, row, cell, has_lines, _ = self._around[parent]
        parents.append(parent)
        path_kind = known.setdefault((path_kind, tag), len(known) + 1)
        if self.elements is not None:
            self.elements.add(element, tag, parent)
        if tag in _DETERMINING:
            if tag in LISTS:
                around = number
            elif around and tag in _ITEMS and _is_text_of_its_own(element):
                around = 0
            if tag in _ROWS:
                row = self._labels[parent] = number
            elif tag == "dd":
                row = self._labels.get(parent, 0)
            elif tag in _CELLS:
                self._cells[row] += 1
                cell = self._cells[row]
            level, has_lines = _HEADINGS.get(tag, level), has_lines or tag == _LINES
        group = around or (parent if tag in _PARAGRAPHS else number)
        self._around.append((around, level, path_kind, row, cell, has_lines, group))
        return number

    def _turn(self, state: Concealment) -> None:
        """Note that the parts from here on have the concealment *state*."""
        if state is self._state:
            return
        if self._state is SHOWN:
            self._hidden_begins = len(self._parts)
        elif state is SHOWN:
            self._hidden.append(slice(self._hidden_begins, len(self._parts)))
        self._state = state

    def _end_block(self, number: int) -> None:
        """Make a block, in the element *number*, of the parts since the last block."""
        parts, links, hidden, code = self._parts, self._links, self._hidden, self._code
        if self._link_begins is not None:  # the link goes on in the next block
            links.append(slice(self._link_begins, len(parts)))
            self._link_begins = 0
        if self._state is not SHOWN:
            hidden.append(slice(self._hidden_begins, len(parts)))
            self._hidden_begins = 0  # it goes on in the next block
        text = shown = join_parts(parts)
        if size := size_in_letters(text):  # 0: no text, or only characters that change no word
            _, level, path_kind, row, cell, has_lines, group = self._around[number]
            linked, beside = 0, ""
            if links:
                linked = min(size_of_links(parts, links, text, size), size)
                path_kind = path_kind if self._leads_away else 0
                beside = read_beside(parts, links, LINK_MARK * self._leads_to_place) if linked < size else ""
            if hidden:
                shown = join_parts(leave_out(parts, hidden))
            block = make_block((text, size, linked, group, shown, level, path_kind, has_lines, row, cell, (), beside))
            self.blocks.append(block._replace(lines=read_lines(block, parts, links, hidden)) if has_lines else block)
            if self.elements is not None:
                self.elements.add_block(number, parts, hidden, code, has_lines=has_lines)
        parts.clear()
        if links or hidden or code:
            for spans in (links, hidden, code):
                spans.clear()
        if self._link_begins is None:
            self._leads_away = self._leads_to_place = False


def _is_text_of_its_own(item: HtmlElement) -> bool:
    """Return whether a part of a list contains several blocks, as the cells of a layout and comments do."""
    inside = [child for child in item if child.tag not in _NO_PART]
    if len(inside) == 1 and inside[0].tag not in _PARAGRAPHS:
        return len(inside[0]) > 1
    return len(inside) > 1
