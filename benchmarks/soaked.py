"""Crawl many generated pages, for ``benchmarks.soak``: ``python -m benchmarks.soaked FOLDER [options]``.

Nothing comes over a network: a download handler makes each page in this process, from words of the project's own word list
and of jieba's dictionary. The rest is a real crawl: scheduler, request fingerprints, the filter with its settling and its
journal, a feed of items with their texts. Each sample of this process is printed as a line of JSON on standard output.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import scrapy
from scrapy import Request, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.utils.project import get_project_settings
from scrapy.utils.trackref import live_refs

from crawler_dedup import main_text
from crawler_dedup.system.compression import decompress

HOSTS = 200
ARTICLES = 24
"""Number of articles to which an index page links, besides the next index page."""
_ORIGINALS = 7  # of ten articles; the other three are near-duplicates of earlier articles
_CHINESE = 5  # every fifth article
_SENTENCES = 20_000

# Pages


@cache
def _words(language: str) -> list[str]:
    if language == "zh":
        rows = (line.split(" ") for line in (files("jieba") / "dict.txt").read_text("utf-8").splitlines())
        return sorted(word for word, times, *_ in rows if len(word) == 2 and int(times) >= 300)
    packed = (files("crawler_dedup") / "data/english.txt.zst").read_bytes()
    rows = (line.split(" ") for line in decompress(packed, 1 << 30).decode().splitlines())
    return sorted(word for word, *_ in rows if word.isalpha() and len(word) > 3)


@cache
def _sentences(language: str) -> list[str]:
    """Return the sentences of which articles are made: two articles have hardly a sentence in common."""
    source, words = random.Random(f"sentences {language}"), _words(language)
    chosen = (source.choices(words, k=source.randint(7, 15)) for _ in range(_SENTENCES))
    return ["".join(words) + "。" if language == "zh" else " ".join(words).capitalize() + ". " for words in chosen]


def _original(number: int) -> int:
    """Return the number of the article whose text article *number* has: an earlier article, or itself."""
    source = random.Random(number)
    while number % 10 >= _ORIGINALS:
        number = source.randrange(number)
    return number


def _language(original: int) -> str:
    return "en" if original % _CHINESE else "zh"


def _heading(original: int) -> str:
    words = random.Random(-original).choices(_words(_language(original)), k=5)
    return " ".join(words) if _language(original) == "en" else "".join(words)


def _text(number: int) -> list[str]:
    """Return the sentences of an article. A near-duplicate has one other sentence."""
    original = _original(number)
    source, sentences = random.Random(original), _sentences(_language(original))
    chosen = source.choices(sentences, k=source.randint(15, 45))
    if number != original:
        chosen[source.randrange(len(chosen))] = sentences[number % _SENTENCES]
    return chosen


@cache
def _site(host: int) -> tuple[str, str]:
    """Return the name of a site and its menu."""
    names = [word.capitalize() for word in random.Random(host).sample(_words("en"), 12)]
    menu = "".join(f'<li><a href="/{name.lower()}/" class="menu-item">{name}</a></li>\n' for name in names)
    return f"The {names[0]} {names[1]}", menu


def _page(host: int, title: str, content: str) -> str:
    """Return *content* in the frame of a site, which is the same on all pages of the site."""
    site, menu = _site(host)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} | {site}</title>\n'
        f'<link rel="stylesheet" href="/style.css"></head><body><header><h2>{site}</h2><nav><ul>{menu}</ul></nav></header>\n'
        f"<main>{content}</main>\n<footer><p>{site}, all rights reserved</p></footer></body></html>"
    )


def article(host: int, number: int) -> str:
    """Return the page of article *number* on *host*."""
    heading, sentences = escape(_heading(_original(number))), _text(number)
    text = "".join(f"<p>{''.join(sentences[at : at + 4])}</p>\n" for at in range(0, len(sentences), 4))
    near = random.Random(number).choices(range(number + ARTICLES), k=8)
    links = "".join(
        f'<li><a href="/archive/{number_of_article}?from={number}#top">{number_of_article}</a></li>'
        for number_of_article in near
    )
    return _page(host, heading, f"<article><h1>{heading}</h1>\n{text}</article><aside><ul>{links}</ul></aside>")


def index_page(host: int, number: int) -> str:
    """Return the index page *number* of *host*: links to articles, and to the next index page."""
    first = (number * HOSTS + host) * ARTICLES
    entries = "".join(
        f'<li><a class="follow" href="/article/{at}">{escape(_heading(_original(at)))}</a></li>\n'
        for at in range(first, first + ARTICLES)
    )
    following = f'<a class="follow" href="/list/{number + 1}">Older</a>'
    return _page(host, f"Archive, page {number}", f"<ul>{entries}</ul>{following}")


class MadePages(BaseDownloadHandler):
    """Answers every request with a generated page."""

    async def download_request(self, request: Request) -> Response:
        """Make the page of ``http://h001.example/list/0`` or ``…/article/17``."""
        _, _, name, kind, number = request.url.split("/")
        make = {"list": index_page, "article": article}[kind]
        body = make(int(name[1:4]), int(number)).encode()
        return HtmlResponse(request.url, body=body, headers={"Content-Type": "text/html; charset=utf-8"})


