"""Browser pages and contexts that scrapy-playwright leaves open for the callback, which a dropped page does not reach."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from scrapy.http import Request
from scrapy.settings import BaseSettings

from crawler_dedup.crawl.gate import first_address
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.urls import hash_page_key

META_PAGE, _META_CONTEXT, _META_CONTEXT_KWARGS = "playwright_page", "playwright_context", "playwright_context_kwargs"
_CLOSE_TIMEOUT = 5.0
_MAX_CONTEXTS = 10_000  # whose names are remembered


class BrowserPages:
    """Closes what the callback of a dropped page would have closed: its browser page, and the context of that page.

    Open pages count towards ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT``, and open contexts towards ``PLAYWRIGHT_MAX_CONTEXTS``:
    when that many are left open, the crawl does not go on.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._lasting = {"default", *settings.getdict("PLAYWRIGHT_CONTEXTS")}
        # By the name of a context the hash of the address that is requested in it; b"": there are several.
        self._addresses: OrderedDict[str, bytes] = OrderedDict()

    def remember_context(self, request: Request) -> None:
        """Remember in which context *request* is sent. A page has many links, so this has to be quick."""
        if _META_CONTEXT not in request.meta:
            return
        name, address = _context_of(request)
        if self._addresses.setdefault(name, address) != address:
            self._addresses[name] = b""
        self._addresses.move_to_end(name)
        if len(self._addresses) > _MAX_CONTEXTS:
            self._addresses.popitem(last=False)

    async def close(self, request: Request, monitor: Monitor) -> None:
        """Close the page of a dropped response and, unless it may be used further, its context.

        If *request* has an errback, that has to close them.
        """
        page = request.meta[META_PAGE]
        if page is None or request.errback is not None:
            return
        error: object
        try:
            # The calls may themselves be cancelled, together with the browser. The response is dropped all the same.
            closing = asyncio.gather(self._close(page, request), return_exceptions=True)
            (error,) = await asyncio.wait_for(closing, _CLOSE_TIMEOUT)
        except Exception as raised:
            error = raised
        if isinstance(error, BaseException):
            monitor.warn("The browser page of a dropped page cannot be closed: %r", error)

    async def _close(self, page: Any, request: Request) -> None:
        await page.close()
        if self._has_opened_context(request) and not page.context.pages:
            await page.context.close()

    def _has_opened_context(self, request: Request) -> bool:
        """Return whether the context was opened for *request* alone, and no profile on disk outlasts it."""
        name, address = _context_of(request)
        is_persistent = "user_data_dir" in (request.meta.get(_META_CONTEXT_KWARGS) or {})
        return not is_persistent and name not in self._lasting and self._addresses.get(name) == address


def _context_of(request: Request) -> tuple[str, bytes]:
    """Return the name of the context of *request*, and a hash of the requested address."""
    name = str(request.meta.get(_META_CONTEXT))
    return name, hash_page_key(name, first_address(request) or request.url)
