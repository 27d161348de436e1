"""Crawls that are stopped and started again, and what they have stored.

Started as a program, this is one such crawl: ``python -m tests.support.killed URL[,URL…] FOLDER [options]``. It commits each
item to ``FOLDER/store.sqlite`` and, when it has ended by itself, writes ``FOLDER/result.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import HtmlResponse
from scrapy.utils.project import get_project_settings
from w3lib.url import add_or_replace_parameter

from crawler_dedup import Config, Deduplicator, SignedPage
from spiders.site import SiteSpider
from tests.support.processes import start

_DEADLINE = 180
"""Seconds after which a crawl that hangs is an error."""
_FIRST_PAGE = "first page"

# The process of the crawl


class VisitingSpider(SiteSpider):
    """The spider ``site``, which says when it has the first page; its items have the bytes of the page too.

    Args:
        visit: a number that every address bears, ``""`` for none: where an address is another one in each visit, a page
            that a killed crawl has recorded is not met again under its own address, but as a duplicate.
    """

    def __init__(self, url: str = "", visit: str = "", **kwargs: Any) -> None:
        super().__init__(url, **kwargs)
        self.visit = visit
        self.start_urls = [self._visited(one) for one in self.start_urls]
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
    """Commits each item, after a moment as a remote store would take it: there a kill finds pages half-way."""

    def __init__(self, crawler: Crawler) -> None:
        self._file: str = crawler.settings["STORE_FILE"]
        self._delay = crawler.settings.getfloat("STORE_DELAY")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        return cls(crawler)

    def open_spider(self) -> None:
        self._store = sqlite3.connect(self._file)
        self._store.execute(
            "CREATE TABLE IF NOT EXISTS pages"
            " (number INTEGER PRIMARY KEY, url TEXT, digest TEXT, encoding TEXT, body BLOB, item TEXT)"
        )

    def close_spider(self) -> None:
        self._store.close()

    async def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(random.uniform(0.05, 1) * self._delay)
        told = {name: value for name, value in item.items() if name != "body"}
        digest = sha256(item["text"].encode()).hexdigest()
        row = (item["url"], digest, item["encoding"], item["body"], json.dumps(told, ensure_ascii=False))
        self._store.execute("INSERT INTO pages (url, digest, encoding, body, item) VALUES (?, ?, ?, ?, ?)", row)
        self._store.commit()
        return item


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--visit", default="")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args(arguments)
    settings = get_project_settings()
    own = {
        "AUTOTHROTTLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DEDUP_DIR": str(given.folder / "index"),
        "DOWNLOAD_DELAY": 0,
        "ITEM_PIPELINES": {StorePipeline: 500},
        "LOG_LEVEL": "WARNING",
        "ROBOTSTXT_OBEY": False,
        "STORE_DELAY": 0.1,
        "STORE_FILE": str(given.folder / "store.sqlite"),
        **dict(one.split("=", 1) for one in given.settings),
    }
    settings.update(own, priority="cmdline")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(VisitingSpider)
    process.crawl(crawler, url=given.url, visit=given.visit)
    process.start()
    stats = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, (int, float, str))}
    written = given.folder / "result.json.new"
    written.write_text(json.dumps(stats), encoding="utf-8")
    written.rename(given.folder / "result.json")  # whole or not at all: a kill may come even here


# Stopping it


@dataclass(frozen=True)
class Ended:
    """How a crawl ended.

    Attributes:
        reason: ``killed``, or what Scrapy says: ``finished``, ``shutdown``.
        seconds: from the first page to the end.
        stats: its statistics; none of a killed one.
    """

    reason: str
    seconds: float
    stats: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A crawl that is started until it finishes.

    Attributes:
        url: where it starts; several with commas between.
        folder: of its store, its index and its ``JOBDIR``.
        settings: Scrapy settings.
        new_addresses: whether each start finds every page at another address.
        resumes: whether it has a ``JOBDIR``.
    """

    url: str
    folder: Path
    settings: Mapping[str, object] = field(default_factory=dict)
    new_addresses: bool = False
    resumes: bool = False

    def run(self, number: int = 0, *, after: float | None = None, stop: signal.Signals = signal.SIGKILL) -> Ended:
        """Crawl; if it is not over so many seconds *after* its first page, send the signal *stop*.

        SIGKILL goes to the whole process group, SIGINT is Ctrl-C once.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        arguments = ["-m", "tests.support.killed", self.url, str(self.folder)]
        if self.new_addresses:
            arguments += ["--visit", str(number + 1)]
        for name, value in {**self.settings, **self._jobdir()}.items():
            arguments += ["-s", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            process = start(arguments, stderr=log.fileno(), start_new_session=True)
        assert process.stdout is not None
        try:
            process.stdout.readline()  # of the first page, or of the end
            begun = time.monotonic()
            try:
                process.wait(_DEADLINE if after is None else after)
            except subprocess.TimeoutExpired:
                assert after is not None, f"The crawl hangs; its log: {self.folder / 'log'}"
                os.killpg(process.pid, stop)
                process.wait(_DEADLINE)
            seconds = time.monotonic() - begun
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if result.exists():
            stats = json.loads(result.read_text(encoding="utf-8"))
            return Ended(stats["finish_reason"], seconds, stats)
        assert process.returncode == -signal.SIGKILL, (self.folder / "log").read_text(errors="replace")
        return Ended("killed", seconds, {})

    def _jobdir(self) -> dict[str, object]:
        return {"JOBDIR": self.folder / "job"} if self.resumes else {}

    def run_to_the_end(self, instants: Sequence[float], *, stop: signal.Signals = signal.SIGKILL) -> list[Ended]:
        """Start it again and again, stopping one run at each of the *instants*, until one has finished."""
        runs: list[Ended] = []
        while not runs or runs[-1].reason != "finished":
            after = instants[len(runs)] if len(runs) < len(instants) else None
            runs.append(self.run(len(runs), after=after, stop=stop))
        return runs

    def stored(self) -> list[Stored]:
        """What its store holds, in the order in which it came."""
        with closing(sqlite3.connect(self.folder / "store.sqlite")) as store:
            found = store.execute("SELECT url, digest, encoding, body FROM pages ORDER BY number")
            return [Stored(*row) for row in found]


# What was stored


@dataclass(frozen=True)
class Stored:
    """A row of the store; *digest* is that of the page's main text."""

    url: str
    digest: str
    encoding: str
    body: bytes


