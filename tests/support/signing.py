"""Signing processes for the tests, without a crawl."""

from __future__ import annotations

from crawler_dedup import Config, SignedPage
from crawler_dedup.crawl.signers import Signers
from crawler_dedup.signing.messages import SignJob
from tests.support.crawling import article

ODD_CONFIG = Config(tokenizer="bigrams", extractor="tests.support.odd_extractor.extract")
JOB = SignJob("http://example.com/", None, None, "")
GOOD = article("good").encode()


class Log:
    """Stands in for the monitor of a crawl, and records what it gets."""

    def __init__(self) -> None:
        self.counts: list[str] = []
        self.lines: list[str] = []

    def count(self, name: str) -> None:
        self.counts.append(name)

    def log(self, level: int, message: str, *args: object) -> None:
        self.lines.append(message % args)

    def log_throttled(self, kind: str, level: int, message: str, *args: object) -> None:
        self.log(level, message, *args)


def odd(what: str) -> bytes:
    """Return a page that does with :data:`ODD_CONFIG` what its text says."""
    return f"<title>odd</title><p>{what}</p>".encode()


def pids(signers: Signers) -> list[int]:
    """Return the numbers of the processes that run."""
    return [queue.child.pid for queue in signers._queues if queue.child is not None]


async def sign(signers: Signers, body: bytes = GOOD, seconds: float = 30.0) -> SignedPage:
    """Sign a page."""
    return (await signers.sign(JOB, body, seconds)).page
