"""The main text of a response, for the callbacks of spiders."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from crawler_dedup.config import Config
from crawler_dedup.crawl.background import run_in_own_thread
from crawler_dedup.crawl.signers import find_signers
from crawler_dedup.crawl.signingqueue import DIED, NOT_IN_TIME, NotSigned
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.messages import TextJob

TIMEOUT = Config().timeout
"""Seconds after which :func:`main_text` returns the visible text."""

_texts: WeakKeyDictionary[Any, asyncio.Future[str]] = WeakKeyDictionary()
"""The main texts of responses that still exist, so that each is extracted once."""


async def main_text(response: Any) -> str:
    """Extract the main text of a ``scrapy.http.HtmlResponse``, in callbacks: ``text = await main_text(response)``.

    The text is extracted in a signing process of the crawl, or in a thread if it has none, and only once for a response. For
    a page beyond a limit (default size and time, number of elements, depth) the whole visible text is returned, which takes
    less time. For a page that cannot be parsed in reasonable time (elements with tens of thousands of
    attributes), or that ends the signing process, an empty text is returned.

    Raises:
        SigningError: an exception in the process, such as :class:`MemoryError` for a page that takes too much memory.
        NotSigned: signing processes have died too often within the last minute. As with any exception in its callback, the
            page represents no other page.

    >>> import asyncio
    >>> from scrapy.http import HtmlResponse
    >>> response = HtmlResponse("https://example.com/", body=b"<title>Rain</title><nav>Home</nav><p>It rains again.")
    >>> asyncio.run(main_text(response))  # in a callback: await main_text(response)
    'It rains again.'
    """
    if response not in _texts:
        _texts[response] = asyncio.ensure_future(_extract(response.body, declared_encoding(response)))
    return await asyncio.shield(_texts[response])


def declared_encoding(response: Any) -> str | None:
    """Return the charset that a response declares. If it declares none, signing detects it, as Scrapy does."""
    encoding: str | None = response._declared_encoding()  # ``encoding`` would detect it here, which may take seconds
    return encoding


async def _extract(body: bytes, encoding: str | None) -> str:
    for whole in (False, True):
        try:
            return await _extract_once(body, encoding, whole=whole)
        except TimeoutError:
            continue
        except NotSigned as error:
            if str(error) not in (NOT_IN_TIME, DIED):
                raise
            if str(error) == DIED:  # with the whole text it would probably die again
                break
    return ""


async def _extract_once(body: bytes, encoding: str | None, *, whole: bool) -> str:
    signers = find_signers()
    if signers is None:
        return await asyncio.wait_for(run_in_own_thread(extract_text, body, encoding, whole=whole), TIMEOUT)
    return await signers.extract_text(TextJob(encoding, whole), body, TIMEOUT)
