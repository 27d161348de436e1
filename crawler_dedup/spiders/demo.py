"""Crawl two small sites on this machine and show what the filter does."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

import scrapy
from rich.table import Table
from rich.text import Text
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings

from crawler_dedup import Config, Decision, near_duplicate_dropped
from crawler_dedup.cli.diff import print_side_by_side
from crawler_dedup.cli.terminal import discard_output, make_console, print_commands, quantity
from crawler_dedup.signing.signer import Signer
from crawler_dedup.spiders.demo_site import DemoSites
from crawler_dedup.spiders.site import SiteSpider
from crawler_dedup.system.extras import note_on_extra

_DAY = 86_400
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 1,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # the next request waits until the callback and its items are done
    "DEDUP_STORE_TEXT": True,  # the sites are gone when somebody looks at the drops
    "DEDUP_TIMEOUT": _DAY,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_TIMEOUT": _DAY,
    "LOG_LEVEL": "WARNING",
}
_EDITED = "/night-train"
"""The article that is shown beside its edited copy, which is kept."""


class DemoSpider(SiteSpider):
    """``crawler-dedup demo``: needs no network, and gives the same result every time, however slow the machine is."""

    name = "demo"

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Take one page after the other and give up on none; the index is the demo's own."""
        super().update_settings(settings)
        settings.setdict(_SETTINGS, priority="spider")
        settings.set("DEDUP_DIR", tempfile.mkdtemp(prefix="crawler-dedup-demo-"), priority="cmdline")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Connect the signal of dropped pages."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.dropped, signal=near_duplicate_dropped)
        return spider

    def __init__(self) -> None:
        self.sites = DemoSites()
        self.drops: list[Decision] = []
        self.bodies: dict[str, bytes] = {}
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
        self.bodies[response.url] = response.body
        async for result in super().parse(response, is_start):
            yield result

    def dropped(self, decision: Decision) -> None:
        """Note a dropped page."""
        self.drops.append(decision)

    def closed(self, reason: str) -> None:
        """Stop the sites, and print what was fetched, kept and dropped, unless the crawl was interrupted."""
        self.sites.close()
        if reason == "finished":
            try:
                self._print_result()
            except BrokenPipeError:  # the reader has ended, as `| head` does
                discard_output()

    def _print_result(self) -> None:
        console = make_console()
        console.print(_summarise(self.crawler.stats.get_stats()), end="\n\n")
        console.print(self._list_drops())
        console.print()
        new, kept = self.sites.mirror + _EDITED, self.sites.newspaper + _EDITED
        if {new, kept} <= self.bodies.keys():
            titles = f"kept, too: {self.sites.name(new)}", f"kept: {self.sites.name(kept)}"
            signer = Signer(Config(tokenizer="bigrams"))
            texts = (signer.main_text(self.bodies[url]) for url in (new, kept))
            print_side_by_side(console, *texts, folded=True, titles=titles, context=0)
            console.print()
        print_commands(
            console,
            {
                f"Report for the browser{note_on_extra('report')}": ["report", self.settings["DEDUP_DIR"]],
                "Try it on a site": ["crawl", "https://example.com/", "--dry-run"],
            },
        )

    def _list_drops(self) -> Table:
        """Return the kept pages, each with the pages that were dropped because of it."""
        groups: dict[str, list[str]] = {}
        for drop in self.drops:
            groups.setdefault(drop.duplicate_of, []).append(self.sites.name(drop.url))
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column("kept page", style="cyan")
        table.add_column("dropped because of it", overflow="fold")
        for kept, dropped in groups.items():
            table.add_row(self.sites.name(kept), "  ".join(dropped))
        return table


def _summarise(stats: Mapping[str, int]) -> Text:
    """Return how many pages were crawled, and what became of them."""

    def count(*names: str) -> int:
        return sum(stats.get(f"dedup/{name}", 0) for name in names)

    short = count("unchecked/too_little_text")
    parts = {
        "dropped": count("dropped"),
        "kept": count("kept"),
        "seen again": count("changed", "unchanged"),
        "too short to judge": short,
        "not judged for another reason": count("unchecked") - short,
    }
    listed = ", ".join(f"{number} {label}" for label, number in parts.items() if number)
    return Text.assemble(
        "Crawled a newspaper and its mirror, two small sites on this machine.\n",
        (quantity(count("checked"), "page"), "bold"),
        f": {listed}.",
    )
