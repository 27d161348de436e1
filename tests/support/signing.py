"""Workers for the tests, without a crawl."""

import logging
from pathlib import Path
from typing import Any

from crawler_dedup import Config, Decision, SignedPage
from crawler_dedup.crawl.serveroutages import Outages
from crawler_dedup.crawl.workers import Workers
from crawler_dedup.worker.messages import CheckPage, LogLine
from tests.support.crawling import article

ODD_CONFIG = Config(tokenizer="bigrams", extractor="tests.support.odd_extractor.extract")
URL = "http://example.com/"
GOOD = article("good").encode()


class Log:
    """Stands in for the monitor of a crawl, and records what it gets."""

    def __init__(self) -> None:
        self.counts: list[str] = []
        self.lines: list[str] = []

    def count(self, name: str, by: int = 1) -> None:
        self.counts += by * [name]

    def log(self, level: int, message: str, *args: object) -> None:
        self.lines.append(message % args)

    def warn(self, message: str, *args: object) -> None:
        self.log(logging.WARNING, message, *args)

    def log_throttled(self, kind: str, level: int, message: str, *args: object) -> None:
        self.log(level, message, *args)

    def log_line(self, line: LogLine) -> None:
        self.lines.append(line.text)


def open_workers(directory: Path, log: Log, config: Config = ODD_CONFIG) -> Workers:
    """Open an index in workers."""
    monitor: Any = log
    return Workers(str(directory), config, monitor, Outages(0, monitor, lambda: False))


def odd(what: str) -> bytes:
    """Return a page that does with :data:`ODD_CONFIG` what its text says."""
    return f"<title>odd</title><p>{what}</p>".encode()


def pids(workers: Workers) -> list[int]:
    """Return the numbers of the processes that run."""
    return [worker.child.pid for worker in workers._supervised if worker.child is not None]


def check(
    body: bytes = GOOD, url: str = URL, *, scope: str = "", encoding: str | None = None
) -> tuple[CheckPage, bytes]:
    """Return the arguments of :meth:`Workers.ask` that check a page."""
    return CheckPage(url, encoding, url, scope), body


async def sign(workers: Workers, body: bytes = GOOD, url: str = URL) -> SignedPage:
    """Sign a page."""
    return (await workers.ask(*check(body, url))).page


async def decide(workers: Workers, body: bytes = GOOD, url: str = URL) -> Decision:
    """Decide about a page."""
    decision = (await workers.ask(*check(body, url))).decision
    assert isinstance(decision, Decision), decision
    return decision
