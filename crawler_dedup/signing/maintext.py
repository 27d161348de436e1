"""Outline → main text: the blocks that are content.

Whether a text is content depends on its size and on how much of it is inside links, the two most significant features
(Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010). Short blocks and links
are content if they make up a series, as the titles of a list do. The main text is the content in the element that has most
of it, or around it if the element is in the middle of a text, and in those beside it that continue it. Names of classes and
the surroundings are ignored, so that the same article in another template gives the same text.
Among several texts, those with the words of the title count for more (Cao et al. 2009, the scheme ``ddw``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from collections.abc import Set as AbstractSet
from itertools import chain
from math import sqrt
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from lxml.html import HtmlElement

from crawler_dedup.signing.continuations import (
    ENOUGH,
    LONG,
    elements_around,
    end_of,
    find_continuations,
    find_text_around,
)
from crawler_dedup.signing.features import fold_words, size_in_letters
from crawler_dedup.signing.outline import Outline, read_outline
from crawler_dedup.signing.parsing import find_title
from crawler_dedup.signing.textblocks import Block

if TYPE_CHECKING:
    from crawler_dedup.owntext.elements import Elements

_LINK_SHARE = 1 / 3
_MAIN_SHARE = 0.6
_UNLINKED_SHARE = 0.3
_NAMED_SHARE = 0.2
_NAMED = 600
_COMMON_WORDS = 2
_NOTICE = 200
_SERIES = 4
_DIFFERENT = 0.7
_TITLE = 20
_DETAIL = 10
_TITLE_WEIGHT = 0.25
_TITLES_SHARE = 1 / 3
_STATEMENT = 20
_WORDS = re.compile(r"\w{2,}")


class MainBlocks(NamedTuple):
    """The blocks that are the main text of a page.

    Attributes:
        blocks: the blocks in reading order, without short lines with ©.
        size: their size in Latin letters, without titles of a list that are links.
        linked: size of the text inside links in the element that contains the blocks.
        name: the heading that names the page; ``None`` if there is none.
    """

    blocks: list[Block]
    size: int
    linked: int
    name: Block | None = None

    @property
    def are_links(self) -> bool:
        """Whether the blocks are mainly links: each entry of such a page counts."""
        return 2 * sum(block.linked for block in self.blocks) > sum(block.size for block in self.blocks)


class ReadPage(NamedTuple):
    """A page as it was read: its title, all its blocks, and those of its main text.

    *revealed*: what only a script or an animation uncovers counts as shown, because there is hardly anything else.
    """

    title: str
    outline: Outline
    main: MainBlocks
    revealed: bool = False


def read_page(tree: HtmlElement, *, revealed: bool = False, elements: Callable[[], Elements] | None = None) -> ReadPage:
    """Read outline and main text of a page. Arguments and exceptions as for :func:`read_outline`.

    What only a script or an animation uncovers also counts as shown if there is hardly anything else.
    """
    outline = read_outline(tree, revealed=revealed, elements=elements)
    title = find_title(tree)
    page = ReadPage(title, outline, find_main_blocks(outline, title), revealed)
    if not revealed and outline.hides and shows_hardly_anything(outline, page.main):
        return read_page(tree, revealed=True, elements=elements)
    return page


def find_main_blocks(page: Outline, title: str = "") -> MainBlocks:
    """Find the blocks that are the main text of *page*, which has the title *title*: none if it has no main text."""
    size, linked = [0] * len(page.parents), [0] * len(page.parents)
    for block in page.blocks:
        group = block.group
        size[group] += block.size
        linked[group] += block.linked
    texts = {at: total for at, total in enumerate(size) if total >= ENOUGH and linked[at] <= _LINK_SHARE * total}
    details, titles = _find_series([block for block in page.blocks if block.group not in texts])
    words = _words_of(title)
    shares = _shares_of_title(words, page.blocks, texts) if words and len(texts) > 1 else {}
    held = [0.0] * len(page.parents)
    for group, total in texts.items():
        weight = total * (1 + shares.get(group, 0))
        held[group] = weight * sqrt(weight)
    for factor, series in ((1, details), (_TITLE_WEIGHT, titles)):
        for block in series.values():
            held[block.group] += factor * block.size * sqrt(block.size)
    unlinked = [total - links for total, links in zip(size, linked, strict=True)]
    name = _find_name(words, page.blocks)
    main = _main_element(held, unlinked, page.parents, name)
    inside = range(main, end_of(main, page.parents))
    outer = main  # or an element that contains nothing else
    while outer and (held[page.parents[outer]], unlinked[page.parents[outer]]) == (held[main], unlinked[main]):
        outer = page.parents[outer]
    more = find_text_around(page, inside, page.parents[outer], texts)
    more |= find_continuations(page, inside, texts, name)
    blocks = [
        block
        for block in _without_repeated([block for block in page.blocks if block.group in inside or block.group in more])
        if block.group in texts or id(block) in details or id(block) in titles
        if block.size >= _NOTICE or "©" not in block.text
    ]
    title_size = sum([block.size for block in blocks if id(block) in titles]) if titles else 0
    other_size = sum([block.size for block in blocks]) - title_size
    if titles and title_size < _TITLES_SHARE * other_size:  # links to other articles, below an article
        blocks = [block for block in blocks if id(block) not in titles]
    all_linked = sum(linked[main : inside.stop]) + sum([linked[group] for group in more])
    return MainBlocks(blocks, other_size, all_linked, name)


def _shares_of_title(words: AbstractSet[str], blocks: Iterable[Block], texts: Container[int]) -> dict[int, float]:
    """Return the share of the *words* of a title that is in each of *texts*, which are given by their groups."""
    lines: dict[int, list[str]] = {}
    for block in blocks:
        if block.group in texts:
            lines.setdefault(block.group, []).append(block.text)
    # Line by line, which is quicker for lines of ASCII.
    casefolded = {group: "\n".join([fold_words(line) for line in parts]) for group, parts in lines.items()}
    return {group: sum([word in text for word in words]) / len(words) for group, text in casefolded.items()}


def _words_of(line: str) -> frozenset[str]:
    """Return the words of *line*. In scripts without spaces, pairs of letters are taken for words."""
    words: list[str] = _WORDS.findall(fold_words(line))
    parts = ((word,) if word.isascii() else map(add, word, word[1:]) for word in words)
    return frozenset(chain.from_iterable(parts))


def _find_name(words: AbstractSet[str], blocks: Iterable[Block]) -> Block | None:
    """Return the heading that names the page: most of its words, and at least two, are *words* of the page's title.

    Of several such headings, those that are not links come first, then those of level 1, then those with most of the words.
    """
    name, best, most = None, (False, False), 0
    for block in [block for block in blocks if block.level] if words else ():
        rank = 2 * block.linked < block.size, block.level == 1
        own = _words_of(block.text)
        common = len(own & words)
        if common >= max(_COMMON_WORDS, len(own) / 2) and (rank, common) > (best, most):
            name, best, most = block, rank, common
    return name


def _without_repeated(blocks: Iterable[Block]) -> list[Block]:
    """Return *blocks* without long blocks that another element repeats, such as an element for narrow screens."""
    groups: dict[str, int] = {}
    return [block for block in blocks if block.size < LONG or groups.setdefault(block.text, block.group) == block.group]


def _find_series(blocks: Iterable[Block]) -> tuple[dict[int, Block], dict[int, Block]]:
    """Return the *blocks* that make up series, by their identity: first those that are not links, then links.

    A list of articles or products consists of series: blocks in repeated elements, with the same kind of path, whose texts
    differ and are longer than the entries of a menu.
    """
    by_kind = defaultdict[int, tuple[list[Block], list[Block]]](lambda: ([], []))
    for block in blocks:
        by_kind[block.path_kind][2 * block.linked > block.size].append(block)
    details: dict[int, Block] = {}
    titles: dict[int, Block] = {}
    if references := by_kind.pop(0, None):
        details.update(_series_of(references[0], _DETAIL))
    for texts, links in by_kind.values():
        if len(texts) >= _SERIES:
            details.update(_series_of(texts, _DETAIL))
        if len(links) >= _SERIES:
            titles.update(_series_of(links, _TITLE))
    return details, titles


def _series_of(members: list[Block], least: int) -> dict[int, Block]:
    """Return *members*, of one kind of path, by identity if they are a series; *least*: their letters on average."""
    different = {block.text: block.size for block in members}
    is_long_enough = sum(different.values()) >= least * len(different)
    if not is_long_enough or len(different) < max(_SERIES, _DIFFERENT * len(members)):
        return {}
    return {id(block): block for block in members}


def _main_element(held: list[float], unlinked: list[int], parents: list[int], name: Block | None) -> int:
    """Return the number of the innermost element with three fifths of the texts, and three tenths of the unlinked text.

    Each text is weighed by the power 3/2 of its size, which is counted up to twice if the text has the words of the title.
    With this power, one article outweighs forty comments and teasers that are as long together; with the share of three
    fifths, two articles of a page, one 1.3 times as long as the other, stay together. The unlinked text counts too, because
    a text may be anything if most of a page's text is elsewhere.

    For an article with more text below it than its own, a fifth of the texts is enough, if it is in one element with its
    name, and has 600 letters. The surroundings of an article must not decide about it.

    Args:
        held: the weight of the texts in each element, without those in inner elements.
        unlinked: size of the text outside of links in each element, likewise.
        name: the heading that names the page.
    """
    for number in range(len(parents) - 1, 0, -1):
        if held[number] or unlinked[number]:  # most elements have neither
            held[parents[number]] += held[number]
            unlinked[parents[number]] += unlinked[number]
    if not held[0]:
        return 0
    least, unlinked_least = _MAIN_SHARE * held[0], _UNLINKED_SHARE * unlinked[0]
    by_number = range(len(held) - 1, -1, -1)
    main = next(number for number in by_number if held[number] >= least and unlinked[number] >= unlinked_least)
    for number in elements_around(name.group, parents) if name else ():
        if held[number] >= _NAMED_SHARE * held[0] and unlinked[number] >= _NAMED:
            return main if number in elements_around(main, parents) else number
    return main


def join_text(part: Outline | MainBlocks) -> str:
    """Return the text of a page, or of its main text, a line for each block."""
    return "\n".join([block.text for block in part.blocks])


def join_shown_text(part: Outline | MainBlocks) -> str:
    """Return the text of a page, or of its main text, a line for each block, without text in hidden elements."""
    return "\n".join([block.shown for block in part.blocks if block.shown])


def shows_hardly_anything(page: Outline, main: MainBlocks) -> bool:
    """Return whether a page shows no text outside of links but a few labels, and next to nothing of its main text.

    If the page has no main text, it must show next to nothing at all.
    """
    if sum(map(_shown_size, main.blocks or page.blocks)) >= _STATEMENT:
        return False
    unlinked = [_shown_size(block) - (block.linked if block.shown == block.text else 0) for block in page.blocks]
    return sum(unlinked) < ENOUGH and max(unlinked, default=0) < _STATEMENT


def _shown_size(block: Block) -> int:
    return block.size if block.shown == block.text else size_in_letters(block.shown)
