"""The browser page that scrapy-playwright leaves open for the callback, for a dropped response that gets no callback."""

from __future__ import annotations

import asyncio
import logging

from scrapy.http import Request

from crawler_dedup.crawl.monitor import Monitor

_META_PAGE = "playwright_page"
_CLOSE_TIMEOUT = 5.0


async def close_browser_page(request: Request, monitor: Monitor) -> None:
    """Close the browser page of a dropped response, unless *request* has an errback, whose task that is.

    An open page counts for ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT``: when so many are left open, the crawl stands still.
    """
    page = request.meta.get(_META_PAGE)
    if page is None or request.errback is not None:
        return
    error: object
    try:
        # What closes the page may be cancelled itself, with its browser. The response is dropped all the same.
        (error,) = await asyncio.wait_for(asyncio.gather(page.close(), return_exceptions=True), _CLOSE_TIMEOUT)
    except Exception as raised:
        error = raised
    if isinstance(error, BaseException):
        monitor.log_throttled(
            _META_PAGE, logging.WARNING, "The browser page of a dropped page cannot be closed: %r", error
        )
