"""Recognise requests by which a callback asks for its own page again: the page is that of a ban, and was not handled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import Request, Response

from crawler_dedup.crawl.gate import META_INHERITED, META_REDIRECTIONS, first_address

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_META_REPEATED = "_dedup_repeated"
_META_RETRIES = "retry_times"
MARKS = frozenset((_META_RETRIES, META_REDIRECTIONS, META_INHERITED))
"""Keys in the ``meta`` of requests that are repetitions, or whose redirections have to be noted; or else they have
``dont_filter``."""


def is_repetition(output: Request, response: Response, crawler: Crawler) -> bool:
    """Return whether *output*, which the callback of *response* yields, asks for the same page again; mark it if so.

    It was made by Scrapy's ``get_retry_request``, or has the page's address, or the one that redirected to it, and
    ``dont_filter``: without that, it is a link of the page to itself, which the scheduler filters out.
    """
    page = response.request
    if page is None:
        return False
    asks_again = _retries(output) > _retries(page) or (
        output.dont_filter and _key(output, crawler) in _keys(page, crawler)
    )
    if asks_again:
        output.meta[_META_REPEATED] = _key(output, crawler)
    return asks_again


def was_repeated(response: Response, crawler: Crawler) -> bool:
    """Return whether *response* answers a request that :func:`is_repetition` has marked."""
    page = response.request
    mark = None if page is None else page.meta.get(_META_REPEATED)
    # Requests whose meta is a copy of the page's have another address.
    return page is not None and mark is not None and mark in _keys(page, crawler)


def _keys(page: Request, crawler: Crawler) -> set[str]:
    """Return the fingerprints of *page* and of the address that redirected to it, if one did."""
    first = first_address(page)
    return {_key(request, crawler) for request in ((page, page.replace(url=first)) if first else (page,))}


def _key(request: Request, crawler: Crawler) -> str:
    return crawler.request_fingerprinter.fingerprint(request).hex()


def _retries(request: Request) -> int:
    times = request.meta.get(_META_RETRIES)
    return times if isinstance(times, int) else 0
