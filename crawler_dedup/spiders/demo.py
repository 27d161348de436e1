"""Crawl two bundled sites on this machine and show what the filter does."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import scrapy
from rich.console import Console
from rich.table import Table
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from crawler_dedup import Decision, near_duplicate_dropped
from crawler_dedup.spiders.demo_site import DemoSites
from crawler_dedup.spiders.site import SiteSpider

if TYPE_CHECKING:
    from typing_extensions import Self

_DAY = 86_400


class DemoSpider(SiteSpider):
    """``scrapy crawl demo``: needs no network, and gives the same result every time, however slow the machine is."""

    name = "demo"
    index: str

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Take one page after the other and give up on none; the index is the demo's own, and thrown away."""
        super().update_settings(settings)
        own = {
            "AUTOTHROTTLE_ENABLED": False,
            "CONCURRENT_REQUESTS": 1,
            "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # the next request waits until the callback and its items are done
            "DEDUP_CLAIM_TIMEOUT": _DAY,
            "DEDUP_TIMEOUT": _DAY,
            "DOWNLOAD_DELAY": 0,
            "DOWNLOAD_TIMEOUT": _DAY,
            "LOG_LEVEL": "WARNING",
        }
        for name, value in own.items():
            settings.set(name, value, priority="spider")
        cls.index = tempfile.mkdtemp(prefix="crawler-dedup-demo-")
        settings.set("DEDUP_DIR", cls.index, priority="cmdline")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Listen to what is dropped."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.dropped, signal=near_duplicate_dropped)
        return spider

    def __init__(self) -> None:
        self.sites = DemoSites()
        self.drops: list[Decision] = []
        hosts = (origin.removeprefix("http://") for origin in (self.sites.newspaper, self.sites.mirror))
        super().__init__(url=f"{self.sites.newspaper}/", allow=",".join(hosts))

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            yield request
        # Two pages once more, when all others are done: one has changed meanwhile, one has not.
        for path in ("/notice.html", "/articles/lighthouse.html"):
            yield scrapy.Request(self.sites.newspaper + path, dont_filter=True, priority=-100)

    def dropped(self, decision: Decision) -> None:
        """Note a drop for the table."""
        self.drops.append(decision)

    def closed(self, reason: str) -> None:  # noqa: ARG002
        """Show what was fetched, kept and dropped."""
        self.sites.close()
        shutil.rmtree(self.index, ignore_errors=True)
        console = Console(width=None if sys.stdout.isatty() else 120)
        console.print(self._drop_table())
        console.print(self._count_table())

    def _drop_table(self) -> Table:
        table = Table(title="Dropped pages", title_justify="left")
        table.add_column("dropped", overflow="fold")
        table.add_column("because this page is kept", overflow="fold")
        table.add_column("distance", justify="right")
        table.add_column("why")
        for decision in self.drops:
            match = decision.match
            assert match is not None
            table.add_row(
                self.sites.name(decision.url),
                self.sites.name(decision.duplicate_of),
                str(match.distance),
                f"{match.rule}: {match.coverage:.0%} covered",
            )
        return table

    def _count_table(self) -> Table:
        short, late = self._count("unchecked/too_little_text"), self._count("error/TimeoutError")
        other = self._count("unchecked") - short - late
        rows = {
            "pages fetched and checked": self._count("checked"),
            "kept": self._count("kept"),
            "dropped as near-duplicates": self._count("dropped"),
            "seen again, changed: passed": self._count("changed"),
            "seen again, unchanged: passed": self._count("unchanged"),
            "too little text to judge: passed": short,
            **({"no decision in time: passed": late} if late else {}),
            **({"not judged for another reason: passed": other} if other else {}),
            "links on dropped pages, not followed from there": self._count("links_dropped"),
            "bytes not stored": self._count("bytes_dropped"),
        }
        table = Table(show_header=False)
        for label, count in rows.items():
            table.add_row(label, str(count))
        return table

    def _count(self, name: str) -> int:
        count: int = self.crawler.stats.get_value(f"dedup/{name}", 0)
        return count
