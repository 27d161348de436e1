"""The output of the filter during a crawl: the summary in the log, statistics by host, what is said of skipped responses."""

import re
import sys
import time
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from crawler_dedup import Config, Decision, Match, Verdict
from crawler_dedup.crawl.counting import host_label
from crawler_dedup.crawl.gate import find_cause
from crawler_dedup.crawl.monitor import Monitor
from tests.support.commandline import invoke, printed_text
from tests.support.crawling import WALK, Crawl, Page, Site, article, crawl_pages, html, run_script

pty = pytest.importorskip("pty")

PAGES: dict[str, Page] = {
    "/first": html(article("one")),
    "/copy": html(article("one", frame="copy")),
    "/other": html(article("two")),
    "/empty": html("<title>nothing</title>"),
}


def summaries(done: Crawl) -> list[str]:
    return [line.partition("Near-duplicate filter: ")[2] for line in done.lines("INFO", "filter: pages ")]


def test_the_summary_at_the_end_counts_pages_and_hosts_and_gives_the_size_of_the_index(tmp_path: Path) -> None:
    pages = {**PAGES, "/marked": html(article("one", frame="marked"))}
    meta = {"/marked": {"dedup_action": "mark"}}
    with Site(pages) as site:
        done = run_script(tmp_path, WALK, {"LOGSTATS_INTERVAL": 0}, site=site.url, paths=list(pages), meta=meta)
    (line,) = summaries(done)
    assert re.fullmatch(
        r"pages 5 \(at [1-9]\d* pages/min\), kept 2, duplicates dropped 1 \(20\.0 %\), duplicates marked 1 \(20\.0 %\),"
        r" unchanged 0, changed 0, unchecked 1; index of 2 pages, [\d.]+ kB; pages waited for a worker \d\.\d\d s"
        r" on average, \d\.\d\d s at most; pages in progress: 0",
        line,
    )
    for counted in ("dropped", "marked"):
        assert done.counts(f"{counted}_by_host/") == {site.host: 1}


WAITING = """
import asyncio
from crawler_dedup.middleware import DedupMiddleware
from tests.support.walker import Walker, seen

class Spider(Walker):
    custom_settings = {"CONCURRENT_REQUESTS": 2, "CONCURRENT_REQUESTS_PER_DOMAIN": 2, "LOGSTATS_INTERVAL": 0.3}

    async def parse(self, response):
        filtering = self.crawler.get_downloader_middleware(DedupMiddleware)
        while not filtering.session.monitor.waiting:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.8)
        yield seen(response)
"""


def test_a_summary_is_logged_regularly_during_a_crawl_and_counts_pages_that_wait_for_an_alike_one(
    tmp_path: Path,
) -> None:
    done = crawl_pages(tmp_path, PAGES, WAITING, paths=["/first", "/copy"])
    *lines, last = summaries(done)
    waiting = [line for line in lines if line.endswith("; pages in progress: 1")]
    assert len(waiting) >= 2
    assert all(line.startswith("pages 1 (at ") for line in waiting)
    assert waiting[-1].startswith("pages 1 (at 0 pages/min)"), "none since the line before"
    assert (last.startswith("pages 2 "), last.endswith("; pages in progress: 0")) == (True, True)
    assert done.counts()["dropped"] == 1


