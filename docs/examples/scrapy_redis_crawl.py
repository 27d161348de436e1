"""Crawl with scrapy-redis and the filter: several processes share a queue of addresses.

``scrapy runspider scrapy_redis_crawl.py -s REDIS_URL=redis://127.0.0.1 -s DEDUP_DIR=/srv/dedup -O pages.jsonl``, and then
``redis-cli RPUSH shared:start_urls '{"url": "https://example.org/"}'``. On several machines the index is on a server, too:
``DEDUP_INDEX`` instead of ``DEDUP_DIR``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse, Request, Response
from scrapy.linkextractors import LinkExtractor
from scrapy_redis.spiders import RedisSpider
from twisted.python.failure import Failure

from crawler_dedup import NearDuplicate


class SharedSpider(RedisSpider):
    """Yields an item for each page, and follows the links of those that are no near-duplicates."""

    name = "shared"
    custom_settings = {
        "ADDONS": {"crawler_dedup.Addon": 500},
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "MAX_IDLE_TIME_BEFORE_CLOSE": 10,
    }
    links = LinkExtractor()

    async def start(self) -> AsyncIterator[Any]:
        """Yield the first requests: scrapy-redis 0.9 has this method only under a name that Scrapy no longer calls."""
        for request in self.next_requests():
            yield request

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page and its links."""
        if isinstance(response, HtmlResponse):
            yield {"url": response.url, "duplicate_of": ""}
            for link in self.links.extract_links(response):
                if urlsplit(link.url).netloc == urlsplit(response.url).netloc:
                    yield Request(link.url, errback=self.failed)

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Yield a near-duplicate. Without an errback nothing would be yielded for it."""
        if isinstance(failure.value, NearDuplicate):
            decision = failure.value.decision
            yield {"url": decision.url, "duplicate_of": decision.duplicate_of}
