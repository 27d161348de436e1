"""Outline or tree → main text: by the blocks that are content, by trafilatura, or by a function of the user's own.

``paragraphs`` takes a text for content by how much it says and how much of it stands inside links, the two features that
tell best (Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010). Of what is
content the element is taken that holds most of it together. Names of classes and what stands around say nothing, so that
the same article in another template gives the same text.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pkgutil import resolve_name
from types import ModuleType
from typing import NamedTuple

from lxml.html import HtmlElement

from crawler_dedup.errors import ConfigError
from crawler_dedup.signing.hidden import without_hidden
from crawler_dedup.signing.outline import Block, Outline

_PARAGRAPHS = "paragraphs size>=100 links<=1/3 share>=3/5 visible<3"
_TRAFILATURA = "trafilatura comments=no tables=no"

_ENOUGH = 100
_LINK_SHARE = 1 / 3
_MAIN_SHARE = 0.6
_NOTICE = 200
_SMALL_PART = 3
_VISIBLE_LINK_SHARE = 1 / 2


class MainBlocks(NamedTuple):
    """The blocks that are the main text of a page.

    Attributes:
        blocks: in reading order. A short line with © is none of them.
        size: how much the texts say from which they are taken, in Latin letters.
        linked: how much stands inside links in the element that holds them.
    """

    blocks: list[Block]
    size: int
    linked: int


def find_main_blocks(page: Outline) -> MainBlocks:
    """Find the blocks that are the main text of *page*: none if it has no main text."""
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
    blocks = [
        block for block in page.blocks if block.group in inside and block.group in texts and not _is_notice(block)
    ]
    total_size = sum(total for group, total in texts.items() if group in inside)
    unlinked = unlinked_blocks(page)
    if blocks and sum(block.size for block in unlinked) >= _SMALL_PART * total_size:
        blocks = unlinked  # a note at the side of a thread of short posts, or of the parts of a thing for sale
    return MainBlocks(blocks, total_size, sum(linked[group] for group in inside))


def _main_element(texts: dict[int, int], parents: list[int]) -> int:
    """Return the number of the innermost element that holds three fifths of the *texts*.

    Each text is weighed by the power 3/2 of its size. The power lets one article outweigh forty comments and teasers that
    are as long together; the share keeps two articles of a page, one half as long again as the other, together.
    """
    held = [0.0] * len(parents)
    for group, total in texts.items():
        held[group] = total * sqrt(total)
    for number in range(len(parents) - 1, 0, -1):
        held[parents[number]] += held[number]
    return max(number for number, weight in enumerate(held) if weight >= _MAIN_SHARE * held[0]) if texts else 0


def unlinked_blocks(page: Outline) -> list[Block]:
    """Return the blocks that are neither mainly links nor a copyright notice: what a page with little text is known by."""
    return [
        block for block in page.blocks if block.linked <= _VISIBLE_LINK_SHARE * block.size and "©" not in block.text
    ]


def _is_notice(block: Block) -> bool:
    return "©" in block.text and block.size < _NOTICE


def join_text(blocks: Iterable[Block]) -> str:
    """Return the text of *blocks*, a line each."""
    return "\n".join(block.text for block in blocks)


def join_shown_text(blocks: Iterable[Block]) -> str:
    """Return the text of *blocks*, a line each, without what stands in hidden elements."""
    return "\n".join(block.shown for block in blocks if block.shown)


@cache
def load_trafilatura() -> ModuleType:
    """Load the library, which takes a third of a second.

    It writes the text of each page at DEBUG and a warning for each page without text, which would flood a crawl's log.
    """
    import trafilatura  # noqa: PLC0415

    log = logging.getLogger("trafilatura")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)
    return trafilatura


def extract_with_trafilatura(tree: HtmlElement) -> str:
    """Extract the main text of *tree* with trafilatura, without comments and tables; ``""`` if there is none.

    *tree* is left as it is.
    """
    return load_trafilatura().extract(tree, include_comments=False, include_tables=False) or ""


def extract_all_text(tree: HtmlElement) -> str:
    """Extract all text of *tree* with trafilatura, which takes less time than :func:`extract_with_trafilatura`."""
    return str(load_trafilatura().html2txt(tree))


@dataclass(frozen=True)
class Extractor:
    """What takes the text that pages are compared by, as ``DEDUP_EXTRACTOR`` names it.

    Attributes:
        spec: name and parameters, for the index header.
        extract: returns the text of a page, given its tree, which it leaves as it is, and the blocks that
            :func:`find_main_blocks` found.
        extract_shown: the same without what the page hides (:mod:`crawler_dedup.signing.hidden`).
    """

    spec: str
    extract: Callable[[HtmlElement, MainBlocks], str]
    extract_shown: Callable[[HtmlElement, MainBlocks], str]


def _from_tree(spec: str, extract: Callable[[HtmlElement], str]) -> Extractor:
    return Extractor(spec, lambda tree, _: extract(tree), lambda tree, _: extract(without_hidden(tree)))


_BUILT_IN = {
    "paragraphs": Extractor(
        _PARAGRAPHS,
        lambda _, main: join_text(main.blocks),
        lambda _, main: join_shown_text(main.blocks),
    ),
    "trafilatura": _from_tree(_TRAFILATURA, extract_with_trafilatura),
}


def find_extractor(name: str) -> Extractor:
    """Return the extractor *name*: ``paragraphs``, ``trafilatura`` or the import path of a function from tree to text.

    Raises:
        ConfigError: the path leads to nothing that can be called.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    try:
        extract = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"DEDUP_EXTRACTOR = {name!r} cannot be imported: {error}") from error
    if not callable(extract):
        raise ConfigError(f"DEDUP_EXTRACTOR = {name!r} is not callable.")

    def checked(tree: HtmlElement) -> str:
        text = extract(tree)
        if not isinstance(text, str):
            raise TypeError(f"DEDUP_EXTRACTOR = {name!r} returned {type(text).__name__}, not str.")
        return text

    return _from_tree(name, checked)
