"""The blocks of a page in reading order, also where the page is inside of an element that is usually left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

from lxml.etree import XPath
from lxml.html import HtmlElement

from crawler_dedup.signing.blockreader import BlockReader
from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.hidden import SHOWN, find_shadow_hosts, roots_and_states
from crawler_dedup.signing.textblocks import Block

if TYPE_CHECKING:
    from crawler_dedup.owntext.elements import Elements

# Letters from which on a skipped element may hold the page: if it has the parts of a page, is not closed, or is all of the
# page. A text beside a list has fewer than the second number; how to enable scripts is said in fewer than the third.
_WITH_PARTS, _NOT_CLOSED, _ALL = 200, 500, 1_000
_LABEL = 20
_TEXT, _LINK_SHARE = 100, 1 / 3
_MOST_A_CHARACTER = 3  # letters (size_in_letters)
_text = XPath("normalize-space()", smart_strings=False)
_MOST_PASSES = 3


class Outline(NamedTuple):
    """The blocks of a page, and how their elements are nested.

    Attributes:
        blocks: in reading order.
        parents: number of the element around each element; 0, the root, is its own parent. Elements are numbered in reading
            order: those inside of an element follow it.
        elements: what else was noted of the elements, if it was asked for.
    """

    blocks: list[Block]
    parents: list[int]
    elements: Elements | None = None

    @property
    def linked(self) -> int:
        """Size of the text of the blocks that is inside links."""
        return sum([block.linked for block in self.blocks])

    @property
    def hides(self) -> bool:
        """Whether the page hides a block, or a part of one."""
        return any(block.shown != block.text for block in self.blocks)


def read_outline(
    tree: HtmlElement, *, revealed: bool = False, elements: Callable[[], Elements] | None = None
) -> Outline:
    """Read the blocks of *tree*, without navigation, asides, footers, scripts and comments.

    An element for navigation or the like is read all the same if its texts are longer than those outside of such elements,
    and it has the parts of a whole page, or nothing follows it: the parser puts the rest of the page into an element that
    is not closed. So is a page for readers without scripts.

    Args:
        revealed: whether what only a script or an animation uncovers counts as shown.
        elements: makes what :attr:`Outline.elements` is noted in, for own texts.

    Raises:
        BeyondLimits: elements are nested deeper than ``MAX_DEPTH``, which limits the recursion of this function.
    """
    swallowed: set[HtmlElement] = set()
    for _ in range(_MOST_PASSES):
        reader = BlockReader(find_shadow_hosts(tree), swallowed, elements and elements(), revealed=revealed)
        for root, around in roots_and_states(tree, revealed=revealed):
            reader.read_root(root, around)
        size, linked = sum([block.size for block in reader.blocks]), sum([block.linked for block in reader.blocks])
        candidates = filter(_may_hold_page, reader.skipped)
        more = [element for element in candidates if _outweighs(element, size, size - linked)]
        if not more:
            break
        swallowed.update(more)
    return Outline(reader.blocks, reader.parents, reader.elements)


def _outweighs(element: HtmlElement, outside: int, unlinked: int) -> bool:
    """Return whether the texts in *element*, which have few links, are longer than the text *outside*.

    If it has the parts of a page, they are compared with the *unlinked* part of this text only.
    """
    most = max(unlinked, _WITH_PARTS) / _MOST_A_CHARACTER
    if len(text := cast("str", _text(element))) <= most:
        return False
    if _has_parts_of_page(element):
        least = max(unlinked, _WITH_PARTS)
    else:
        least = max(outside, _ALL if element.tag == "noscript" or outside < _LABEL else _NOT_CLOSED)
    size, inner = size_in_letters(text), set[HtmlElement]()
    for link in element.iter("a") if size > least else ():  # to read the element takes many times as long
        if link not in inner and (size := size - size_in_letters(cast("str", _text(link)))) <= least:
            return False
        inner.update(link.iterdescendants("a"))
    if size <= least:
        return False
    reader = BlockReader(frozenset())
    reader.read_root(element, SHOWN)
    sizes, linked = Counter[int](), Counter[int]()
    for block in reader.blocks:
        sizes[block.group] += block.size
        linked[block.group] += block.linked
    texts = [group for group, size in sizes.items() if size >= _TEXT and linked[group] <= _LINK_SHARE * size]
    return sum([sizes[group] - linked[group] for group in texts]) > least


def _may_hold_page(element: HtmlElement) -> bool:
    """Return whether a skipped *element* is not closed, so that nothing follows it, or has the parts of a whole page.

    Nothing follows most footers, and applications have hardly any other text.
    """
    is_last = element.tag != "footer" and element.getnext() is None and not (element.tail or "").strip()
    return is_last or element.tag == "noscript" or _has_parts_of_page(element)


def _has_parts_of_page(element: HtmlElement) -> bool:
    """Return whether *element* has a first heading, and an article, a main part or a footer."""
    first_heading = next(element.iter("h1"), None)
    return first_heading is not None and next(element.iterdescendants("article", "footer", "main"), None) is not None
