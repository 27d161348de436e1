"""``crawler-dedup crawl`` and ``demo``: crawl sites, also without a project."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.live import Live
from rich.text import Text

from crawler_dedup.cli.options import Feeds, feed_options, parse_pairs, settings_option
from crawler_dedup.cli.project import usual_directory
from crawler_dedup.cli.terminal import INTERRUPTED, make_console, print_commands, print_json, quantity, shorten
from crawler_dedup.config import PREFIX, Config
from crawler_dedup.system.extras import note_on_extra
from crawler_dedup.urls import without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

OUTCOMES = {
    "checked": "pages",
    "kept": "kept",
    "dropped": "dropped: near-duplicates of kept pages",
    "marked": "would be dropped: near-duplicates of kept pages",
    "unchanged": 'unchanged since the last visit (DEDUP_REVISIT = "drop" drops them)',
    "changed": "changed since the last visit",
    "released": "passed, but not handled to the end",
    "unchecked": "passed unchecked",
    "failed": "more answered with an error, or could not be fetched",
}
"""What may have happened to pages, in words."""
_LIVE = ("kept", "dropped", "marked", "unchanged", "unchecked")
_Files = click.Path(exists=True, dir_okay=False)


@click.command()
def demo() -> None:
    """Show what the filter drops on two small sites.

    The sites come with the package and are served on this machine: no network is needed. Nothing is written to the working
    directory. The index is kept in a new directory among the system's temporary files.

    \b
    Example:
      crawler-dedup demo
    """
    from crawler_dedup.spiders.demo import DemoSpider  # noqa: PLC0415  (slow to load)
    from crawler_dedup.spiders.running import polite_settings, run_spider  # noqa: PLC0415

    if run_spider(DemoSpider, polite_settings()).interrupts:
        raise click.exceptions.Exit(INTERRUPTED)


@click.command()
@click.argument("urls", metavar="[URL]...", nargs=-1)
@feed_options
@click.option("--dry-run", is_flag=True, help="Drop nothing; record what would be dropped (`drops` lists it).")
@click.option("--max-pages", type=click.IntRange(min=1), metavar="N", help="Stop after N pages have passed the filter.")
@click.option(
    "--allow",
    multiple=True,
    metavar="HOST",
    help="Follow only links to this host (without its subdomains). Can be repeated.  [default: the hosts of the URLs]",
)
@click.option(
    "--own-text",
    type=click.Choice(("text", "markdown")),
    help="Add own_text: the text without menus, footers and the like.",
)
@click.option("--urls", "listed", type=_Files, metavar="FILE", help="Also crawl the addresses in FILE, one per line.")
@click.option(
    "--index",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Directory of the index.  [default: .scrapy/dedup]",
)
@settings_option("DOWNLOAD_DELAY=0.2")
@click.option("--json", is_flag=True, help="Print the outcome of the crawl as JSON.")
def crawl(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    urls: Sequence[str],
    feeds: Feeds,
    dry_run: bool,
    max_pages: int | None,
    allow: Sequence[str],
    own_text: str | None,
    listed: str | None,
    index: Path | None,
    settings: Sequence[str],
    json: bool,
) -> None:
    """Crawl sites politely, and write the pages that are not dropped.

    The crawl follows links within the hosts of the given URLs, obeys robots.txt, and waits about a second between two
    requests to a host, longer if the host is slow. -o and -O write the url, title, text, language, depth and referer of
    each page that is not dropped to a file. In a Scrapy project, the settings and the index of the project are used; -s
    sets any setting of Scrapy or of the filter. The next real crawl treats all pages of a --dry-run as new.

    Ctrl-C ends the crawl when the requested pages are handled; a second Ctrl-C stops it at once.

    Exit status 0: the crawl has ended. 2: an error, such as a URL that could not be crawled. 130: the crawl was
    interrupted.

    \b
    Examples:
      crawler-dedup crawl https://example.com/ --dry-run
      crawler-dedup crawl https://example.com/ -o pages.jsonl --max-pages 500
      crawler-dedup crawl https://example.com/ -o pages.jsonl --own-text markdown
      crawler-dedup crawl https://example.com/ -o out.csv -s DOWNLOAD_DELAY=0.2
    """
    if not urls and not listed:
        raise click.UsageError("Say where to start: crawler-dedup crawl https://example.com/ (or --urls FILE)")
    if json and feeds.use_stdout:
        raise click.UsageError("Pages and --json cannot both go to stdout.")
    from crawler_dedup.spiders.running import run_spider  # noqa: PLC0415  (slow to load)
    from crawler_dedup.spiders.site import SiteSpider  # noqa: PLC0415

    options = parse_pairs(settings, "setting", "DOWNLOAD_DELAY=0.2")
    if index is not None:
        options["DEDUP_DIR"] = str(index.absolute())
    if dry_run:
        options["DEDUP_ACTION"] = "mark"
    crawl_settings, config = _read_settings(options, feeds)
    arguments = {
        "urls": listed or "",
        "allow": ",".join(allow),
        "max_pages": str(max_pages or 0),
        "own_text": own_text or "",
    }
    with _crawl_line(is_shown=not feeds.use_stdout) as watch:
        run = run_spider(SiteSpider, crawl_settings, watch, url=urls, **arguments)
    sys.stdout.flush()  # writes the pages that went there; fails if their reader has ended
    figures = _figures_of(run.crawler, config)
    if json:
        print_json("crawl", [figures])
    else:
        print_summary(figures, is_usual_index="DEDUP_DIR" not in options)
    if isinstance(run.feed_error, BrokenPipeError):
        return
    if run.interrupts:
        raise click.exceptions.Exit(INTERRUPTED)
    if figures["failed_starts"] or figures["failed_feeds"]:
        raise click.exceptions.Exit(2)


@contextmanager
def _crawl_line(*, is_shown: bool) -> Iterator[Callable[[Crawler], object]]:
    """Show the figures of a crawl in a line if stderr is a terminal; yield the function that names the crawl."""
    crawlers: list[Crawler] = []

    def draw() -> Text:
        stats = crawlers[0].stats if crawlers else None
        if stats is None:
            return Text("starting")
        counts = {name: stats.get_value(f"dedup/{name}", 0) for name in _LIVE}
        parts = [f"{counts[name]:,} {name}" for name in _LIVE if counts[name]]
        return Text("  ".join([f"{stats.get_value('dedup/checked', 0):,} pages", *parts]), no_wrap=True)

    console = make_console(stderr=True)
    line = Live(console=console, get_renderable=draw, transient=True, redirect_stdout=False)
    with line if is_shown and console.is_terminal else nullcontext():
        yield crawlers.append


def _read_settings(options: Mapping[str, str], feeds: Feeds) -> tuple[Settings, Config]:
    """Return the settings of the crawl, in which *options* take precedence, and the configuration of the filter.

    The directory of the index is made absolute: outside of a project a crawl refuses a relative one.
    """
    from crawler_dedup.spiders.running import project_settings  # noqa: PLC0415  (slow to load)

    settings = project_settings()
    settings.setdict(dict(options), priority="cmdline")
    feeds.add_to(settings)
    config = Config.from_settings({name: settings[name] for name in settings if name.startswith(PREFIX)})
    config = replace(config, dir=str(usual_directory(config)))
    settings.set("DEDUP_DIR", config.dir, priority="cmdline")
    return settings, config


def _figures_of(crawler: Crawler, config: Config) -> dict[str, Any]:
    """Return the figures of a crawl with the spider ``site``, as ``docs/reference/json.md`` says."""
    from crawler_dedup.spiders.site import SiteSpider  # noqa: PLC0415  (slow to load)

    stats, spider = crawler.stats.get_stats(), crawler.spider
    assert isinstance(spider, SiteSpider)

    def count(name: str) -> int:
        return int(stats.get(f"dedup/{name}", 0))

    released = count("handled/released")
    return {
        **{name: count(name) for name in ("checked", "dropped", "marked", "unchanged", "changed", "unchecked")},
        "kept": max(0, count("kept") - released),
        "released": released,
        "failed": spider.failed_pages,
        "failed_starts": spider.failed_starts,
        "items": int(stats.get("item_scraped_count", 0)),
        "feeds": [without_credentials(feed) for feed in crawler.settings.getdict("FEEDS")],
        "failed_feeds": "dedup/not_stored" in stats,
        "index": config.dir,
    }


def print_summary(figures: Mapping[str, Any], *, is_usual_index: bool) -> None:
    """Print the *figures* of a crawl: on stdout, unless the pages are written there.

    Args:
        is_usual_index: whether other commands find the index without its name.
    """
    console = make_console(stderr=any(map(_is_stdout, figures["feeds"])))
    places = _places(figures)
    if not figures["checked"]:
        hint = " The statistics dedup/skipped/… in the log say why (-s LOG_LEVEL=INFO)."
        console.print(f"No pages were checked.{'' if figures['failed_starts'] else hint}", soft_wrap=True)
        if figures["items"]:
            console.print(places, soft_wrap=True, highlight=False)
        return
    labels = OUTCOMES if figures["checked"] > 1 else {**OUTCOMES, "checked": "page"}
    width = len(f"{max(figures[name] for name in labels):,}")
    for name, label in labels.items():
        if number := figures[name]:
            console.print(Text.assemble((f"{number:{width},}", "bold"), f" {label}"))
    console.print(f"\n{places}\n", soft_wrap=True, highlight=False)
    index = [] if is_usual_index else [shorten(figures["index"])]
    commands = {f"Report for the browser{note_on_extra('report')}": ["report", "--last", *index]}
    if figures["dropped"] or figures["marked"]:
        commands = {"Which pages were dropped": ["drops", "--last", *index], **commands}
    print_commands(console, commands)


def _places(figures: Mapping[str, Any]) -> str:
    """Return in words where the pages, the index and the journal are."""
    files = [feed for feed in figures["feeds"] if not _is_stdout(feed)]
    if figures["failed_feeds"]:
        pages = "Not all pages were written."
    elif figures["feeds"]:
        pages = f"{quantity(figures['items'], 'page')} written{' to ' * bool(files)}{', '.join(files)}."
    else:
        pages = "No page was written: name a file with -o pages.jsonl."
    return f"{pages} Index and journal: {shorten(figures['index'])}"


def _is_stdout(feed: str) -> bool:
    return feed.startswith("stdout:")
