"""A crawl that commits each item to a store, which :mod:`tests.support.killed` starts and stops.

The store is ``store.sqlite`` in its folder; when the crawl has ended by itself, it writes ``result.json`` there.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.utils.project import get_project_settings
from w3lib.url import add_or_replace_parameter

from crawler_dedup.spiders.site import SiteSpider
from tests.support.versions import crawler_process

_FIRST_PAGE = "first page"


class VisitingSpider(SiteSpider):
    """The spider ``site`` with a report of its first page, and with the bytes of the page in its items.

    Args:
        visit: a number that is added to every address; ``""``: no number. If addresses differ in each visit, a page that a
            killed crawl has recorded is not found again under its own address, but as a duplicate.
    """

    def __init__(self, url: str = "", visit: str = "", **kwargs: Any) -> None:
        super().__init__(url, **kwargs)
        self.visit = visit
        self.start_urls = [self._visited(url) for url in self.start_urls]
        self.has_page = False

    async def _item(self, response: HtmlResponse) -> dict[str, Any]:
        if not self.has_page:
            self.has_page = True
            print(_FIRST_PAGE, flush=True)
        item = await super()._item(response)
        return {**item, "visit": self.visit, "encoding": response.encoding, "body": response.body}

    def _follow(self, response: HtmlResponse) -> Iterator[Request]:
        for request in super()._follow(response):
            yield request.replace(url=self._visited(request.url))

    def _visited(self, url: str) -> str:
        return add_or_replace_parameter(url, "visit", self.visit) if self.visit else url


class StorePipeline:
    """Commits each item after a moment, as a remote store would, so that a kill may happen before."""

    def __init__(self, crawler: Crawler) -> None:
        self._file: str = crawler.settings["STORE_FILE"]
        self._delay = crawler.settings.getfloat("STORE_DELAY")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        return cls(crawler)

    def open_spider(self, spider: Spider | None = None) -> None:
        self._store = sqlite3.connect(self._file)
        self._store.execute(
            "CREATE TABLE IF NOT EXISTS pages"
            " (number INTEGER PRIMARY KEY, url TEXT, digest TEXT, encoding TEXT, body BLOB, item TEXT)"
        )

    def close_spider(self, spider: Spider | None = None) -> None:
        self._store.close()

    async def process_item(self, item: dict[str, Any], spider: Spider | None = None) -> dict[str, Any]:
        await asyncio.sleep(random.uniform(0.05, 1) * self._delay)
        fields = {name: value for name, value in item.items() if name != "body"}
        digest = sha256(item["text"].encode()).hexdigest()
        row = (item["url"], digest, item["encoding"], item["body"], json.dumps(fields, ensure_ascii=False))
        self._store.execute("INSERT INTO pages (url, digest, encoding, body, item) VALUES (?, ?, ?, ?, ?)", row)
        self._store.commit()
        return item


def main() -> None:
    """Crawl as the first argument says (JSON with the fields ``url``, ``folder``, ``visit``, ``life`` and ``settings``)."""
    given = json.loads(sys.argv[1])
    folder = Path(given["folder"])
    if given["life"]:
        from crawler_dedup.index.redis import runs

        runs.LIFE_SECONDS, runs.BEAT_SECONDS, runs.RENEWAL_SECONDS = given["life"], given["life"] / 10, 0
    settings = get_project_settings()
    command_line = {
        "AUTOTHROTTLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DEDUP_DIR": str(folder / "index"),
        "DOWNLOAD_DELAY": 0,
        "ITEM_PIPELINES": {StorePipeline: 500},
        "LOG_LEVEL": "WARNING",
        "ROBOTSTXT_OBEY": False,
        "STORE_DELAY": 0.1,
        "STORE_FILE": str(folder / "store.sqlite"),
        **given["settings"],
    }
    settings.update(command_line, priority="cmdline")
    process = crawler_process(settings)
    crawler = process.create_crawler(VisitingSpider)
    process.crawl(crawler, url=given["url"], visit=given["visit"])
    process.start()
    stats = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, (int, float, str))}
    written = folder / "result.json.new"
    written.write_text(json.dumps(stats), encoding="utf-8")
    written.rename(folder / "result.json")  # completely or not at all, because a kill may happen even here


if __name__ == "__main__":
    main()
