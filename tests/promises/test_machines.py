"""Crawls that share an index on a server, as those of several machines do."""

import asyncio
import signal
from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from crawler_dedup import Config, Deduplicator
from crawler_dedup.crawl import session
from crawler_dedup.system.extras import has_extra
from tests.support.commandline import command
from tests.support.crawling import WALK, Site, acting, article, html, run_scrapy, run_script
from tests.support.projects import ADDON, PAGES, project
from tests.support.servers import Server
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


def test_a_project_may_name_a_server_and_its_commands_use_it(empty: Server, tmp_path: Path) -> None:
    with Site(PAGES) as site:
        settings = f'{ADDON}DEDUP_INDEX = "{empty.url("blogs")}"\nDEDUP_TOKENIZER = "bigrams"\n'
        folder = project(tmp_path, site, settings)
        crawled = run_scrapy(folder, "crawl", "project")
        assert "dedup/dropped': 1" in crawled.stdout, crawled.stdout
        explained = command(folder, "why", f"{site.url}/copy")
        assert "duplicate" in explained.stdout, explained.stderr
        restored = command(folder, "restore", f"{site.url}/copy")
        assert "1 page will be restored" in restored.stdout, restored.stderr
        again = run_scrapy(folder, "crawl", "project")
        assert "'dedup/restored': 1" in again.stdout, again.stdout
    for arguments in (["stats"], ["export", "pages.dedup"], ["import", "pages.dedup"]):
        done = command(folder, "index", *arguments)
        assert done.returncode == 0, done.stderr
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


def test_a_crawl_continues_with_a_new_index_after_each_flush_also_with_an_idle_worker(
    empty: Server, tmp_path: Path
) -> None:
    flush = acting("<p>Flushed.", empty.empty)
    texts = {f"/{number}": html(article(number)) for number in range(3)}
    copies = {f"/copy{number}": html(article(number, frame="copy")) for number in (0, 2)}
    order = ["/0", "/flush0", "/1", "/flush1", "/2", "/copy0", "/copy2"]
    settings = {"DEDUP_INDEX": empty.url(), "DEDUP_PROCESSES": 2}
    with Site({**texts, **copies, "/flush0": flush, "/flush1": flush}) as site:
        crawl = run_script(tmp_path, WALK, settings, site=site.url, paths=order)
    assert crawl.paths() == order[:-1]
    with Deduplicator.open(empty.url(), Config(tokenizer="bigrams")) as index:
        assert len(index) == 2
