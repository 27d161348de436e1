"""The output of ``crawler-dedup crawl`` when the crawl has ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from crawler_dedup.cli.terminal import make_console, print_commands, quantity
from crawler_dedup.config import Config
from crawler_dedup.spiders.site import SiteSpider
from crawler_dedup.system.extras import note_on_extra
from crawler_dedup.urls import without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


@dataclass(frozen=True)
class CrawlResult:
    """The figures of a crawl.

    Attributes:
        checked: number of pages about which the filter decided.
        kept: number of new pages that represent others from now on.
        released: number of pages that passed, but were not handled, and represent none.
        dropped: number of pages that were dropped as near-duplicates.
        marked: number of such pages that passed, as in a dry run.
        unchanged: number of pages that were seen before, and have not changed.
        changed: number of pages that were seen before, and have changed.
        unchecked: number of pages that could not be judged, and passed.
        failed: number of pages that could not be fetched.
        failed_starts: number of given URLs that could not be crawled.
        items: number of pages that were handed to the feeds.
        feeds: files and other URIs to which pages were written.
        failed_feeds: whether pages may be missing in a feed, because it failed.
        index: directory of the index and of the journal.
    """

    checked: int
    kept: int
    released: int
    dropped: int
    marked: int
    unchanged: int
    changed: int
    unchecked: int
    failed: int
    failed_starts: int
    items: int
    feeds: list[str]
    failed_feeds: bool
    index: str


def result_of(crawler: Crawler, config: Config) -> CrawlResult:
    """Return the figures of a crawl with the spider ``site``."""
    stats, spider = crawler.stats.get_stats(), crawler.spider
    assert isinstance(spider, SiteSpider)

    def count(name: str) -> int:
        return int(stats.get(f"dedup/{name}", 0))

    return CrawlResult(
        checked=count("checked"),
        kept=max(0, count("kept") - count("handled/released")),
        released=count("handled/released"),
        dropped=count("dropped"),
        marked=count("marked"),
        unchanged=count("unchanged"),
        changed=count("changed"),
        unchecked=count("unchecked"),
        failed=spider.failed_pages,
        failed_starts=spider.failed_starts,
        items=int(stats.get("item_scraped_count", 0)),
        feeds=[without_credentials(feed) for feed in crawler.settings.getdict("FEEDS")],
        failed_feeds="dedup/not_stored" in stats,
        index=config.dir,
    )


def print_summary(result: CrawlResult, *, is_usual_index: bool) -> None:
    """Print *result*: on stdout, unless the pages are written there.

    Args:
        is_usual_index: whether other commands find the index without its name.
    """
    console = make_console(stderr=any(map(_is_stdout, result.feeds)))
    if not result.checked:
        hint = "" if result.failed_starts else " The statistics dedup/skipped/… in the log say why (-s LOG_LEVEL=INFO)."
        console.print(f"No pages were checked.{hint}", soft_wrap=True)
        if result.items:
            console.print(_places(result), soft_wrap=True, highlight=False)
        return
    console.print(_counts(result))
    console.print()
    console.print(_places(result), soft_wrap=True, highlight=False)
    console.print()
    index = [] if is_usual_index else [_shown(result.index)]
    commands = {f"Report for the browser{note_on_extra('report')}": ["report", "--last", *index]}
    if result.dropped or result.marked:
        commands = {"Which pages, and why": ["drops", "--last", *index], **commands}
    print_commands(console, commands)


def _counts(result: CrawlResult) -> Text:
    """Return a line for each outcome that some pages had."""
    rows = {
        "pages checked" if result.checked != 1 else "page checked": result.checked,
        "kept": result.kept,
        "dropped as near-duplicates of kept pages": result.dropped,
        "near-duplicates of kept pages, which would be dropped": result.marked,
        "seen before, unchanged": result.unchanged,
        "seen before, changed": result.changed,
        "passed, but not handled to the end": result.released,
        "could not be judged, and passed": result.unchecked,
        "could not be fetched": result.failed,
    }
    width = len(f"{max(rows.values()):,}")
    lines = (Text.assemble((f"{count:{width},}", "bold"), f" {label}") for label, count in rows.items() if count)
    return Text("\n").join(lines)


def _places(result: CrawlResult) -> str:
    """Return in words where the pages, the index and the journal are."""
    files = [feed for feed in result.feeds if not _is_stdout(feed)]
    if result.failed_feeds:
        pages = "Not all pages were written."
    elif result.feeds:
        pages = f"{quantity(result.items, 'page')} written{' to ' * bool(files)}{', '.join(files)}."
    else:
        pages = "No page was written: name a file with -o pages.jsonl."
    return f"{pages} Index and journal: {_shown(result.index)}"


def _is_stdout(feed: str) -> bool:
    return feed.startswith("stdout:")


def _shown(path: str) -> str:
    """Return *path*, relative to the working directory if it is below that."""
    directory = Path.cwd()
    return str(Path(path).relative_to(directory) if Path(path).is_relative_to(directory) else path)
