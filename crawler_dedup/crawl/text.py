"""The texts of a response, for the callbacks of spiders."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from crawler_dedup.config import Config
from crawler_dedup.crawl.claims import workers_of
from crawler_dedup.crawl.gate import declared_encoding
from crawler_dedup.crawl.signals import META_DECISION
from crawler_dedup.crawl.supervision import DIED, NOT_IN_TIME, NotSigned
from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexMismatch, IndexUnusable
from crawler_dedup.pagetext import Format, OwnText, OwnTextJob
from crawler_dedup.urls import escape_surrogates
from crawler_dedup.worker.messages import ExtractText, Job, MakeOwnText

TIMEOUT = Config().timeout
"""Seconds after which :func:`main_text` and :func:`own_text` return the visible text."""

_T = TypeVar("_T")

_texts: WeakKeyDictionary[Any, asyncio.Future[str]] = WeakKeyDictionary()
"""The main texts of responses that still exist, so that each is extracted once."""


async def main_text(response: Any) -> str:
    """Extract the main text of a ``scrapy.http.HtmlResponse``, in callbacks: ``text = await main_text(response)``.

    The text is extracted in a worker of the crawl, or in a thread if none runs, and only once for a response. For
    a page beyond a limit (the default ``max_bytes`` and ``timeout``, number of elements, depth) the whole visible text is
    returned, which takes less time. For a page that cannot be parsed in reasonable time (elements with tens of thousands of
    attributes), or that crashes the worker, an empty text is returned.

    Raises:
        SigningError: an exception in the worker, such as :class:`MemoryError` for a page that takes too much memory.
        NotSigned: workers have died too often within the last minute. As with any exception in its callback, the
            page represents no other page.

    >>> import asyncio
    >>> from scrapy.http import HtmlResponse
    >>> response = HtmlResponse("https://example.com/", body=b"<title>Rain</title><nav>Home</nav><p>It rains again.")
    >>> asyncio.run(main_text(response))  # in a callback: await main_text(response)
    'It rains again.'
    """
    if response not in _texts:
        extract = partial(_extract_text, response)
        _texts[response] = asyncio.ensure_future(
            _try_in_turn(partial(extract, whole=False), partial(extract, whole=True))
        )
    return await asyncio.shield(_texts[response])


async def own_text(response: Any, format: Format = "text", *, with_removed: bool = False) -> OwnText:
    """Return the text of a ``scrapy.http.HtmlResponse`` without what its site repeats: ``(await own_text(response)).text``.

    In a crawl with the filter, blocks that its site has on many pages are left out, once the site is known. The text is made
    in the worker that has signed the page. For a page beyond a limit it is the whole visible text, and for a page
    that crashes the worker it is empty, as with :func:`main_text`. The exceptions are those of :func:`main_text`, too.

    Args:
        format: ``"text"``, a line for each block, or ``"markdown"``.
        with_removed: whether the blocks that are left out are returned, too.

    Raises:
        ValueError: there is no such format.

    >>> import asyncio
    >>> from scrapy.http import HtmlResponse
    >>> response = HtmlResponse("https://example.com/", body=b"<nav>Home</nav><h1>Rain</h1><p>It rains again.")
    >>> own = asyncio.run(own_text(response, "markdown"))  # in a callback: await own_text(response, "markdown")
    >>> own.text, own.site_known
    ('# Rain\\n\\nIt rains again.', False)
    """
    job = OwnTextJob(declared_encoding(response), format=format, with_removed=with_removed)
    make, extract = partial(_make_own_text, response, job), partial(_extract_text, response, whole=True)
    answer: OwnText | str = await _try_in_turn(make, extract)
    return answer if isinstance(answer, OwnText) else OwnText(answer)


async def _make_own_text(response: Any, job: OwnTextJob) -> OwnText:
    decision = None if response.request is None else response.request.meta.get(META_DECISION)
    url = escape_surrogates(response.url)
    if not (isinstance(decision, Decision) and decision.key):  # the index has not decided about the page
        return await _make(response, MakeOwnText(url, None, job))
    return await _make(response, MakeOwnText(url, decision.scope, job, decision.snapshot), decision.claim)


async def _extract_text(response: Any, *, whole: bool) -> str:
    return await _make(response, ExtractText(escape_surrogates(response.url), declared_encoding(response), whole))


async def _make(response: Any, job: Job[_T], claim: int = 0) -> _T:
    """Make a text in a worker of the crawl, which has signed the page by this *claim*; without workers in a thread."""
    workers = workers_of(response)
    if workers is not None:
        with suppress(IndexUnusable, IndexMismatch):  # no worker can open the index, which a text does not need
            return await workers.ask(job, response.body, claim)
    from crawler_dedup.crawl.localworker import make_text  # noqa: PLC0415  (loads the whole core)

    return await make_text(job, response.body, TIMEOUT)


async def shown_text(response: Any) -> str:
    """Extract the visible text of a response, as :func:`main_text` extracts the main text; raises the same exceptions.

    Raises :class:`TimeoutError` for a page that takes too long.
    """
    return await _extract_text(response, whole=True)


async def _try_in_turn(*attempts: Callable[[], Awaitable[_T]]) -> _T | str:
    """Return the result of the first of *attempts* that does not take too long; ``""`` if there is none."""
    for attempt in attempts:
        try:
            return await attempt()
        except TimeoutError:
            continue
        except NotSigned as error:
            if str(error) not in (NOT_IN_TIME, DIED):
                raise
            if str(error) == DIED:  # with another attempt it would probably die again
                break
    return ""
