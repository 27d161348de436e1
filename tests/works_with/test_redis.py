"""With scrapy-redis: several processes on one queue of Redis and one index, which wait for more and go on."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crawler_dedup import Config, Deduplicator
from tests.support.crawling import Site, article, html, start_script
from tests.support.packages import needs_package
from tests.support.servers import Server

pytestmark = needs_package("scrapy_redis")

# The engine asks every five seconds whether there is more to do; here more often.
SPIDER = """
import json
from scrapy.core.engine import ExecutionEngine
from scrapy_redis.spiders import RedisSpider
from tests.support.walker import Walker, path_of

ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.1

class Spider(RedisSpider, Walker):
    name = "walker"

    async def start(self):
        for request in self.next_requests():
            yield request

    def make_request_from_data(self, data):
        return self.request(json.loads(data)["path"], dont_filter=False)

    def failed(self, failure):
        super().failed(failure)
        self.server.rpush("dropped", path_of(failure.request.url))

    def parse(self, response):
        for output in super().parse(response):
            yield output
"""
SETTINGS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_PERSIST": True,
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "ITEM_PIPELINES": {"scrapy_redis.pipelines.RedisPipeline": 300},
}


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what comes in a moment; a test that hangs says where."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pages(kind: str) -> dict[str, str]:
    return {f"/{kind}/{number}": article(f"{kind} {number}") for number in range(5)}


def test_processes_that_share_a_queue_and_an_index_keep_each_text_once(server: Server, tmp_path: Path) -> None:
    def push(*paths: str) -> None:
        server.run("RPUSH", "walker:start_urls", *(json.dumps({"path": path}) for path in paths))

    server.empty()
    first, second = pages("first"), pages("second")
    copies = {f"{path}/copy": text.replace("<nav>", "<nav>copy") for path, text in (first | second).items()}
    settings = {**SETTINGS, "REDIS_URL": f"unix://{server.socket}", "DEDUP_DIR": str(tmp_path / "index")}
    with Site({path: html(text) for path, text in (first | second | copies).items()}) as site:
        running = [start_script(tmp_path / name, SPIDER, settings, site=site.url) for name in "ab"]
        push(*first, *first)  # the second time the filter of requests takes them
        wait_until(lambda: server.run("LLEN", "walker:items") == len(first))
        # Both are idle now, and go on with what comes.
        push(*second)
        wait_until(lambda: server.run("LLEN", "walker:items") == len(first | second))
        push(*copies)
        wait_until(lambda: server.run("LLEN", "dropped") == len(copies))
        for crawl in running:
            crawl.interrupt()
        results = [crawl.results()["walker"] for crawl in running]
        assert sorted(site.paths()) == sorted([*first, *second, *copies])
    dropped: Any = server.run("LRANGE", "dropped", "0", "-1")
    assert sorted(map(bytes.decode, dropped)) == sorted(copies)
    assert sorted(path for result in results for path in result.paths()) == sorted([*first, *second])
    counts = results[0].counts() + results[1].counts()
    assert (counts["kept"], counts["dropped"]) == (10, 10)
    handled = results[0].counts("handled/") + results[1].counts("handled/")
    assert handled == {"well": 10, "settled": 10}
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams")) as deduplicator:
        assert len(deduplicator) == 10
