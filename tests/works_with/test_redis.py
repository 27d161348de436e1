"""With scrapy-redis: several processes on one queue of Redis and one index, which wait for more and go on."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator
from tests.support.crawling import Site, article, html, start_script
from tests.support.packages import needs_package, needs_program

pytestmark = [needs_package("scrapy_redis"), needs_program("redis-server")]

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


class Server:
    """A Redis server of this test."""

    def __init__(self, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}"
        self._port = port

    def ask(self, *command: str) -> str:
        """Return what ``redis-cli`` prints."""
        arguments = ["redis-cli", "-p", str(self._port), *command]
        return subprocess.run(arguments, capture_output=True, text=True, check=False).stdout.strip()

    def push(self, *paths: str) -> None:
        self.ask("RPUSH", "walker:start_urls", *(json.dumps({"path": path}) for path in paths))

    def stored(self) -> int:
        return int(self.ask("LLEN", "walker:items"))

    def dropped(self) -> list[str]:
        return sorted(self.ask("LRANGE", "dropped", "0", "-1").split())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    opened = Server(port)
    wait_until(lambda: opened.ask("PING") == "PONG")
    yield opened
    process.terminate()
    process.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what comes in a moment; a test that hangs says where."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pages(kind: str) -> dict[str, str]:
    return {f"/{kind}/{number}": article(f"{kind} {number}") for number in range(5)}


def test_processes_that_share_a_queue_and_an_index_keep_each_text_once(server: Server, tmp_path: Path) -> None:
    first, second = pages("first"), pages("second")
    copies = {f"{path}/copy": text.replace("<nav>", "<nav>copy") for path, text in (first | second).items()}
    settings = {**SETTINGS, "REDIS_URL": server.url, "DEDUP_DIR": str(tmp_path / "index")}
    with Site({path: html(text) for path, text in (first | second | copies).items()}) as site:
        running = [start_script(tmp_path / name, SPIDER, settings, site=site.url) for name in "ab"]
        server.push(*first, *first)  # the second time the filter of requests takes them
        wait_until(lambda: server.stored() == len(first))
        # Both are idle now, and go on with what comes.
        server.push(*second)
        wait_until(lambda: server.stored() == len(first | second))
        server.push(*copies)
        wait_until(lambda: len(server.dropped()) == len(copies))
        for crawl in running:
            crawl.interrupt()
        results = [crawl.results()["walker"] for crawl in running]
        assert sorted(site.paths()) == sorted([*first, *second, *copies])
    assert server.dropped() == sorted(copies)
    assert sorted(path for result in results for path in result.paths()) == sorted([*first, *second])
    counts = results[0].counts() + results[1].counts()
    assert (counts["kept"], counts["dropped"]) == (10, 10)
    handled = results[0].counts("handled/") + results[1].counts("handled/")
    assert handled == {"well": 10, "settled": 10}
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams")) as deduplicator:
        assert len(deduplicator) == 10
