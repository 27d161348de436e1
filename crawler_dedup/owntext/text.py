"""Outline → own text: the main text in reading order, without the blocks that the site repeats on many pages.

Recently signed pages are kept as they were read, so that own texts of these need no second reading.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from lxml.html import HtmlElement

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.owntext.elements import Elements
from crawler_dedup.owntext.markdown import write_markdown
from crawler_dedup.owntext.selection import Selector
from crawler_dedup.pagetext import OwnText, OwnTextJob
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.maintext import ReadPage, read_page

if TYPE_CHECKING:
    from crawler_dedup.signing.signer import Signer

_KEPT_BYTES, _OBJECT_BYTES = 16 << 20, 512  # of pages that were signed last; of each element, and each line of code
_SITES = 64  # whose hashes are cached; of a hostile site they take 400 KB


read_with_elements = partial(read_page, elements=Elements)
"""Reads a page as signing does, and notes what own texts are made of."""


def make_own_text(signer: Signer, body: bytes, job: OwnTextJob) -> OwnText:
    """Read a page, and return its own text. A page beyond a limit has its whole visible text."""
    try:
        tree, page = signer.read_page(body, job.encoding, read=read_with_elements)
        if _is_mostly_hidden(page):
            page = read_with_elements(tree, revealed=True)
    except BeyondLimits:
        return OwnText(extract_text(body, job.encoding, whole=True))
    return own_text_of(page, job)


def own_text_of(page: ReadPage, job: OwnTextJob) -> OwnText:
    """Return the own text of a *page* that was read with elements."""
    elements = page.outline.elements
    assert elements is not None
    blocks, repeated = page.outline.blocks, job.repeated
    selector = Selector(page, elements)
    chosen = selector.select(page.main)
    kept = selector.leave_out(_unpack(repeated.hashes), chosen) if repeated.hashes else chosen
    left_out = sorted(set(chosen).difference(kept))
    size = selector.size_of(left_out)
    return OwnText(
        write_markdown(page.outline, elements, kept)
        if job.format == "markdown"
        else "\n".join([elements.lines.get(place) or blocks[place].shown for place in kept]),
        bool(repeated.snapshot),
        repeated.snapshot,
        size / (size + selector.size_of(kept)) if size else 0.0,
        tuple([blocks[place].text for place in left_out]) if job.with_removed else (),
    )


def _is_mostly_hidden(page: ReadPage) -> bool:
    """Return whether most of the main text is hidden. Signing leaves such a page out; here it may fade in."""
    blocks = page.main.blocks if page.outline.hides else ()
    return 2 * sum(len(block.shown) for block in blocks) < sum(len(block.text) for block in blocks)


class OwnTexts:
    """Makes the own texts of a crawl's pages. Recently signed pages are kept, not to be read again."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._pages: OrderedDict[tuple[bytes, str | None], tuple[ReadPage, int]] = OrderedDict()
        self._size = 0  # of these pages

    def reader_of(self, body: bytes, encoding: str | None) -> Callable[[HtmlElement], ReadPage]:
        """Return a function that reads a page to sign it, and keeps it."""

        def read(tree: HtmlElement) -> ReadPage:
            page = read_with_elements(tree)
            self._keep((body, encoding), page)
            return page

        return read

    def make(self, body: bytes, job: OwnTextJob) -> OwnText:
        """Return the own text of a page."""
        page, _ = self._pages.get((body, job.encoding), (None, 0))
        return make_own_text(self._signer, body, job) if page is None else own_text_of(page, job)

    def _keep(self, key: tuple[bytes, str | None], page: ReadPage) -> None:
        if _is_mostly_hidden(page):
            return  # an own text is made of another reading
        outline = page.outline
        objects = len(outline.parents) + sum([len(block.lines) for block in outline.blocks])
        size = len(key[0]) + _OBJECT_BYTES * objects
        self._size += size - self._pages.pop(key, (page, 0))[1]
        self._pages[key] = page, size
        while self._size > _KEPT_BYTES:
            self._size -= self._pages.popitem(last=False)[1][1]


@lru_cache(maxsize=_SITES)
def _unpack(hashes: bytes) -> frozenset[int]:
    return frozenset(np.frombuffer(hashes, dtype="<u4").tolist())
