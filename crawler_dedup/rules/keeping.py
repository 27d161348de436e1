"""The data that the index keeps of a page for the rules, and the keys by which a thin page is found."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from crawler_dedup.rules.forms import FEW_FEATURES, is_fact
from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing import titles
from crawler_dedup.signing.blocks import PackedBlock, Trait, repack_blocks, unpack_blocks
from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.lookup import named_parts, with_keys

_VERY_FEW_FEATURES = 50  # such a text has nearly the same words as others about the same kind of thing
_LONG_NAME = 30  # letters: hardly two pages of a site have the same title of this length

_TELLING_HEADING = 16  # letters: a shorter one may be "Categories" or "Comments"

# Plain numbers: to combine flags takes a microsecond.
_ENTRY, _HEADING, _MAIN = map(int, (Trait.ENTRY, Trait.HEADING, Trait.MAIN))
_LINKED_HEADING, _MAIN_HEADING = int(Trait.ENTRY | Trait.HEADING), int(Trait.MAIN | Trait.HEADING)

# By the traits of a block, which are a byte: the size from which on it is telling, and whether it is a heading.
_ALL_TRAITS, _NEVER = range(256), 1 << 16
_LEAST_TELLING = tuple(
    _NEVER if traits & _LINKED_HEADING == _ENTRY else _TELLING_HEADING if traits & _HEADING else 1
    for traits in _ALL_TRAITS
)
_HEADINGS = frozenset(
    traits for traits in _ALL_TRAITS if traits & _MAIN_HEADING == _MAIN_HEADING or traits & _LINKED_HEADING == _HEADING
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


def is_main_heading(block: PackedBlock) -> bool:
    """Return whether a block is a heading of the main text."""
    return block.traits & _MAIN_HEADING == _MAIN_HEADING


def is_heading(block: PackedBlock) -> bool:
    """Return whether a block is a heading of the main text, or a heading outside of it that is no link."""
    return block.traits in _HEADINGS


def is_main_text_minor(blocks: Iterable[PackedBlock], own: Collection[PackedBlock]) -> bool:
    """Return whether the main text of a page is less than half of its own blocks, or mainly not among them.

    Args:
        blocks: the blocks of the page.
        own: the blocks that no other page of its site has.
    """
    main = sum([size for _, traits, size in blocks if traits & _MAIN and size >= _LEAST_TELLING[traits]])
    own_main = sum([block.size for block in own if block.traits & _MAIN])
    return 2 * own_main < main or 2 * own_main < sum([block.size for block in own])


def is_known_by_lines(page: SignedPage, site: SiteProfile) -> bool:
    """Return whether a text can be distinguished from others of its *site* only by its lines, not by words or title.

    This is a very short text, or a text that names no part of its title itself, if these parts are short: all pages of some
    sites have one title, and all pages about one kind of thing have the words of that kind.
    """
    if page.features < _VERY_FEW_FEATURES:
        return True
    own_parts = site.own_parts(page.title)
    return not named_parts(page) & own_parts and all(size_in_letters(part) < _LONG_NAME for part in own_parts)


def is_list(page: SignedPage) -> bool:
    """Return whether a page mainly leads to other pages: an index, an archive, a tag page.

    The links beside its main text are half as long as the text, or those of the whole page twice as long (an index without
    text, whose main text is a box at its side).
    """
    inside, outside = 2 * page.inner_link_chars >= page.chars, page.link_chars >= 2 * page.chars
    return page.kind is PageKind.THIN or (page.chars > 0 and (inside or outside))


def without_unneeded(page: SignedPage, site: SiteProfile) -> SignedPage:
    """Return *page*, which was counted for its *site*, without the links and blocks that no rule uses."""
    if is_list(page):
        return page
    blocks = unpack_blocks(page.blocks)
    telling = [block for block in blocks if block.size >= _LEAST_TELLING[block.traits]]
    own = [block for block in telling if block.hash not in site.common]
    # For other pages the sketches represent the main text, except for the facts of short texts.
    if not (is_main_text_minor(blocks, own) or is_known_by_lines(page, site)):
        keeps_facts = page.features < FEW_FEATURES
        own = [block for block in own if not block.traits & _MAIN or (keeps_facts and is_fact(block))]
    kept = {block.hash for block in own}
    # Short headings are compared with those of a page that may be a part of this one.
    kept |= {block.hash for block in blocks if block.traits in _HEADINGS} - site.furniture
    needed = [block for block in blocks if block.hash in kept]
    return msgspec.structs.replace(page, links=b"", blocks=repack_blocks(needed))
