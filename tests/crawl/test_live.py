"""The output of the filter during a crawl: the summary in the log, statistics by host, the progress line."""

from __future__ import annotations

import io
import json
import os
import re
import select
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.crawl.hostcounts import HostCounts, host_label
from tests.support import processes
from tests.support.crawling import WALK, Crawl, Page, Site, article, html, run_scrapy, run_script
from tests.support.versions import REACTORS

pty = pytest.importorskip("pty")

ROOT = Path(__file__).parents[2]
SAME = html(article("one"))
PAGES: dict[str, Page] = {
    "/first": SAME,
    "/copy": html(article("one", frame="copy")),
    "/other": html(article("two")),
    "/empty": html("<title>nothing</title>"),
}


def crawl(directory: Path, **settings: object) -> tuple[Crawl, str]:
    """Crawl PAGES; return the result, and the host of the site."""
    with Site(PAGES) as site:
        return run_script(directory, WALK, settings, site=site.url, paths=list(PAGES)), site.host


def summaries(done: Crawl) -> list[str]:
    return [line.partition("Near-duplicate filter: ")[2] for line in done.lines("INFO", "filter: checked")]


# The summary


def test_the_summary_at_the_end_counts_the_pages_and_gives_the_size_of_the_index(tmp_path: Path) -> None:
    done, _ = crawl(tmp_path)
    (line,) = summaries(done)
    assert re.fullmatch(
        r"checked 4 pages \(at [1-9]\d* pages/min\), kept 2, dropped 1 \(25\.0 %\), unchanged 0, changed 0, unchecked 1;"
        r" index of 2 pages, [\d.]+ kB; waited for signing \d\.\d\d s on average, \d\.\d\d s at most; 0 pages waiting",
        line,
    )


def test_marks_have_a_rate_too(tmp_path: Path) -> None:
    done, _ = crawl(tmp_path, DEDUP_ACTION="mark")
    assert ", kept 2, marked 1 (25.0 %), unchanged 0," in summaries(done)[0]


SLOW = """
import asyncio
from tests.support.walker import Walker, seen

class Spider(Walker):
    custom_settings = {"DEDUP_SUMMARY_INTERVAL": 1}

    async def parse(self, response):
        yield seen(response)
        await asyncio.sleep(3)
"""


