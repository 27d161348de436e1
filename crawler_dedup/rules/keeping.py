"""The data that the index keeps of a page for the rules, and the keys by which a thin page is found."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from crawler_dedup.rules.cover import cover_of
from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.rules.thresholds import TELLING_HEADING
from crawler_dedup.signedpage import PageKind, SignedPage, Trait
from crawler_dedup.signing import titles
from crawler_dedup.signing.blocks import PackedBlock
from crawler_dedup.signing.lookup import named_parts, with_keys

# Plain numbers: to combine flags takes a microsecond.
_ENTRY, _HEADING, _MAIN = map(int, (Trait.ENTRY, Trait.HEADING, Trait.MAIN))
_LINKED_HEADING = int(Trait.ENTRY | Trait.HEADING)

# By the traits of a block, which are a byte: the size from which on it is telling, and whether it is a heading.
_ALL_TRAITS, _NEVER = range(256), 1 << 16
_LEAST_TELLING = tuple(
    _NEVER if traits & _LINKED_HEADING == _ENTRY else TELLING_HEADING if traits & _HEADING else 1
    for traits in _ALL_TRAITS
)


def with_site_keys(page: SignedPage, site: SiteProfile) -> SignedPage:
    """Return *page*; a thin page gets the keys under which it is filed and looked up, by the profile of its *site*."""
    if page.kind is not PageKind.THIN:
        return page
    own_parts = site.own_parts(page.title)
    names = titles.split_title(page.title), own_parts, named_parts(page) & own_parts
    return with_keys(page, names, site.common)


def is_telling(block: PackedBlock) -> bool:
    """Return whether a block can distinguish texts: a line that is no link, or a heading that is not short.

    Short lines count: the cells of a table may be all that a page says below a text that its site repeats.
    """
    return block.size >= _LEAST_TELLING[block.traits]


def is_main_text_minor(blocks: Iterable[PackedBlock], own: Collection[PackedBlock]) -> bool:
    """Return whether the main text makes up less than half of the page's own text, or mostly is not its own.

    Args:
        blocks: the blocks of the page.
        own: the blocks that no other page of its site has.
    """
    main = sum([size for _, traits, size in blocks if traits & _MAIN and size >= _LEAST_TELLING[traits]])
    own_main = sum([block.size for block in own if block.traits & _MAIN])
    return 2 * own_main < main or 2 * own_main < sum([block.size for block in own])


def is_list(page: SignedPage) -> bool:
    """Return whether a page mainly leads to other pages: an index, an archive, a tag page.

    The links beside its main text are half as long as the text, or those of the whole page twice as long (an index without
    text, whose main text is a box at its side).
    """
    inside, outside = 2 * page.inner_link_chars >= page.chars, page.link_chars >= 2 * page.chars
    return page.kind is PageKind.THIN or (page.chars > 0 and (inside or outside))


def without_unneeded(page: SignedPage) -> SignedPage:
    """Return *page*, which was counted for its site, without the links and blocks that no rule uses."""
    if page.kind is PageKind.THIN:
        return page
    cover = cover_of(page) if page.blocks else page.cover
    return msgspec.structs.replace(page, blocks=b"", cover=cover, links=page.links if is_list(page) else b"")
