"""The start of a crawl: what stops it, what does not affect it, and in which environments it works."""

import gc
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler

from crawler_dedup import Config, Deduplicator
from crawler_dedup.crawl.configuration import FilterOff, config_of, refusal_logged
from crawler_dedup.crawl.workerprocess import start_ahead
from crawler_dedup.errors import DedupError
from tests.support import processes
from tests.support.crawling import Crawl, Site, article, crawl_pages, html, run_scrapy
from tests.support.projects import ADDON, PAGES, index_of, project
from tests.support.versions import HAS_EXIT_STATUS, without_reactor

DOWNLOADER = "crawler_dedup.middleware.DedupMiddleware"
SPIDER = "crawler_dedup.settling.SettlingMiddleware"
# Errors that stop the crawl

# An object of the settings module whose import raises what Scrapy takes for "switched off".
LACKING = """
def __getattr__(name):
    if name == "lacking":
        from scrapy.exceptions import NotConfigured
        raise NotConfigured("no database")
    raise AttributeError(name)
"""
WRONG = {  # settings beside the add-on, and what is logged
    "a value that is not allowed": (
        "DEDUP_MAX_DISTANCE = 8",
        "DEDUP_MAX_DISTANCE = 8 is not allowed; it takes 0 to 7.",
    ),
    "only the downloader middleware": (
        f"ADDONS = {{}}\nDOWNLOADER_MIDDLEWARES = {{{DOWNLOADER!r}: 40}}",
        f"crawler-dedup needs both its middlewares, but SPIDER_MIDDLEWARES lacks {SPIDER}.",
    ),
    "the add-on without the downloader middleware": (
        f"DOWNLOADER_MIDDLEWARES = {{{DOWNLOADER!r}: None}}",
        f"crawler-dedup needs both its middlewares, but DOWNLOADER_MIDDLEWARES lacks {DOWNLOADER}.",
    ),
    "another reactor": (
        "TWISTED_REACTOR = 'twisted.internet.selectreactor.SelectReactor'",
        "crawler-dedup needs the asyncio reactor, Scrapy's default, or TWISTED_REACTOR_ENABLED = False;"
        " TWISTED_REACTOR is 'twisted.internet.selectreactor.SelectReactor'.",
    ),
    "a scope that is not configured": (
        f"DEDUP_SCOPE = 'project_settings.lacking'\n{LACKING}",
        "DEDUP_SCOPE = 'project_settings.lacking' cannot be imported: no database",
    ),
    "a middleware that is not configured, beside the add-on": (
        f"DOWNLOADER_MIDDLEWARES = {{'project_settings.lacking': 1}}\n{LACKING}",
        "crawler-dedup is switched on, but something that it uses is not configured: no database.",
    ),
    "a lexicon that cannot be read": ("DEDUP_SCHEME = 'imatch lexicon=none'", "The lexicon none cannot be read: "),
    "a server without the extra": (
        "import sys\nsys.modules['redis'] = None\nDEDUP_PROCESSES = 0\nDEDUP_INDEX = 'redis://127.0.0.1:1/'",
        '(redis): pip install "crawler-dedup[redis]"',
    ),
    "a data directory that cannot be created": (
        "import pathlib\npathlib.Path('.scrapy').symlink_to('/proc/none')",
        "DEDUP_DIR = 'dedup' is relative to the data directory of the Scrapy project",
    ),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_what_is_wrong_stops_the_crawl_with_a_sentence_before_the_first_page(tmp_path: Path, wrong: str) -> None:
    settings, sentence = WRONG[wrong]
    with Site(PAGES) as site:
        done = run_scrapy(project(tmp_path, site, ADDON + settings), "crawl", "project")
        assert site.asked == []
    assert not (index_of(tmp_path) / "data.mdb").exists()
    (line,) = (line for line in done.stdout.splitlines() if sentence in line)
    assert "[crawler_dedup.middleware] CRITICAL: The crawl does not start: " in line
    assert done.returncode == 1 or not HAS_EXIT_STATUS
    assert "Traceback" not in done.stdout
    assert "Near-duplicate filter" not in done.stdout


@pytest.mark.parametrize("module", ["project_settings", ""], ids=["as under Scrapyd", "a spider in a file"])
def test_a_relative_directory_without_a_project_stops_the_crawl_and_an_absolute_one_works(
    tmp_path: Path, module: str
) -> None:
    with Site(PAGES) as site:
        project(tmp_path, site, "")
        (tmp_path / "scrapy.cfg").unlink()
        spiders = tmp_path / "project_spiders.py"
        own = '    custom_settings = {"ADDONS": {"crawler_dedup.Addon": 500}}\n\n    def parse'
        spiders.write_text(spiders.read_text().replace("    def parse", own))
        arguments = ["crawl", "project"] if module else ["runspider", spiders.name]
        refused = run_scrapy(tmp_path, *arguments, settings_module=module)
        assert site.asked == []
        done = run_scrapy(tmp_path, *arguments, "-s", f"DEDUP_DIR={tmp_path}/index", settings_module=module)
    (line,) = (line for line in refused.stdout.splitlines() if "CRITICAL" in line)
    assert (
        "The crawl does not start: DEDUP_DIR = 'dedup' is relative to the data directory of the Scrapy project" in line
    )
    assert line.endswith("Set DEDUP_DIR to an absolute path.")
    assert refused.returncode == 1 or not HAS_EXIT_STATUS
    assert not (tmp_path / ".scrapy").exists()
    assert "'dedup/dropped': 1" in done.stdout


def test_an_error_of_another_middleware_keeps_its_traceback(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        settings = ADDON + "DOWNLOADER_MIDDLEWARES = {'project_settings.Failing': 1}\n"
        failing = "class Failing:\n    def __init__(self):\n        raise KeyError('not ours')\n"
        done = run_scrapy(project(tmp_path, site, settings + failing), "crawl", "project")
    assert "Traceback" in done.stdout
    assert "KeyError: 'not ours'" in done.stdout


def test_an_index_that_cannot_be_used_stops_the_crawl_and_keeps_its_pages(tmp_path: Path) -> None:
    with Deduplicator.open(index_of(tmp_path), Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://earlier/", article("earlier").encode())
    (tmp_path / "file").write_text("A file stands where the directory should be.")
    with Site(PAGES) as site:
        directory = project(tmp_path, site, ADDON + "DEDUP_TOKENIZER = 'jieba'\n")
        another, no_directory = (
            run_scrapy(directory, "crawl", "project", *options)
            for options in ([], ["-s", f"DEDUP_DIR={tmp_path / 'file'}"])
        )
        assert site.asked == []
    assert f"The index in {tmp_path / 'file'} cannot be opened" in no_directory.stdout
    for text in ("made with another configuration", "tokenizer: made with 'bigrams', now 'jieba'", "DEDUP_FRESH"):
        assert text in another.stdout
    assert another.returncode == no_directory.returncode == 1 or not HAS_EXIT_STATUS
    with Deduplicator.open(index_of(tmp_path), Config(tokenizer="bigrams")) as deduplicator:
        assert len(deduplicator) == 1


# Switched on and off


def test_a_disabled_filter_does_not_affect_the_crawl(tmp_path: Path) -> None:
    crawl = crawl_pages(tmp_path, PAGES, settings={"DEDUP_ENABLED": "False"})
    assert crawl.paths() == list(PAGES)
    assert not crawl.counts() + crawl.counts("handled/")
    assert [item["decision"] for item in crawl.items] == [None, None]
    assert not (tmp_path / "index").exists()
    assert "Near-duplicate filter" not in crawl.log


def test_a_process_that_was_started_ahead_ends_where_the_filter_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    crawler = Crawler(Spider)
    start_ahead(crawler.settings)
    (pid,) = processes.workers()
    monkeypatch.setenv("SCRAPY_CHECK", "true")
    with pytest.raises(FilterOff):
        config_of(crawler)
    assert processes.still_running([pid]) == []


def test_of_the_errors_that_kept_crawls_from_starting_only_the_last_one_stays_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # pytest keeps what is logged
    errors = [refuse(number) for number in range(3)]
    gc.collect()
    assert [error() is not None for error in errors] == [False, False, True]


def refuse(number: int) -> ref[DedupError]:
    with suppress(DedupError), refusal_logged():
        error = DedupError(f"refusal {number}")
        raise error
    return ref(error)


def enabled(crawl: Crawl, kind: str) -> list[str]:
    """Return the middlewares that Scrapy says it has enabled, in order."""
    listed = crawl.log.partition(f"Enabled {kind} middlewares:\n[")[2].partition("]\n")[0]
    return [element.strip().removeprefix("<class ").removesuffix(">").strip("'") for element in listed.split(",")]


def assert_drops_the_copy(crawl: Crawl) -> None:
    assert crawl.paths() == ["/page"]
    assert (crawl.counts()["kept"], crawl.counts()["dropped"]) == (1, 1)
    assert crawl.counts("handled/") == {"well": 1, "settled": 1}


OWN_ORDER = {"DOWNLOADER_MIDDLEWARES": {DOWNLOADER: 5000}, "SPIDER_MIDDLEWARES": {SPIDER: 5000}}
TWO_LINES = {"DOWNLOADER_MIDDLEWARES": {DOWNLOADER: 40}, "SPIDER_MIDDLEWARES": {SPIDER: 10}}


@pytest.mark.parametrize(
    ("settings", "addon", "position"),
    [
        ({}, True, 0),
        (OWN_ORDER, True, -1),
        (TWO_LINES, False, 0),
        pytest.param({"TWISTED_REACTOR_ENABLED": False}, True, 0, marks=without_reactor),
    ],
    ids=["add-on", "order of the project", "two lines of settings", "without a reactor"],
)
def test_both_middlewares_are_outermost_unless_the_project_gives_another_order(
    tmp_path: Path, settings: dict[str, Any], addon: bool, position: int
) -> None:
    crawl = crawl_pages(tmp_path, PAGES, settings=settings, addon=addon)
    assert_drops_the_copy(crawl)
    for kind, path in (("downloader", DOWNLOADER), ("spider", SPIDER)):
        assert enabled(crawl, kind)[position] == path
        assert enabled(crawl, kind).count(path) == 1
    assert ("Addon" in crawl.log) == addon


# Scrapy's commands


def test_a_check_of_contracts_works_and_files_nothing(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        directory = project(tmp_path, site, ADDON)
        done = run_scrapy(directory, "check", "project")
        assert "GET /page" in site.asked
    assert "Ran 2 contracts" in done.stdout
    assert done.returncode == 0
    assert not index_of(directory).exists()
    assert "Near-duplicate filter" not in done.stdout


# Environments


FAILING_START = """
import asyncio, gc, os, sys
from pathlib import Path
import scrapy
from scrapy.crawler import AsyncCrawlerRunner
from tests.support.processes import children, still_running

class Bad:
    def open_spider(self, spider=None):
        raise RuntimeError("no database")
    def process_item(self, item, spider=None):
        return item

class Broken:
    @classmethod
    def from_crawler(cls, crawler):
        raise RuntimeError("an extension is broken")

class Spider(scrapy.Spider):
    name = "walker"
    async def start(self):
        yield scrapy.Request(sys.argv[1])
    def parse(self, response):
        print(response.meta["dedup"].verdict.value, flush=True)

async def main():
    base = {"ADDONS": {"crawler_dedup.Addon": 500}, "DEDUP_DIR": sys.argv[2], "DEDUP_TOKENIZER": "bigrams",
            "TELNETCONSOLE_ENABLED": False, "TWISTED_REACTOR_ENABLED": False}
    broken = {"EXTENSIONS": {Broken: 1}, "SPIDER_MIDDLEWARES": {Broken: 1}}
    for more in ({"ITEM_PIPELINES": {Bad: 1}}, broken, {"DEDUP_FRESH": True}):
        try:
            await AsyncCrawlerRunner({**base, **more}).crawl(Spider)
        except RuntimeError as error:
            print(error, flush=True)
        gc.collect()
        print(len(still_running(children(os.getpid()))), flush=True)
    print(len([*Path(sys.argv[2]).glob("run-*")]), flush=True)

asyncio.run(main())
"""


@without_reactor
def test_a_crawl_that_cannot_start_leaves_no_process_and_the_index_to_the_next_one(tmp_path: Path) -> None:
    directory = tmp_path / "index"
    with Deduplicator.open(directory, Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://old/", article("a").encode(), scope="spider walker")
    with Site({"/a": html(article("a", frame="again"))}) as site:
        done = processes.run(["-c", FAILING_START, f"{site.url}/a", str(directory)], cwd=tmp_path)
    wanted = ["no database", "0", "an extension is broken", "0", "new", "0", "0"]
    assert done.stdout.splitlines() == wanted, done.stderr