STOPPING = """
import os, signal
from crawler_dedup.crawl import session, workers
from tests.support import processes
from tests.support.walker import Walker, seen

session._END_TIMEOUT = workers._END_SECONDS = 0.2

class Spider(Walker):
    def parse(self, response):
        yield seen(response)
        for pid in processes.workers():
            os.kill(pid, signal.SIGSTOP)
        if {interrupts}:
            os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="stops a worker")
@pytest.mark.parametrize(("interrupts", "size"), [(False, "cannot be read"), (True, "was not measured")])
def test_the_summary_at_the_end_does_not_wait_for_a_worker_that_is_stopped(
    interrupts: bool, size: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    done = crawl_pages(tmp_path, PAGES, STOPPING.format(interrupts=interrupts), paths=["/first"])
    assert time.monotonic() - began < 15
    (line,) = summaries(done)
    assert f"; the index {size}; " in line


# Statistics by host


def test_the_fifty_hosts_with_most_drops_are_in_the_statistics_and_others_are_removed() -> None:
    crawler = Crawler(Spider)
    crawler.stats = stats = StatsCollector(crawler)
    monitor = Monitor(crawler, Config())

    def counts_after_drops(path: str, numbers: range) -> dict[str, int]:
        for number in numbers:
            url = f"http://h{number}.example/{path}"
            decision = Decision(Verdict.DUPLICATE, url, url, "", duplicate_of="http://kept/", match=Match("alike", 0))
            monitor.report_decision(decision, None, Request(url), drops=True, follows=False, repeats=False)
        monitor.log_summary("")
        return {
            name.rpartition("/")[2]: count for name, count in stats.get_stats().items() if "dropped_by_host/" in name
        }

    stats.set_value("others", 1)
    assert len(counts_after_drops("", range(60))) == 50
    counts = counts_after_drops("more", range(50, 60))
    assert len(counts) == 50
    assert {host for host, count in counts.items() if count == 2} == {f"h{number}.example" for number in range(50, 60)}
    assert stats.get_value("others") == 1, "other statistics are left alone"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://www.Example.com/page", "example.com"),
        ("http://user:secret@example.com:8080/", "example.com:8080"),
        ("http://a\x1bb\u202e.example/", "a?b?.example"),
        ("http://" + "a" * 300 + ".example/", "…" + "a" * 91 + ".example"),
        ("data:text/html,hello", ""),
        ("http://[broken/", ""),
    ],
)
def test_the_name_of_a_host_is_short_printable_and_without_password(url: str, shown: str) -> None:
    assert host_label(url) == shown
    assert len(shown) <= 100


# Responses that are not checked


@pytest.mark.parametrize(
    ("checked", "reason", "skipped", "words"),
    [
        (1, "asked", 30, "dedup_skip"),
        (1, "incomplete", 30, "incomplete"),
        (1, "status", 30, "a status other than 200"),
        (0, "asked", 9, ""),
        (30, "asked", 30, ""),
    ],
)
def test_a_warning_names_the_reason_why_nearly_everything_was_skipped(
    checked: int, reason: str, skipped: int, words: str
) -> None:
    warning = find_cause(checked, {"asked": 0, "inline": 0, reason: skipped})
    assert bool(warning) == bool(words)
    assert words in warning
    assert not words or f"dedup/skipped/{reason}" in warning


def test_a_crawl_that_skips_nearly_everything_warns_once_and_why_names_the_reason_of_each_page(tmp_path: Path) -> None:
    asked: dict[str, Page] = {f"/asked-{number}": html(article(number)) for number in range(30)}
    pages = asked | {"/cut-off": html(article("cut off"), Content_Length="99999")}
    settings = {"DOWNLOAD_FAIL_ON_DATALOSS": False}
    with Site(pages) as site:
        meta = {path: {"dedup_skip": True} for path in asked}
        crawl = run_script(tmp_path, WALK, settings, site=site.url, paths=list(pages), meta=meta)
    (warning,) = crawl.lines("WARNING", "has checked only")
    assert "dedup/skipped/asked" in warning

    def why(path: str, status: int = 0) -> str:
        return printed_text(invoke("why", site.url + path, tmp_path / "index", status=status))

    assert why("/asked-0").startswith(f'{site.url}/asked-0 was not compared, and passed: meta["dedup_skip"] of')
    assert why("/cut-off").startswith(f"{site.url}/cut-off was not compared, and passed: incomplete (")
    assert why("/no", status=1).startswith(f"{site.url}/no is not kept, and no journal names it. It was never fetched")