@dataclass(frozen=True)
class Compared:
    """What a crawl that was stopped has stored, beside what the undisturbed one has.

    Attributes:
        wanted: how many contents the undisturbed crawl has stored.
        covered: addresses of those that are missing here, where the filter's rules say that a stored page covers them:
            which of two alike pages is kept is a matter of their order.
        lost: addresses of the other missing ones.
        added: how many contents are stored that the undisturbed crawl has not stored.
        twice: how many contents are stored more than once.
    """

    wanted: int
    covered: list[str]
    lost: list[str]
    added: int
    twice: int

    @property
    def equal(self) -> bool:
        """Whether both have stored the same contents."""
        return not (self.covered or self.lost or self.added)


def compare(wanted: Sequence[Stored], stored: Sequence[Stored], config: Config) -> Compared:
    """Hold what is *stored* against what the undisturbed crawl has stored."""
    times = Counter(one.digest for one in stored)
    first = {one.digest: one for one in reversed(wanted)}
    missing = [one for digest, one in first.items() if digest not in times]
    covered = _covered(missing, stored, config) if missing else set()
    return Compared(
        len(first),
        [one.url for one in missing if one.url in covered],
        [one.url for one in missing if one.url not in covered],
        len(times.keys() - first.keys()),
        sum(count > 1 for count in times.values()),
    )


def _covered(missing: Sequence[Stored], stored: Sequence[Stored], config: Config) -> set[str]:
    """Addresses of the *missing* pages that one of the *stored* ones covers: as two pages of which nothing else is known,
    or in an index that has seen all of these, and so knows the titles of their sites."""
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as deduplicator:

        def sign(page: Stored) -> SignedPage:
            return deduplicator.sign(page.url, page.body, encoding=page.encoding)

        kept = [sign(one) for one in {one.body: one for one in stored}.values()]
        deduplicator.decide(kept)
        covered = set()
        for one in missing:
            page = sign(one)
            decision = deduplicator.decide([page])[0]
            if not decision.passes or any(deduplicator.compare(page, other) is not None for other in kept):
                covered.add(one.url)
            if decision.passes:
                deduplicator.release(decision)  # else it would stand for the next
        return covered


# Again and again


@dataclass(frozen=True)
class Trial:
    """What came of stopping crawls again and again.

    Attributes:
        stops: how many runs were stopped.
        runs: how many were started.
        ends: one for each index and store: what the runs had stored when one of them had finished; none where no run was
            stopped, because the first had ended before.
        dropped: pages that the finishing runs have dropped, by the filter's count.
    """

    stops: int
    runs: int
    ends: list[Compared]
    dropped: int

    @property
    def lost(self) -> list[str]:
        """Addresses of contents that were lost."""
        return [url for end in self.ends for url in end.lost]


def try_stops(
    job: Job, undisturbed: Job, *, stops: int, seconds: float, seed: int, stop: signal.Signals = signal.SIGKILL
) -> Trial:
    """Stop *job* so often, up to five times in a row on one index and one store, each time at a random instant.

    Args:
        job: its folder gets one for each index.
        undisturbed: the same crawl, which has finished without being stopped.
        seconds: from the first page, in which the instants lie; less when a crawl takes less.
    """
    source = random.Random(seed)
    wanted = undisturbed.stored()
    config = Config.from_settings({"DEDUP_TOKENIZER": job.settings.get("DEDUP_TOKENIZER", "jieba")})
    runs: list[Ended] = []
    ends: list[Compared] = []
    stopped = 0
    for number in count():
        if stopped == stops:
            break
        own = replace(job, folder=job.folder / str(number))
        row = min(source.randint(1, 5), stops - stopped)
        done = own.run_to_the_end([source.uniform(0, seconds) for _ in range(row)], stop=stop)
        if len(done) > 1:
            stopped += len(done) - 1
            runs += done
            ends.append(compare(wanted, own.stored(), config))
        else:
            seconds = min(seconds, done[0].seconds)  # the machine has become faster
    dropped = sum(run.stats.get("dedup/dropped", 0) for run in runs)
    return Trial(stopped, len(runs), ends, dropped)


if __name__ == "__main__":
    main()