# The crawl


class SoakSpider(scrapy.Spider):
    """Yields the text of each article and follows the links of index pages, until *pages* pages have come."""

    name = "soak"

    def __init__(self, pages: int, *, extract: bool) -> None:
        super().__init__()
        self._pages = pages
        self._extract = extract
        self._hosts = min(HOSTS, pages)
        self._requested = self._hosts

    async def start(self) -> AsyncIterator[Request]:
        for host in range(self._hosts):
            yield Request(f"http://h{host:03}.example/list/0")

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the page and its links."""
        text = await main_text(response) if self._extract else " ".join(response.css("article p::text").getall())
        yield {"url": response.url, "title": response.css("title::text").get(), "text": text}
        for link in response.css("a.follow::attr(href)").getall():
            if self._requested < self._pages:
                self._requested += 1
                yield response.follow(link)


# Samples


@dataclass(frozen=True)
class Sample:
    """The state of the process after a number of *pages*: megabytes (own memory and mapped files separately), file
    descriptors, threads, responses that are not freed yet; and the milliseconds per page since the last sample.

    Attributes:
        kept: pages that the filter has kept.
        dropped: pages that the filter has dropped.
        grown: (place of allocation, kilobytes more than at the first sample); only with ``--trace``.
    """

    pages: int
    rss: float
    anonymous: float
    file: float
    descriptors: int
    threads: int
    responses: int
    kept: int
    dropped: int
    wall: float
    cpu: float
    grown: Sequence[tuple[str, float]] = ()


class Sampler:
    """Takes a sample after every *interval* pages, and at the end."""

    def __init__(self, crawler: Crawler, interval: int, *, traces: bool) -> None:
        self._crawler = crawler
        self._interval = interval
        self._traces = traces
        self._pages = 0
        self._first: tracemalloc.Snapshot | None = None
        self._last = 0, time.monotonic(), time.process_time()
        crawler.signals.connect(self.came, signal=signals.response_downloaded)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    def came(self) -> None:
        self._pages += 1
        if self._pages % self._interval == 0:
            self._take()

    def closed(self) -> None:
        if self._pages % self._interval:
            self._take()

    def _take(self) -> None:
        pages, wall, cpu = self._last
        came = self._pages - pages
        sample = Sample(
            pages=self._pages,
            rss=_memory("VmRSS"),
            anonymous=_memory("RssAnon"),
            file=_memory("RssFile"),
            descriptors=len(list(Path("/proc/self/fd").iterdir())),
            threads=threading.active_count(),
            responses=len(live_refs[HtmlResponse]),
            kept=self._crawler.stats.get_value("dedup/kept", 0),
            dropped=self._crawler.stats.get_value("dedup/dropped", 0),
            wall=1000 * (time.monotonic() - wall) / came,
            cpu=1000 * (time.process_time() - cpu) / came,
        )
        if self._traces:
            sample = replace(sample, grown=self._grown())
        print(json.dumps(asdict(sample)), flush=True)
        self._last = self._pages, time.monotonic(), time.process_time()

    def _grown(self) -> list[tuple[str, float]]:
        gc.collect()
        now = tracemalloc.take_snapshot()
        if self._first is None:
            self._first = now
            return []
        compared = now.compare_to(self._first, "lineno")[:25]
        return [(str(difference.traceback[0]), difference.size_diff / 1024) for difference in compared]


def _memory(name: str) -> float:
    status = Path("/proc/self/status").read_text("ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(f"{name}:"))


def _settings(folder: Path) -> dict[str, Any]:
    return {
        "AUTOTHROTTLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DEDUP_DIR": str(folder / "index"),
        "DEDUP_TOKENIZER": "rjieba",
        "DOWNLOAD_DELAY": 0,
        "DOWNLOAD_HANDLERS": {"http": MadePages},
        "FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines"}},
        "LOG_LEVEL": "WARNING",
        "ROBOTSTXT_OBEY": False,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--interval", type=int, default=10_000)
    parser.add_argument("--extract", action="store_true")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args(arguments)
    for language in ("en", "zh"):
        _sentences(language)
    if given.trace:
        tracemalloc.start()
    settings = get_project_settings()
    command_line = {**_settings(given.folder), **dict(setting.split("=", 1) for setting in given.settings)}
    settings.update(command_line, priority="cmdline")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SoakSpider)
    _sampler = Sampler(crawler, given.interval, traces=given.trace)  # signals do not keep it alive
    process.crawl(crawler, pages=given.pages, extract=given.extract)
    process.start()


if __name__ == "__main__":
    main()
