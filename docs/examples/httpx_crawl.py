"""Crawl a site with httpx and asyncio: ``python httpx_crawl.py https://example.org/ INDEX WORKERS > pages.jsonl``.

Writes a line for each page. The links of near-duplicates are not followed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx
from parsel import Selector
from w3lib.html import get_base_url

from crawler_dedup import BEING_HANDLED, Decision, Deduplicator


async def decide(deduplicator: Deduplicator, response: httpx.Response) -> Decision:
    """Sign a page in a thread, and decide about it once no similar page is being handled."""
    url, encoding = str(response.url), response.charset_encoding
    page = await asyncio.to_thread(deduplicator.sign, url, response.content, encoding=encoding)
    while True:
        (decision,) = await asyncio.wrap_future(deduplicator.submit([page], claim=True))
        if decision.reason != BEING_HANDLED:
            return decision
        await asyncio.sleep(0.05)


async def crawl(start: str, deduplicator: Deduplicator, workers: int) -> None:
    """Crawl the host of *start*, *workers* pages at a time."""
    seen, waiting = {start}, asyncio.Queue[str]()
    waiting.put_nowait(start)

    async def work(client: httpx.AsyncClient) -> None:
        while True:
            response = await client.get(await waiting.get())
            if response.is_success and "html" in response.headers.get("content-type", ""):
                decision = await decide(deduplicator, response)
                with deduplicator.handling(decision):  # store the page here: an exception lets its copies pass
                    print(json.dumps({"url": decision.url, "duplicate_of": decision.duplicate_of}))
                base = get_base_url(response.text, decision.url)
                for href in Selector(response.text).css("a::attr(href)").getall() if decision.passes else []:
                    url = urldefrag(urljoin(base, href)).url
                    if urlsplit(url).netloc == urlsplit(start).netloc and url not in seen:
                        seen.add(url)
                        waiting.put_nowait(url)
            waiting.task_done()

    async with httpx.AsyncClient(follow_redirects=True) as client, asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(client)) for _ in range(workers)]
        await waiting.join()
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    with Deduplicator.open(sys.argv[2]) as deduplicator:
        asyncio.run(crawl(sys.argv[1], deduplicator, int(sys.argv[3])))
