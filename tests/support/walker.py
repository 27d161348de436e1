"""The process of a crawl that :mod:`tests.support.crawling` starts, and the spider that most of its crawls derive from."""

import asyncio
import importlib
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Request, Response
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from crawler_dedup import Decision, NearDuplicate, near_duplicate_dropped, page_handled
from crawler_dedup.settling import Outcome
from tests.support.versions import SCRAPY, crawler_process


class Walker(scrapy.Spider):
    """Visits *paths* in their order, follows the links of the pages, and yields the fields of their responses.

    Spider sources derive from it: ``from tests.support.walker import Walker``.

    Args:
        meta: what the requests of some paths have as their meta.
        follows: whether links are followed.
    """

    name = "walker"

    def __init__(
        self,
        site: str,
        paths: Sequence[str] = (),
        *,
        meta: Mapping[str, dict[str, Any]] | None = None,
        follows: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.site, self.paths, self.meta, self.follows = site, paths, meta or {}, follows
        self.notes: list[Any] = []

    async def start(self) -> AsyncIterator[Any]:
        for path in self.paths:
            yield self.request(path)

    def request(self, path: str, **arguments: Any) -> Request:
        given = {"errback": self.failed, "dont_filter": True, "meta": self.meta.get(path, {}), **arguments}
        return Request(self.site + path, **given)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield seen(response)
        for link in response.css("a::attr(href)").getall() if self.follows and hasattr(response, "text") else ():
            yield response.follow(link, errback=self.failed)

    async def download(self, request: Request) -> Response:
        """Download a page inside a callback."""
        engine = self.crawler.engine
        if SCRAPY < (2, 14):
            return await maybe_deferred_to_future(engine.download(request))
        return await engine.download_async(request)

    def failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
        note: dict[str, Any] = {"path": path_of(request.url), "error": type(failure.value).__name__}
        if isinstance(failure.value, NearDuplicate):
            note["decision"] = asdict(failure.value.decision)
        self.notes.append(note)


def path_of(url: str) -> str:
    """Return the path of *url* with its query."""
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def seen(response: Response) -> dict[str, Any]:
    """Return the fields of a response that a callback got. ``decision`` is ``None`` if the filter did not check it."""
    decision = response.meta.get("dedup")
    return {
        "path": path_of(response.url),
        "url": response.url,
        "status": response.status,
        "body": response.body.decode("utf-8", "replace"),
        "verdict": decision.verdict if decision else None,
        "decision": asdict(decision) if decision else None,
    }


# The process of the crawl


class _Recorder:
    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.items: list[Any] = []
        self.drops: list[Any] = []
        self.handled: list[Any] = []
        crawler.signals.connect(self.scraped, signal=signals.item_scraped)
        crawler.signals.connect(self.dropped, signal=near_duplicate_dropped)
        crawler.signals.connect(self.page_handled, signal=page_handled)

    def scraped(self, item: Any) -> None:
        self.items.append(item)

    def dropped(self, decision: Decision, request: Request, response: Response, spider: scrapy.Spider) -> None:
        self.drops.append({**asdict(decision), "request": request.url, "response": response.url, "spider": spider.name})

    def page_handled(self, outcome: Outcome, response: Response, spider: scrapy.Spider) -> None:
        fields = {"path": path_of(response.url), "spider": spider.name, "succeeded": outcome.succeeded}
        self.handled.append({**asdict(outcome), **fields})

    def result(self, error: BaseException | None) -> dict[str, Any]:
        return {
            "items": self.items,
            "stats": {} if error else self.crawler.stats.get_stats(),
            "drops": self.drops,
            "handled": self.handled,
            "notes": getattr(self.crawler.spider, "notes", []),
            "error": f"{type(error).__name__}: {error}" if error else "",
        }


def _error(crawl: asyncio.Task[None] | Deferred[None]) -> BaseException | None:
    """Return the error with which a crawl ended."""
    if isinstance(crawl, Deferred):  # Scrapy 2.13
        return crawl.result.value if isinstance(crawl.result, Failure) else None
    return crawl.exception()


def main() -> None:
    """Crawl with all spiders of the module ``script`` according to ``order.json``, and write ``result.json``."""
    order = json.loads(Path("order.json").read_text())
    sys.path.insert(0, os.getcwd())
    process = crawler_process(order["settings"])
    module = importlib.import_module("script")
    spiders = [
        member for member in vars(module).values() if isinstance(member, type) and issubclass(member, scrapy.Spider)
    ]
    recorders, crawls = [], []
    for spider in spiders:
        if spider.__module__ == "script":
            crawler = process.create_crawler(spider)
            recorders.append(_Recorder(crawler))
            crawls.append(process.crawl(crawler, **order["arguments"]))
    process.start()
    results = {
        recorder.crawler.spidercls.name: recorder.result(_error(crawl))
        for recorder, crawl in zip(recorders, crawls, strict=True)
    }
    Path("result.json").write_text(json.dumps(results, default=str))
