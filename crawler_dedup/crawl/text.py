"""The main text of a response, for the callbacks of spiders."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from lxml.html import HtmlElement

from crawler_dedup.config import Config
from crawler_dedup.crawl.background import run_in_own_thread, signing_thread
from crawler_dedup.errors import BeyondLimits, ThreadsBusy
from crawler_dedup.signing.extractors import extract_all_text, extract_with_trafilatura
from crawler_dedup.signing.parsing import (
    check_attributes,
    check_body,
    check_depth,
    check_nodes,
    is_charset,
    parse,
)

_extracted: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""The main texts of responses that still exist: :func:`main_text` gets a response whose text the filter may have."""
LIMITS = Config()
"""The limits beyond which :func:`main_text` returns the visible text."""


def remember(response: Any, text: str) -> None:
    """Keep the main text of *response* as long as the response exists, for :func:`main_text`."""
    _extracted[response] = text


async def main_text(response: Any) -> str:
    """Extract the main text of a ``scrapy.http.HtmlResponse``, in callbacks: ``text = await main_text(response)``.

    The text is extracted in a thread, and only once for a response; with ``DEDUP_EXTRACTOR = "trafilatura"`` the filter has
    it already. For a page beyond the default limits of :class:`~crawler_dedup.Config` (size, elements, time) the whole
    visible text is returned, which takes less time. For a page that cannot be parsed in reasonable time (elements with tens
    of thousands of attributes) an empty text is returned.
    """
    if response not in _extracted:
        try:
            text = await asyncio.wait_for(signing_thread.run(_text_of, response), LIMITS.timeout)
        except (asyncio.TimeoutError, ThreadsBusy):
            text = None
        if text is None:
            text = await run_in_own_thread(_visible_text, response)
        remember(response, text)
    return _extracted[response]


def _text_of(response: Any) -> str | None:
    """Extract the main text; ``None`` if the page is beyond the limits."""
    tree = tree_of(response, LIMITS)
    if tree is None:
        return None
    try:
        check_nodes(tree, len(response.body), LIMITS)
        check_depth(tree, LIMITS)
    except BeyondLimits:
        return None
    return extract_with_trafilatura(tree)


def _visible_text(response: Any) -> str:
    # The page is parsed again, because another thread may still read the tree of the response.
    try:
        return extract_all_text(parse(response.body, response.encoding))
    except BeyondLimits:
        return ""


def tree_of(response: Any, config: Config) -> HtmlElement | None:
    """Parse a ``scrapy.http.HtmlResponse``; the response keeps the tree for the spider.

    Returns ``None`` if the response should not be parsed, because it would take too long, or if it declares an encoding that
    is not a charset, with which its text cannot be read.
    """
    try:
        check_body(response.body, config)
        if not is_charset(response.encoding):
            return None
        check_attributes(response.text)
    except BeyondLimits:
        return None
    root: HtmlElement = response.selector.root
    return root
