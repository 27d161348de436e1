"""Crawl a site with httpx and asyncio: ``python httpx_crawl.py https://example.org/ INDEX WORKERS > pages.jsonl``.

Writes a line for each page. The links of near-duplicates are not followed.
"""

import asyncio
import json
import sys
from contextlib import suppress
from urllib.parse import urldefrag, urlsplit

import httpx
from parsel import Selector

from crawler_dedup import BEING_HANDLED, Decision, Deduplicator


async def decide(deduplicator: Deduplicator, response: httpx.Response) -> Decision:
    """Sign a page in a thread, and decide about it once no similar page is being handled."""
    url, encoding = str(response.url), response.charset_encoding
    page = await asyncio.to_thread(deduplicator.sign, url, response.content, encoding=encoding)
    while (decision := (await asyncio.wrap_future(deduplicator.submit([page], claim=True)))[0]).reason == BEING_HANDLED:
        await asyncio.sleep(0.05)
    return decision


async def crawl(start: str, deduplicator: Deduplicator, workers: int) -> None:
    seen, waiting = {start}, asyncio.Queue[str]()
    waiting.put_nowait(start)

    async def visit(client: httpx.AsyncClient, url: str) -> None:
        response = await client.get(url)
        if not response.is_success or "html" not in response.headers.get("content-type", ""):
            return
        decision = await decide(deduplicator, response)
        with deduplicator.handling(decision):  # store the page here: an exception lets its copies pass
            print(json.dumps({"url": decision.url, "duplicate_of": decision.duplicate_of}))
        tree = Selector(response.text).root
        tree.make_links_absolute(decision.url, handle_failures="discard")
        for link in (urldefrag(href).url for href in tree.xpath("//a/@href") if decision.passes):
            if urlsplit(link).netloc == urlsplit(start).netloc and link not in seen:
                seen.add(link)
                waiting.put_nowait(link)

    async def work(client: httpx.AsyncClient) -> None:
        while True:
            with suppress(httpx.HTTPError):
                await visit(client, await waiting.get())
            waiting.task_done()

    async with httpx.AsyncClient(follow_redirects=True) as client, asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(client)) for _ in range(workers)]
        await waiting.join()
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    with Deduplicator.open(sys.argv[2]) as deduplicator:
        asyncio.run(crawl(sys.argv[1], deduplicator, int(sys.argv[3])))
