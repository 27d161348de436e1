"""Dictionaries in a crawl: loaded beside it when a page needs one; other pages do not wait."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup.crawl.loading import Loading, LoadingFailed
from crawler_dedup.signing.loading import Resource
from tests.support.crawling import WALK, Crawl, Site, article, html, run_script, start_script
from tests.support.prose import html as prose_page
from tests.support.prose import prose

JIEBA = {"DEDUP_TOKENIZER": "jieba", "CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
ENGLISH = {f"/en/{number}": html(article(number)) for number in range(5)}
CHINESE = {f"/zh/{number}": html(prose_page(prose(number, chinese=True)).decode()) for number in range(5)}


def verdicts(crawl: Crawl) -> list[tuple[str, str]]:
    return [(item["path"], item["verdict"]) for item in crawl.items]


def new(*pages: dict[str, Any]) -> list[tuple[str, str]]:
    return [(path, "new") for page in pages for path in page]


LOADED = """
import sys
from tests.support.walker import Walker

class Spider(Walker):
    def closed(self, reason):
        self.notes.append(sorted(sys.modules))
"""


def test_a_crawl_of_english_pages_imports_no_dictionary_and_nothing_else_that_it_does_not_need(tmp_path: Path) -> None:
    with Site(ENGLISH) as site:
        settings = {"DEDUP_TOKENIZER": "auto"}
        crawl = run_script(tmp_path, LOADED, settings, fresh=True, site=site.url, paths=list(ENGLISH))
    assert verdicts(crawl) == new(ENGLISH)
    (modules,) = crawl.notes
    assert "crawler_dedup.signing.signer" in modules
    unneeded = {"jieba", "rjieba", "trafilatura", "opencc", "pypinyin", "matplotlib", "jinja2", "click"}
    assert unneeded & set(modules) == set()


# The dictionary is loaded when the spider sets an event, and not after some time.
WAITING = """
import os, threading
from crawler_dedup.signing import segmentation
from tests.support.walker import Walker

go_on = threading.Event()
loads = []
load = segmentation._jieba

def wait_and_load():
    loads.append(threading.current_thread().name)
    assert go_on.wait(100)
    return load()

segmentation._jieba = wait_and_load

class Spider(Walker):
    english = 0

    def parse(self, response):
        yield from super().parse(response)
        self.english += "/en/" in response.url
        if self.english == 5:
            go_on.set()

    def closed(self, reason):
        self.notes[:] = loads
"""


def test_english_pages_are_decided_while_the_dictionary_for_the_chinese_ones_before_them_is_loaded(
    tmp_path: Path,
) -> None:
    # One Chinese page is too large to be signed on the event loop: it must not hold up the signing thread either.
    large = html(prose_page(prose(9, 200, chinese=True) + "\n" + prose(8, 500)).decode())
    english = {**ENGLISH, "/en/0": html(article("large", count=4_000))}
    pages = {"/zh/large": large, **CHINESE, **english}
    assert len(large.body) > 32_000 < len(english["/en/0"].body)
    with Site(pages) as site:
        crawl = run_script(tmp_path, WAITING, JIEBA, site=site.url, paths=list(pages))
    assert {path for path, _ in verdicts(crawl)[:5]} == english.keys()
    assert sorted(verdicts(crawl)) == sorted(new(pages))
    assert crawl.notes == ["crawler-dedup"]
    assert "unchecked" not in crawl.counts()
    assert not list((tmp_path / "index").glob("jieba*"))


def test_a_crawl_that_is_killed_while_the_dictionary_is_loaded_loses_nothing(tmp_path: Path) -> None:
    killed = WAITING.replace("return load()", "os.kill(os.getpid(), 9)")
    pages = {**CHINESE, **ENGLISH}
    with Site(pages) as site:
        running = start_script(tmp_path, killed, JIEBA, site=site.url, paths=list(pages))
        running.log()
        assert not (tmp_path / "result.json").exists()
        crawl = run_script(tmp_path, WALK, JIEBA, site=site.url, paths=list(pages))
    assert sorted(crawl.paths()) == sorted(pages)
    assert not crawl.drops
    assert "unchecked" not in crawl.counts()


MISSING = """
from pathlib import Path
from crawler_dedup.crawl import loading
from crawler_dedup.signing import segmentation
from tests.support.walker import Walker

jieba_file = segmentation.jieba_file
segmentation.jieba_file = lambda: Path("missing")

class Spider(Walker):
    def parse(self, response):
        yield from super().parse(response)
        if response.url.endswith("/zh/3"):
            segmentation.jieba_file = jieba_file
            loading._PAUSE = 0.0
            yield self.request("/zh/4")
"""


def test_without_the_dictionary_chinese_pages_pass_unchecked_until_it_can_be_loaded(tmp_path: Path) -> None:
    pages, first = {**ENGLISH, **CHINESE}, list(CHINESE)[:4]
    settings = {**JIEBA, "CONCURRENT_REQUESTS": 1}
    with Site(pages) as site:
        crawl = run_script(tmp_path, MISSING, settings, site=site.url, paths=[*ENGLISH, *first])
    unchecked = [(path, "unchecked") for path in first]
    assert verdicts(crawl) == [*new(ENGLISH), *unchecked, ("/zh/4", "new")]
    assert crawl.counts("error/") == {"LoadingFailed": 4}
    (line,) = crawl.lines("WARNING", "passes unchecked")
    assert (
        "/zh/0> passes unchecked: LoadingFailed: The dictionary of jieba cannot be loaded (FileNotFoundError:" in line
    )
    assert line.endswith("; this is tried again after a minute.")


@pytest.fixture
def loaded_later() -> tuple[Resource[str], threading.Event, list[int]]:
    """Return a dictionary that is loaded at an event, and the number of times its loading has begun."""
    go_on, loads = threading.Event(), []

    def load() -> str:
        loads.append(1)
        go_on.wait()
        return "loaded"

    return Resource("The dictionary", load), go_on, loads


def test_pages_that_wait_for_the_same_dictionary_have_it_loaded_once(
    loaded_later: tuple[Resource[str], threading.Event, list[int]],
) -> None:
    dictionary, go_on, loads = loaded_later

    async def wait() -> None:
        loading = Loading()
        pages = [asyncio.ensure_future(loading.wait_for(dictionary)) for _ in range(5)]
        await asyncio.sleep(0)
        pages[0].cancel()
        go_on.set()
        await asyncio.gather(*pages[1:])

    asyncio.run(wait())
    assert dictionary.is_loaded
    assert loads == [1]


def test_no_page_waits_for_ever_for_a_dictionary_that_hangs(
    loaded_later: tuple[Resource[str], threading.Event, list[int]],
) -> None:
    dictionary, go_on, loads = loaded_later

    async def wait() -> None:
        waiting = Loading(0.01)
        for _ in range(3):
            with pytest.raises(LoadingFailed, match="The dictionary is not loaded after 0 seconds"):
                await waiting.wait_for(dictionary)
        go_on.set()
        while not dictionary.is_loaded:
            await asyncio.sleep(0.001)
        await waiting.wait_for(dictionary)

    asyncio.run(wait())
    assert loads == [1]
