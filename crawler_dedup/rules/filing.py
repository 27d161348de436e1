"""The data that the index keeps of a page for the rules, and the keys by which a thin page is found."""

from __future__ import annotations

import msgspec

from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing import titles
from crawler_dedup.signing.cover import pack_cover
from crawler_dedup.signing.lookup import named_parts, with_keys


def with_site_keys(page: SignedPage, site: SiteProfile) -> SignedPage:
    """Return *page*; a thin page gets the keys under which it is filed and looked up, by the profile of its *site*."""
    if page.kind is not PageKind.THIN:
        return page
    own_parts = site.own_parts(page.title)
    names = titles.split_title(page.title), own_parts, named_parts(page) & own_parts
    return with_keys(page, names, site.common)


def is_list(page: SignedPage) -> bool:
    """Return whether a page mainly leads to other pages: an index, an archive, a tag page.

    The links inside the element of its main text are at least half as long as the text, or those of the whole page twice as
    long (an index without text, whose main text is a box at its side).
    """
    inside, outside = 2 * page.inner_link_chars >= page.chars, page.link_chars >= 2 * page.chars
    return page.kind is PageKind.THIN or (page.chars > 0 and (inside or outside))


def trim(page: SignedPage) -> SignedPage:
    """Return *page*, which was counted for its site, without the links and blocks that no rule uses."""
    cover = pack_cover(page.blocks) if page.blocks else page.cover
    return msgspec.structs.replace(page, blocks=b"", cover=cover, links=page.links if is_list(page) else b"")
