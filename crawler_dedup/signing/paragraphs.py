"""Outline → the text made for comparing.

A text is taken for content by how much it says and how much of it stands inside links, the two features that tell best
(Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010). Of what is content
the element is taken that holds most of it together. Names of classes and what stands around say nothing, so that the
same article in another template gives the same text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

from crawler_dedup.signing.outline import Block, Outline

EXTRACTOR = "paragraphs size>=100 links<=1/3 share>=3/5 visible<3"

_ENOUGH = 100
_LINK_SHARE = 1 / 3
_MAIN_SHARE = 0.6
_NOTICE = 200
_SMALL_PART = 3
_VISIBLE_LINK_SHARE = 1 / 2


class MainText(NamedTuple):
    """The main text of a page.

    Attributes:
        blocks: those that it consists of, in reading order. A short line with © is none.
        size: how much the texts say from which they are taken, in Latin letters.
        linked: how much stands inside links in the element that holds them.
    """

    blocks: list[Block]
    size: int
    linked: int


def paragraphs(page: Outline) -> MainText:
    """The main text of *page*; without blocks if it has none."""
    size: Counter[int] = Counter()
    linked: Counter[int] = Counter()
    for block in page.blocks:
        size[block.group] += block.size
        linked[block.group] += block.linked
    texts = {group: total for group, total in size.items() if total >= _ENOUGH and linked[group] <= _LINK_SHARE * total}
    main = _main_element(texts, page.parents)
    within = [number == main for number in range(len(page.parents))]
    for number, parent in enumerate(page.parents):  # a parent comes first
        within[number] = within[number] or (number > main and within[parent])
    inside = {group for group in size if within[group]}
    found = [block for block in page.blocks if block.group in inside and block.group in texts and not _is_notice(block)]
    said = sum(total for group, total in texts.items() if group in inside)
    shown = visible(page)
    if found and sum(block.size for block in shown) >= _SMALL_PART * said:
        found = shown  # a note at the side of a thread of short posts, or of the parts of a thing for sale
    return MainText(found, said, sum(linked[group] for group in inside))


def _main_element(texts: dict[int, int], parents: list[int]) -> int:
    """The innermost element that holds three fifths of the *texts*, each weighed by the power 3/2 of its size.

    The power lets one article outweigh forty comments and teasers that are as long together; the share keeps two
    articles of a page, one half as long again as the other, together.
    """
    held = [0.0] * len(parents)
    for group, total in texts.items():
        held[group] = total * sqrt(total)
    for number in range(len(parents) - 1, 0, -1):
        held[parents[number]] += held[number]
    return max(number for number, weight in enumerate(held) if weight >= _MAIN_SHARE * held[0]) if texts else 0


def visible(page: Outline) -> list[Block]:
    """The blocks that are not mainly links: all that a page with little text can be told by."""
    return [
        block for block in page.blocks if block.linked <= _VISIBLE_LINK_SHARE * block.size and "©" not in block.text
    ]


def _is_notice(block: Block) -> bool:
    return "©" in block.text and block.size < _NOTICE


def text_of(blocks: Iterable[Block]) -> str:
    """Their text, a line each."""
    return "\n".join(block.text for block in blocks)


def shown_text_of(blocks: Iterable[Block]) -> str:
    """As :func:`text_of`, without what stands in hidden elements."""
    return "\n".join(block.shown for block in blocks if block.shown)
