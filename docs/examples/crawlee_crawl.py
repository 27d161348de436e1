"""Crawl a site with Crawlee: ``python crawlee_crawl.py https://example.org/ INDEX CONCURRENCY > pages.jsonl``.

Writes a line for each page. The links of near-duplicates are not followed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from email.message import Message

from crawlee import ConcurrencySettings
from crawlee.crawlers import BeautifulSoupCrawler, BeautifulSoupCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

from crawler_dedup import BEING_HANDLED, Decision, Deduplicator


async def decide(deduplicator: Deduplicator, context: BeautifulSoupCrawlingContext) -> Decision:
    """Sign a page in a thread, and decide about it once no similar page is being handled."""
    url, body = context.request.loaded_url or context.request.url, await context.http_response.read()
    header = Message()
    header["Content-Type"] = context.http_response.headers.get("content-type", "")
    page = await asyncio.to_thread(deduplicator.sign, url, body, encoding=header.get_content_charset())
    while True:
        (decision,) = await asyncio.wrap_future(deduplicator.submit([page], claim=True))
        if decision.reason != BEING_HANDLED:
            return decision
        await asyncio.sleep(0.05)


async def crawl(start: str, deduplicator: Deduplicator, concurrency: int) -> None:
    """Crawl the host of *start*, *concurrency* pages at a time."""
    crawler = BeautifulSoupCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(max_concurrency=concurrency, desired_concurrency=concurrency),
    )

    @crawler.router.default_handler
    async def visit(context: BeautifulSoupCrawlingContext) -> None:
        decision = await decide(deduplicator, context)
        with deduplicator.handling(decision):  # an error lets a copy of the page pass
            print(json.dumps({"url": decision.url, "duplicate_of": decision.duplicate_of}))
            if decision.passes:
                await context.enqueue_links()

    await crawler.run([start])


if __name__ == "__main__":
    with Deduplicator.open(sys.argv[2]) as deduplicator:
        asyncio.run(crawl(sys.argv[1], deduplicator, int(sys.argv[3])))
