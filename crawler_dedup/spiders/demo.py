"""Crawl two small sites on this machine and show what the filter does."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self

import scrapy
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings

from crawler_dedup import Config, Decision, near_duplicate_dropped
from crawler_dedup.cli.terminal import discard_output
from crawler_dedup.index.lmdb.locks import ProcessLock, is_held
from crawler_dedup.signing.signer import Signer
from crawler_dedup.spiders.demo_output import Comparison, DemoResult, print_result
from crawler_dedup.spiders.demo_site import DemoSites
from crawler_dedup.spiders.site import SiteSpider

_DAY = 86_400
_LOCK = "demo.lock"


class DemoSpider(SiteSpider):
    """``crawler-dedup demo``: needs no network, and gives the same result every time, however slow the machine is."""

    name = "demo"
    directory: ClassVar[DemoDirectory]

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Take one page after the other and give up on none; the index is the demo's own."""
        super().update_settings(settings)
        own = {
            "AUTOTHROTTLE_ENABLED": False,
            "CONCURRENT_REQUESTS": 1,
            "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # the next request waits until the callback and its items are done
            "DEDUP_CLAIM_TIMEOUT": _DAY,
            "DEDUP_STORE_TEXT": True,  # the sites are gone when somebody looks at the drops
            "DEDUP_TIMEOUT": _DAY,
            "DOWNLOAD_DELAY": 0,
            "DOWNLOAD_TIMEOUT": _DAY,
            "LOG_LEVEL": "WARNING",
        }
        for name, value in own.items():
            settings.set(name, value, priority="spider")
        cls.directory = DemoDirectory()
        settings.set("DEDUP_DIR", str(cls.directory.path), priority="cmdline")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Connect the signals of dropped pages and of the end."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.dropped, signal=near_duplicate_dropped)
        crawler.signals.connect(spider.print_result, signal=signals.engine_stopped)
        return spider

    def __init__(self) -> None:
        self.sites = DemoSites()
        self.drops: list[Decision] = []
        self.edited = f"{self.sites.mirror}/night-train", f"{self.sites.newspaper}/night-train"
        self.texts: dict[str, str] = {}
        self.is_complete = False
        hosts = (origin.removeprefix("http://") for origin in (self.sites.newspaper, self.sites.mirror))
        super().__init__(url=f"{self.sites.newspaper}/", allow=",".join(hosts))

    async def start(self) -> AsyncIterator[Any]:
        """Request the front page, and two pages again when all others are done: one has changed meanwhile, one has not."""
        async for request in super().start():
            yield request
        for path in ("/notice", "/lighthouse"):
            yield scrapy.Request(self.sites.newspaper + path, dont_filter=True, priority=-100)

    async def parse(self, response: Response, is_start: bool = False) -> AsyncIterator[Any]:
        """Yield the page and its links."""
        self._note_text(response)
        async for result in super().parse(response, is_start):
            yield result

    def dropped(self, decision: Decision, response: Response) -> None:
        """Note a dropped page."""
        self._note_text(response)
        self.drops.append(decision)

    def _note_text(self, response: Response) -> None:
        if response.url in self.edited:
            self.texts[response.url] = Signer(Config(tokenizer="bigrams")).main_text(response.body)

    def closed(self, reason: str) -> None:
        """Stop the sites."""
        self.sites.close()
        self.is_complete = reason == "finished"

    def print_result(self) -> None:
        """Print what was fetched, kept and dropped, unless the crawl was interrupted."""
        if not self.is_complete:
            return
        stats = self.crawler.stats.get_stats()
        counts = {name.removeprefix("dedup/"): count for name, count in stats.items() if name.startswith("dedup/")}
        new, kept = self.edited
        is_dropped = any(drop.url == new for drop in self.drops) and self.texts.keys() >= {new, kept}
        pair = Comparison(new, self.texts[new], kept, self.texts[kept]) if is_dropped else None
        try:
            print_result(DemoResult(self.drops, counts, pair, self.directory.path, self.sites.name))
        except BrokenPipeError:  # the reader has ended, as `| head` does
            discard_output()


class DemoDirectory:
    """The directory of a demo's index, in the system's directory for temporary files. The next demo replaces it.

    It has another name while the process of an earlier demo lives, or where somebody else has a directory of this name.

    Attributes:
        path: the directory, which exists and is empty but for the file of its lock.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="crawler-dedup-demo-"))
        self._lock = ProcessLock(self.path / _LOCK)
        usual = self.path.with_name("crawler-dedup-demo")
        if is_held(usual / _LOCK) is False:
            shutil.rmtree(usual, ignore_errors=True)
            with suppress(OSError):
                self.path = self.path.rename(usual)
