from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from crawler_dedup import Config, main_text
from crawler_dedup.crawl import session
from crawler_dedup.crawl.background import MAX_LEFT_BEHIND, signing_thread
from crawler_dedup.errors import ThreadsBusy
from crawler_dedup.signing.loading import Resource
from tests.support.crawling import Site, article, html, run_script
from tests.support.versions import without_reactor

HANGING = """
import threading
from tests.support.walker import Walker

def extract(tree):
    threading.Event().wait()

class Spider(Walker):
    def parse(self, response):
        self.notes.append(sum(thread.name == "crawler-dedup" for thread in threading.enumerate()))
        yield from super().parse(response)
"""


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "crawler-dedup"]


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Yield an event that is not set during the test; threads that wait for it have ended afterwards."""
    event = threading.Event()
    yield event
    event.set()
    while signing_thread.left_behind:
        time.sleep(0.01)


async def start(event: threading.Event) -> asyncio.Task[None]:
    """Start a call that runs in the thread until *event* is set."""
    has_begun = threading.Event()

    def call() -> None:
        has_begun.set()
        event.wait()

    task = asyncio.ensure_future(signing_thread.run(call))
    while not has_begun.is_set():
        await asyncio.sleep(0.001)
    return task


async def give_up(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_at_most_a_limited_number_of_threads_is_left_behind(hanging: threading.Event) -> None:
    async def leave_all_behind() -> None:
        for _ in range(MAX_LEFT_BEHIND):
            await give_up(await start(hanging))
        assert len(threads()) == MAX_LEFT_BEHIND
        for _ in range(3):
            with pytest.raises(ThreadsBusy):
                await signing_thread.run(hanging.wait)
        assert len(threads()) == MAX_LEFT_BEHIND
        hanging.set()
        while signing_thread.left_behind:
            await asyncio.sleep(0.01)
        assert await signing_thread.run(lambda: "served again") == "served again"

    asyncio.run(leave_all_behind())


def test_a_task_that_waits_for_the_last_thread_is_refused_when_that_is_left_behind(hanging: threading.Event) -> None:
    async def wait_behind_it() -> None:
        for _ in range(MAX_LEFT_BEHIND - 1):
            await give_up(await start(hanging))
        last = await start(hanging)
        waiting = asyncio.ensure_future(signing_thread.run(hanging.wait))
        await asyncio.sleep(0)
        await give_up(last)
        with pytest.raises(ThreadsBusy):
            await waiting

    asyncio.run(wait_behind_it())


def test_main_text_is_the_visible_text_while_no_thread_is_free(hanging: threading.Event) -> None:
    async def extract() -> str:
        for _ in range(MAX_LEFT_BEHIND):
            await give_up(await start(hanging))
        return await main_text(HtmlResponse("http://example.com/", body=b"<p>visible words</p>"))

    assert asyncio.run(extract()) == "visible words"


def test_a_site_whose_pages_all_take_too_long_gets_a_few_threads_and_loses_no_page(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(20)]
    settings = {"DEDUP_EXTRACTOR": "script.extract", "DEDUP_TIMEOUT": 0.3}
    with Site({path: html(article(path)) for path in paths}) as site:
        crawl = run_script(tmp_path, HANGING, settings, site=site.url, paths=paths)
    assert [(item["path"], item["verdict"]) for item in crawl.items] == [(path, "unchecked") for path in paths]
    counts = crawl.counts("error/")
    assert counts["TimeoutError"] + counts["ThreadsBusy"] == len(paths)
    assert counts["ThreadsBusy"] > 0
    assert max(crawl.notes) <= MAX_LEFT_BEHIND + 1  # the index is tidied up in one of its own


@without_reactor
def test_the_end_of_a_crawl_does_not_wait_for_dictionaries(
    tmp_path: Path, hanging: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_END_TIMEOUT", 600)
    dictionary = Resource("A dictionary", hanging.wait)

    async def crawl() -> None:
        crawler = get_crawler()
        crawler.spider = crawler._create_spider("empty")
        opened = session.Session(crawler, Config(dir=str(tmp_path / "index"), tokenizer="bigrams", journal=""))
        opened.spider_opened()
        page = asyncio.ensure_future(opened.loading.wait_for(dictionary))
        await asyncio.sleep(0)
        await asyncio.wait_for(opened.spider_closed("finished"), 60)
        assert not dictionary.is_loaded
        page.cancel()

    asyncio.run(crawl())