def test_a_summary_is_logged_regularly_during_a_crawl(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        done = run_script(tmp_path, SLOW, site=site.url, paths=["/first"])
    lines = summaries(done)
    assert len(lines) > 2
    assert all(line.startswith("checked 1 pages (at ") for line in lines)
    assert lines[-1].startswith("checked 1 pages (at 0 pages/min)"), "none since the line before"


def test_an_index_that_is_gone_does_not_prevent_the_summary(tmp_path: Path) -> None:
    def gone() -> object:
        shutil.rmtree(tmp_path / "index")
        return SAME

    with Site({"/first": PAGES["/other"], "/gone": gone}) as site:  # type: ignore[dict-item]
        done = run_script(tmp_path, WALK, site=site.url, paths=["/first", "/gone"])
    (line,) = summaries(done)
    assert re.search(r"unchecked 1; the index cannot be read; waited for signing .*; 0 pages waiting$", line)
    assert done.stats["finish_reason"] == "finished"
    assert done.stats["log_count/ERROR"] == 1  # that the index is gone


WAITING = """
import asyncio
from crawler_dedup.middleware import DedupMiddleware
from tests.support.walker import Walker, seen

class Spider(Walker):
    custom_settings = {"CONCURRENT_REQUESTS": 2, "CONCURRENT_REQUESTS_PER_DOMAIN": 2, "DEDUP_CLAIM_TIMEOUT": 60}

    async def parse(self, response):
        filtering = self.crawler.get_downloader_middleware(DedupMiddleware)
        while not filtering.waiting:
            await asyncio.sleep(0.01)
        self.notes.append(filtering.waiting)
        yield seen(response)
"""


def test_a_page_that_waits_for_an_alike_one_is_counted_as_waiting(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        done = run_script(tmp_path, WAITING, site=site.url, paths=["/first", "/copy"])
    assert done.counts()["dropped"] == 1
    assert done.notes[0] == 1
    assert summaries(done)[0].endswith("; 0 pages waiting")


# Statistics by host


def test_drops_are_counted_by_host(tmp_path: Path) -> None:
    done, host = crawl(tmp_path)
    assert done.counts("dropped_by_host/") == {host: 1}
    assert not done.counts("marked_by_host/")


def test_marks_are_counted_by_host_separately_from_drops(tmp_path: Path) -> None:
    done, host = crawl(tmp_path, DEDUP_ACTION="mark")
    assert done.counts("marked_by_host/") == {host: 1}
    assert not done.counts("dropped_by_host/")


MANY_HOSTS = """
import asyncio
from scrapy import Request
from tests.support.walker import Walker

class Spider(Walker):
    custom_settings = {"DEDUP_SUMMARY_INTERVAL": 1, "CONCURRENT_REQUESTS": 8}

    def told(self):
        names = self.crawler.stats.get_stats()
        return {name for name in names if name.startswith("dedup/dropped_by_host/")}

    def page(self, number, path):
        url = f"http://h{number}.example/{path}"
        return Request(url, meta={"proxy": self.site}, errback=self.failed)

    async def start(self):
        yield Request("http://kept.example/", meta={"proxy": self.site})
        for number in range(60):
            yield self.page(number, "")
        while not self.told():
            await asyncio.sleep(0.05)
        self.notes.append(sorted(self.told()))
        for number in range(50, 60):
            yield self.page(number, "more")
        while not any("/h59." in name for name in self.told()):
            self.notes.append(sorted(self.told()))
            await asyncio.sleep(0.05)

    def parse(self, response):
        pass

    def failed(self, failure):
        pass
"""


def test_the_fifty_hosts_with_most_drops_stand_in_the_statistics_and_others_are_removed(tmp_path: Path) -> None:
    urls = [f"http://h{number}.example/{path}" for number in range(60) for path in ("", "more")]
    with Site(dict.fromkeys(["http://kept.example/", *urls], SAME)) as site:
        done = run_script(tmp_path, MANY_HOSTS, site=site.url)
    counts = done.counts("dropped_by_host/")
    assert done.counts()["dropped"] == 70
    assert all(0 < len(note) <= 50 for note in done.notes)
    assert len(counts) == 50
    assert {host for host, count in counts.items() if count == 2} == {f"h{number}.example" for number in range(50, 60)}
    assert done.stats["downloader/request_count"] == 71, "other statistics are left alone"


def test_hosts_are_counted_exactly_as_long_as_there_are_enough_counters() -> None:
    hosts = HostCounts(counters=3)
    for host in "abcabaa":
        hosts.add(f"http://{host}.example/page")
    assert hosts.top(9) == [("a.example", 4), ("b.example", 2), ("c.example", 1)]
    assert hosts.top(1) == [("a.example", 4)]


def test_memory_is_bounded_and_a_host_with_many_pages_is_found_among_many_hosts() -> None:
    hosts = HostCounts(counters=100)
    for number in range(20_000):
        hosts.add(f"http://h{number}.example/")
        if number % 10 == 0:
            hosts.add("http://often.example/")
    counted = hosts.top(1000)
    assert len(counted) == 100
    host, count = counted[0]
    assert host == "often.example"
    assert 2000 - 22_000 // 100 <= count <= 2000


@given(st.lists(st.integers(0, 12)), st.integers(1, 6))
def test_no_host_is_counted_with_more_pages_than_it_has(pages: list[int], counters: int) -> None:
    hosts = HostCounts(counters)
    for page in pages:
        hosts.add(f"http://{page}/")
    truth = Counter(map(str, pages))
    counted_hosts = dict(hosts.top(100))
    assert len(counted_hosts) == min(counters, len(truth))
    for host, count in truth.items():
        assert 0 <= counted_hosts.get(host, 0) <= count
        assert counted_hosts.get(host, 0) >= count - len(pages) / counters


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


# The progress line

ERASE = "\x1b[2K"
LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[\w.]+\] [A-Z]+: ")
LINE = re.compile(r"\S (?P<pages>[\d,]+) pages  .* dropped \(\d+\.\d%\)  [\d,]+ pages/min  .*\d+:\d\d$")


class Terminal:
    """What a crawl has written to a terminal of 200 columns.

    Attributes:
        rows: what is to be read there in the end.
        written: all bytes.
    """

    def __init__(self, written: bytes, status: int) -> None:
        self.written = written.decode()
        self.status = status
        self.rows = [row.rpartition("\r")[2].replace(ERASE, "") for row in self.written.split("\r\n")]

    @property
    def lines(self) -> list[str]:
        """Return the progress lines that are visible at the end."""
        return [row for row in self.rows if LINE.match(row)]

    @property
    def log(self) -> list[str]:
        return [row for row in self.rows if not LINE.match(row)]


def in_terminal(
    command: list[str], directory: Path, *, interrupt_after: str = "", fresh: bool = False, **variables: str
) -> Terminal:
    """Run ``python -m scrapy COMMAND`` in a terminal; press Ctrl-C when it has written *interrupt_after*.

    Args:
        fresh: start the interpreter anew.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "PYTEST_"))}
    ours, theirs = pty.openpty()
    process = processes.start(
        ["-m", "scrapy", *command],
        cwd=directory,
        env={**kept, "TERM": "xterm", "COLUMNS": "200", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT), **variables},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        fresh=fresh,
    )
    os.close(theirs)
    written = b""
    while True:
        if not select.select([ours], [], [], 120)[0]:
            process.kill()
            raise AssertionError(f"The crawl hangs:\n{written.decode()}")
        try:
            written += os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if interrupt_after and interrupt_after.encode() in written:
            process.send_signal(2)
            interrupt_after = ""
    os.close(ours)
    return Terminal(written, process.wait())


def site_crawl(site: Site, directory: Path, *arguments: str) -> list[str]:
    settings = {
        "DEDUP_DIR": directory / "index",
        "DEDUP_TOKENIZER": "bigrams",
        "DOWNLOAD_DELAY": 0.1,
        "LOG_COLOR": False,  # as Scrapy logs on a terminal where colorlog is installed
    }
    words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    return ["crawl", "site", "-a", f"url={site.url}/", "-s", "AUTOTHROTTLE_ENABLED=False", *words, *arguments]


@pytest.fixture(scope="module")
def linked() -> dict[str, Page]:
    names = [f"/{number}" for number in range(12)]
    pages: dict[str, Page] = {name: html(article(number % 8)) for number, name in enumerate(names)}
    return {"/": html(article("start", links=names)), **pages}


@pytest.mark.parametrize("reactor", REACTORS)
def test_a_line_shows_the_progress_of_the_crawl_and_the_log_above_it_is_complete(
    tmp_path: Path, linked: dict[str, Page], reactor: bool
) -> None:
    with Site(linked) as site:
        command = site_crawl(site, tmp_path, "-s", f"TWISTED_REACTOR_ENABLED={reactor}", "-s", "LOG_VERSIONS=")
        terminal = in_terminal(command, ROOT)
    assert terminal.status == 0
    (line,) = terminal.lines
    assert "13 pages  9 kept  4 dropped (30.8%)" in line
    assert terminal.written.count(ERASE) > 4
    crawled = [row for row in terminal.log if "DEBUG: Crawled (200)" in row]
    assert len(crawled) == 9, "what is dropped is none of Scrapy's"
    assert all(LOGGED.match(row) for row in crawled)
    assert sum("Dropped duplicate http" in row for row in terminal.log) == 4
    assert not any("pages/min" in row and not LOGGED.match(row) for row in terminal.log)
    assert LOGGED.match(terminal.rows[-2])
    assert terminal.rows[-2].endswith("INFO: Spider closed (finished)")


def test_only_the_line_is_shown_if_the_log_goes_to_a_file(tmp_path: Path, linked: dict[str, Page]) -> None:
    with Site(linked) as site:
        terminal = in_terminal(site_crawl(site, tmp_path, "-s", f"LOG_FILE={tmp_path / 'log'}"), ROOT)
    assert len(terminal.lines) == 1
    assert terminal.log == [""]
    log = (tmp_path / "log").read_text()
    assert "Spider closed (finished)" in log
    assert ERASE not in log


def test_a_narrow_terminal_also_has_one_line(tmp_path: Path, linked: dict[str, Page]) -> None:
    with Site(linked) as site:
        terminal = in_terminal(site_crawl(site, tmp_path, "--nolog"), ROOT, COLUMNS="40")
    frames = terminal.written.split(ERASE)[1:]
    assert len(frames) > 2
    assert all(len(frame.strip("\r\n")) < 40 for frame in frames)
    assert terminal.written.count("\n") == 1


def test_only_the_line_is_shown_if_nothing_is_logged(tmp_path: Path, linked: dict[str, Page]) -> None:
    with Site(linked) as site:
        terminal = in_terminal(site_crawl(site, tmp_path, "--nolog"), ROOT)
    assert len(terminal.lines) == 1
    assert terminal.log == [""]


def test_ctrl_c_leaves_a_complete_line_and_a_complete_log(tmp_path: Path, linked: dict[str, Page]) -> None:
    with Site(linked) as site:
        command = site_crawl(site, tmp_path, "-s", "DOWNLOAD_DELAY=0.5", "-s", "LOG_LEVEL=INFO")
        terminal = in_terminal(command, ROOT, interrupt_after="  1 kept", fresh=True)
    assert terminal.status == 0
    assert len(terminal.lines) == 1
    assert terminal.rows[-2].endswith("INFO: Spider closed (shutdown)")


def test_without_a_terminal_there_is_no_line(tmp_path: Path, linked: dict[str, Page]) -> None:
    with Site(linked) as site:
        done = run_scrapy(ROOT, *site_crawl(site, tmp_path))
    assert "ProgressLine" not in done.stdout
    assert ERASE not in done.stdout
    assert "Spider closed (finished)" in done.stdout


OWN = """
import asyncio
import sys
import scrapy
from crawler_dedup.progress import ProgressLine

class Own(scrapy.Spider):
    name = "own"

    async def start(self):
        if hasattr(self, "broken"):
            ProgressLine._line = None
            while hasattr(sys.stderr, "give_back"):
                await asyncio.sleep(0.05)
        yield scrapy.Request(self.site)

    def parse(self, response):
        print("half a line", end=" ")
        print("and its end")
        yield {"url": response.url}
"""


def own_crawl(directory: Path, site: Site, **settings: object) -> list[str]:
    """Return the arguments of a crawl in a project of its own."""
    (directory / "own.py").write_text(OWN)
    all_settings = {
        "ADDONS": json.dumps({"crawler_dedup.Addon": 500}),
        "EXTENSIONS": json.dumps({"crawler_dedup.progress.ProgressLine": 0}),
        "DEDUP_DIR": directory / "index",
        "DEDUP_TOKENIZER": "bigrams",
        **settings,
    }
    words = [word for name, value in all_settings.items() for word in ("-s", f"{name}={value}")]
    return ["runspider", "own.py", "-a", f"site={site.url}/first", *words]


def test_any_project_can_show_the_line_and_output_of_a_spider_goes_above_it(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        terminal = in_terminal(own_crawl(tmp_path, site), tmp_path)
    assert len(terminal.lines) == 1
    assert "half a line and its end" in terminal.log


def test_an_error_in_the_line_does_not_affect_the_crawl_and_its_log(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        terminal = in_terminal([*own_crawl(tmp_path, site), "-a", "broken=1"], tmp_path)
    assert terminal.status == 0
    assert terminal.lines == []
    assert any("There is no progress line any more: 'NoneType' object is not callable" in row for row in terminal.log)
    assert any("'item_scraped_count': 1" in row for row in terminal.log)
    assert "half a line and its end" in terminal.log


@pytest.mark.parametrize("setting", [{"LOG_STDOUT": True}, {"DEDUP_ENABLED": False}])
def test_the_line_works_with_all_of_these_settings(tmp_path: Path, setting: dict[str, object]) -> None:
    with Site(PAGES) as site:
        terminal = in_terminal(own_crawl(tmp_path, site, **setting), tmp_path)
    assert terminal.status == 0
    assert len(terminal.lines) == (0 if "DEDUP_ENABLED" in setting else 1)
    assert any("'item_scraped_count': 1" in row for row in terminal.log)


def test_items_that_are_written_to_the_terminal_are_not_disturbed(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        terminal = in_terminal([*own_crawl(tmp_path, site), "-o", "-:jsonlines", "--nolog"], tmp_path)
        assert terminal.lines == []
        assert f'{{"url": "{site.url}/first"}}' in terminal.rows


def test_a_terminal_that_cannot_erase_has_no_line(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        terminal = in_terminal(own_crawl(tmp_path, site), tmp_path, TERM="dumb")
    assert ERASE not in terminal.written


def test_an_incomplete_line_waits_for_its_end_and_is_not_lost() -> None:
    from crawler_dedup.progress import _Above, _Bottom

    written = io.StringIO()
    bottom = _Bottom(written)
    above = _Above(written, bottom)
    bottom.draw("live")
    above.write("one\ntwo")
    assert written.getvalue() == f"\r{ERASE}live\r{ERASE}one\nlive"
    above.write(" ends\nthree")
    assert written.getvalue().endswith(f"\r{ERASE}two ends\nlive")
    assert above.give_back() is written
    assert written.getvalue().endswith("live" + "three")
