"""Crawls that share an index on a server, as those of several machines do."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from crawler_dedup import Config, Deduplicator
from crawler_dedup.crawl import session
from crawler_dedup.system.extras import has_extra
from tests.support.commandline import command
from tests.support.crawling import WALK, Answer, Page, Site, article, html, run_scrapy, run_script, start_script
from tests.support.projects import ADDON, PAGES, project
from tests.support.servers import Server, serving
from tests.support.versions import without_reactor

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)


@pytest.fixture
def empty(server: Server) -> Server:
    """Return a server without indexes."""
    server.empty()
    return server


def test_a_crawl_without_a_project_needs_no_directory(empty: Server, tmp_path: Path) -> None:
    with Site(PAGES) as site:
        project(tmp_path, site, f"{ADDON}DEDUP_INDEX = {empty.url()!r}\nDEDUP_TOKENIZER = 'bigrams'\n")
        (tmp_path / "scrapy.cfg").unlink()
        done = run_scrapy(tmp_path, "crawl", "project", settings_module="project_settings")
    assert "'dedup/dropped': 1" in done.stdout
    assert "WARNING: The journal cannot be written: DEDUP_DIR = 'dedup' is relative" in done.stdout
    assert not list(tmp_path.rglob("*.jsonl"))
    assert not (tmp_path / ".scrapy").exists()


def test_two_crawls_of_two_halves_of_a_mirrored_site_store_each_content_once(empty: Server, tmp_path: Path) -> None:
    contents = 60
    pages = {f"/{half}/{number}": html(article(number, frame=half)) for half in "ab" for number in range(contents)}
    settings = {"DEDUP_INDEX": empty.url(), "CONCURRENT_REQUESTS": 4, "CONCURRENT_REQUESTS_PER_DOMAIN": 4}
    with Site(pages) as site:
        crawls = []
        for half, order in (("a", range(contents)), ("b", reversed(range(contents)))):
            paths = [f"/{half}/{number}" for number in order]
            folder = tmp_path / half
            crawls.append(start_script(folder, WALK, settings, site=site.url, paths=paths))
        done = [crawl.results()["walker"] for crawl in crawls]
    stored = Counter(path.rpartition("/")[2] for crawl in done for path in crawl.paths())
    assert stored == Counter(map(str, range(contents)))
    assert all(crawl.counts()["unchecked"] == 0 for crawl in done)
    logged = [line for crawl in done for line in crawl.log.splitlines()]
    assert [line for line in logged if " WARNING: " in line or " ERROR: " in line] == []
    journals = [list((tmp_path / half / "index").glob("journal-*.jsonl")) for half in "ab"]
    assert [len(files) for files in journals] == [1, 1]
    with Deduplicator.open(empty.url(), Config(tokenizer="bigrams")) as index:
        assert len(index) == contents
        assert index.tidy() == 0


def test_a_project_may_name_a_server_and_its_commands_use_it(empty: Server, tmp_path: Path) -> None:
    with Site(PAGES) as site:
        settings = f'{ADDON}DEDUP_INDEX = "{empty.url("blogs")}"\nDEDUP_TOKENIZER = "bigrams"\n'
        folder = project(tmp_path, site, settings)
        crawled = run_scrapy(folder, "crawl", "project")
        assert "dedup/dropped': 1" in crawled.stdout, crawled.stdout
    for arguments in (["stats"], ["export", "pages.dedup"], ["import", "pages.dedup"]):
        done = command(folder, "index", *arguments)
        assert done.returncode == 0, done.stderr
    explained = command(folder, "why", f"{site.url}/copy")
    assert "duplicate" in explained.stdout, explained.stderr
    forgotten = command(folder, "forget", "--url", f"{site.url}/page")
    assert "1 page forgotten.\n" in forgotten.stdout, forgotten.stderr
    assert "compact" not in forgotten.stdout
    for name in ("compact", "verify"):
        assert "is on a server" in command(folder, "index", name).stderr


@without_reactor
def test_a_crawl_starts_normally_if_its_server_is_slow_to_count_its_pages(empty: Server, tmp_path: Path) -> None:
    async def crawl() -> None:
        crawler = get_crawler()
        crawler.spider = crawler._create_spider("empty")
        config = Config(index=empty.url(), dir=str(tmp_path), tokenizer="bigrams")
        opened = session.Session(crawler, config)
        empty.signal(signal.SIGSTOP)
        try:
            opened.spider_opened()
        finally:
            empty.signal(signal.SIGCONT)
        await opened.spider_closed("finished")

    asyncio.run(crawl())
    assert list(tmp_path.glob("journal-*.jsonl"))


def acting(text: str, act: Callable[[], object]) -> Callable[[], Answer]:
    """Return a page that does something when it is asked for."""

    def answer() -> Answer:
        act()
        return html(text)

    return answer


def test_a_crawl_that_does_not_wait_for_its_server_continues_and_uses_it_again(tmp_path: Path) -> None:
    options = ("--appendonly", "yes", "--appendfsync", "always")
    with serving(tmp_path / "server", *options) as server:
        pages = {f"/{number}": html(article(number)) for number in range(12)}
        pages |= {f"/copy{number}": html(article(number, frame="copy")) for number in range(12)}
        order = [f"/{number}" for number in range(4)]
        order += ["/away", *(f"/{number}" for number in range(4, 8)), "/back"]
        order += [*(f"/{number}" for number in range(8, 12)), *(f"/copy{number}" for number in range(12))]
        served: dict[str, Page] = {
            **pages,
            "/away": acting(article("away"), server.kill),
            "/back": acting(article("back"), server.start),
        }
        settings = {
            "DEDUP_INDEX": server.url(),
            "DEDUP_INDEX_WAIT": 0,
            "DEDUP_SETTLE": "callback",
            "DEDUP_TIMEOUT": 5,
        }
        with Site(served) as site:
            crawl = run_script(tmp_path / "crawl", WALK, settings, site=site.url, paths=order)
    paths = crawl.paths()
    assert {f"/{number}" for number in range(12)} <= set(paths)  # no page is lost
    assert crawl.counts()["unchecked"] >= 4
    assert "outages" not in crawl.counts()
    assert not {f"/copy{number}" for number in (0, 1, 9, 10, 11)} & set(paths)  # dropped before and after
    assert len(crawl.lines("WARNING", "cannot be used")) <= 3
    assert crawl.lines("INFO", "can be used again")


def test_a_crawl_whose_index_is_flushed_continues_with_a_new_one(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server:
        pages = {f"/{number}": html(article(number)) for number in range(6)}
        pages |= {f"/copy{number}": html(article(number, frame="copy")) for number in range(6)}
        served: dict[str, Page] = {
            **pages,
            "/flush": acting(article("flush"), server.empty),
            "/later": html(article("later")),
        }
        order = ["/0", "/1", "/2", "/flush", "/later", "/3", "/4", "/5", "/copy3", "/copy4", "/copy5", "/copy0"]
        settings = {"DEDUP_INDEX": server.url()}
        with Site(served) as site:
            crawl = run_script(tmp_path / "crawl", WALK, settings, site=site.url, paths=order)
        with Deduplicator.open(server.url(), Config(tokenizer="bigrams")) as index:
            assert len(index) >= 3
    assert {"/0", "/1", "/2", "/3", "/4", "/5", "/copy0"} <= set(crawl.paths())
    assert not {"/copy4", "/copy5"} & set(crawl.paths())


def test_a_crawl_with_an_idle_worker_continues_after_each_flush_of_its_index(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server:
        flushes = {f"/flush{number}": acting(article(f"flush{number}"), server.empty) for number in range(2)}
        texts = {f"/{number}": html(article(number)) for number in range(3)}
        order = ["/0", "/flush0", "/1", "/flush1", "/2", "/copy2"]
        settings = {"DEDUP_INDEX": server.url(), "DEDUP_PROCESSES": 2}
        with Site({**texts, **flushes, "/copy2": html(article(2, frame="copy"))}) as site:
            crawl = run_script(tmp_path / "crawl", WALK, settings, site=site.url, paths=order)
    assert crawl.paths() == order[:-1]
    assert crawl.counts()["unchecked"] == 2
