"""Closes the browser page that scrapy-playwright leaves open for a callback, where the response is dropped instead."""

from __future__ import annotations

import asyncio
import logging

from scrapy.http import Request

from crawler_dedup.crawl.monitor import Monitor

_META_PAGE = "playwright_page"
_CLOSE_TIMEOUT = 5.0


async def close_browser_page(request: Request, monitor: Monitor) -> None:
    """Close the browser page of a dropped response, unless *request* has an errback, which has to close it itself.

    Open pages count towards ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT``: when that many are left open, the crawl stands still.
    """
    page = request.meta.get(_META_PAGE)
    if page is None or request.errback is not None:
        return
    error: object
    try:
        # The call may itself be cancelled, together with its browser. The response is dropped all the same.
        (error,) = await asyncio.wait_for(asyncio.gather(page.close(), return_exceptions=True), _CLOSE_TIMEOUT)
    except Exception as raised:
        error = raised
    if isinstance(error, BaseException):
        monitor.log_throttled(
            _META_PAGE, logging.WARNING, "The browser page of a dropped page cannot be closed: %r", error
        )
