"""One crawl in a process of its own: ``python -m benchmarks.sitecrawl URL RESULT.json [options]``.

Writes what was dropped, the statistics and the delays of the event loop to RESULT.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import trafilatura
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.utils.project import get_project_settings

from crawler_dedup import Decision, near_duplicate_dropped, own_text
from crawler_dedup.spiders.site import SiteSpider
from tests.support.processes import ROOT, Process, children, seconds_of, start
from tests.support.versions import crawler_process

_PROBE_INTERVAL = 0.005


class LinksSpider(SiteSpider):
    """A minimal crawl: it follows links and yields address and title, so that the cost of a filter is visible."""

    name = "links"

    async def parse(self, response: Response, is_start: bool = False) -> AsyncIterator[Any]:  # noqa: ARG002
        """Yield the page and its links."""
        if isinstance(response, HtmlResponse):
            yield {"url": response.url, "title": response.xpath("string(//title)").get("")}
            for request in self._follow(response):
                yield request


class ExtractSpider(LinksSpider):
    """Follows links, and extracts the text of each page: with the filter beside the crawl, without it in the callback."""

    name = "extract"

    async def parse(self, response: Response, is_start: bool = False) -> AsyncIterator[Any]:  # noqa: ARG002
        """Yield the page with its text, and its links."""
        if isinstance(response, HtmlResponse):
            if self.settings["DEDUP_ENABLED"] == "False":
                text = trafilatura.extract(response.selector.root) or ""
            else:
                text = (await own_text(response)).text
            yield {"url": response.url, "title": response.xpath("string(//title)").get(""), "text": text}
            for request in self._follow(response):
                yield request


SPIDERS: dict[str, type[SiteSpider]] = {"links": LinksSpider, "site": SiteSpider, "extract": ExtractSpider}


@dataclass(frozen=True)
class Crawled:
    """The results of a crawl: statistics, and drops (dropped URL, kept URL, distance, rule).

    What follows was measured from a number of responses on to the end: the number of pages, the seconds, the delays of the
    event loop in seconds, and the processor time, in seconds, of the process, of each of its threads, and of its workers.
    """

    stats: dict[str, Any]
    drops: list[dict[str, Any]]
    pages: int
    seconds: float
    stalls: list[float]
    cpu: float
    threads: dict[str, float]
    workers: float


def run(  # noqa: PLR0913
    url: str,
    *,
    items: Path,
    spider: str = "site",
    settings: Mapping[str, object] | None = None,
    core: int | None = None,
    kill_after: float | None = None,
    skip: int = 0,
    allow: str = "",
    fresh: bool = True,
) -> Crawled | None:
    """Crawl in a subprocess; return ``None`` if it was killed with SIGKILL after *kill_after* seconds.

    Args:
        skip: number of responses after which measuring begins.
        allow: hosts whose links are followed, separated by commas; by default that of *url*.
        fresh: start the interpreter anew, as a benchmark has to, instead of forking (:mod:`tests.support.processes`).
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = ["-m", "benchmarks.sitecrawl", url, str(result)]
        command += ["--spider", spider, "--items", str(items), "--skip", str(skip), "--allow", allow]
        for name, value in (settings or {}).items():
            command += ["-s", f"{name}={value}"]
        process: subprocess.Popen[bytes] | Process
        if core is None:
            process = start(command, stdout=None, stderr=None, fresh=fresh)
        else:
            process = subprocess.Popen(["taskset", "-c", str(core), sys.executable, *command], cwd=ROOT)
        try:
            process.wait(kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        return Crawled(**json.loads(result.read_text(encoding="utf-8")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("result", type=Path)
    parser.add_argument("--spider", choices=SPIDERS, default="site")
    parser.add_argument("--items", type=Path, required=True)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--allow", default="")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args(arguments)
    settings = get_project_settings()
    command_line = {
        "AUTOTHROTTLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "FEEDS": {str(given.items): {"format": "jsonlines"}},
        "LOG_LEVEL": "WARNING",
        **dict(setting.split("=", 1) for setting in given.settings),
    }
    settings.update(command_line, priority="cmdline")
    process = crawler_process(settings)
    crawler = process.create_crawler(SPIDERS[given.spider])
    watch = _Watch(crawler, given.skip)
    process.crawl(crawler, url=given.url, allow=given.allow)
    process.start()
    stats = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, (int, float, str))}
    measured = {field.name: getattr(watch, field.name) for field in fields(Crawled) if field.name != "stats"}
    given.result.write_text(json.dumps({"stats": stats, **measured}), encoding="utf-8")


class _Watch:
    """Records drops, and measures by how much a sleep of 5 ms on the event loop ends too late, after *skip* responses."""

    def __init__(self, crawler: Crawler, skip: int) -> None:
        self.drops: list[dict[str, Any]] = []
        self.pages = -skip
        self.seconds = 0.0
        self.stalls: list[float] = []
        self.cpu = 0.0
        self.threads: dict[str, float] = {}
        self.workers = 0.0
        crawler.signals.connect(self.dropped, signal=near_duplicate_dropped)
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.received, signal=signals.response_received)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    def dropped(self, decision: Decision) -> None:
        assert decision.match is not None
        match = decision.match
        drop = {"url": decision.url, "kept": decision.duplicate_of, "distance": match.distance, "rule": match.rule}
        self.drops.append(drop)

    def opened(self) -> None:
        # A crawl that is bound to one core leaves the others to its workers.
        for child in children(os.getpid()):
            os.sched_setaffinity(child, set(range(os.cpu_count() or 1)) - os.sched_getaffinity(0) or {0})
        self._probe = asyncio.ensure_future(self._sleep())
        self._begin()

    def received(self) -> None:
        self.pages += 1
        if not self.pages:
            self._begin()

    def _begin(self) -> None:
        self.stalls.clear()
        self.seconds, self.cpu, self._threads_before = -time.monotonic(), -time.process_time(), _time_of_threads()
        self.workers = -_time_of_workers()

    def closed(self) -> None:
        self.seconds += time.monotonic()
        self.cpu += time.process_time()
        self.workers += _time_of_workers()
        self.threads = {name: spent - self._threads_before.get(name, 0.0) for name, spent in _time_of_threads().items()}
        self._probe.cancel()

    async def _sleep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            asked = loop.time() + _PROBE_INTERVAL
            await asyncio.sleep(_PROBE_INTERVAL)
            self.stalls.append(loop.time() - asked)


def _time_of_workers() -> float:
    """Return the processor time of the workers in seconds."""
    return sum(map(seconds_of, children(os.getpid())))


def _time_of_threads() -> dict[str, float]:
    """Return the processor time of threads by name, in seconds; empty if the system does not report it."""
    spent: dict[str, float] = {}
    for thread in threading.enumerate():
        with suppress(OSError):
            nanoseconds = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text(encoding="ascii").split()[0]
            spent[thread.name] = spent.get(thread.name, 0.0) + int(nanoseconds) / 1e9
    return spent


if __name__ == "__main__":
    main()
