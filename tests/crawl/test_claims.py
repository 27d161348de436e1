"""Claims in real crawls: what waits for a page that is being handled, and what a stopped crawl leaves."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from crawler_dedup import Config, Decision, Deduplicator, IndexUnusable, Verdict
from crawler_dedup.crawl.claims import Claims
from crawler_dedup.crawl.serveroutages import Outages
from tests.support.crawling import Site, article, crawl_pages, html, start_script
from tests.support.versions import REACTORS, SCRAPY


def verdict_later(index: Path, seed: object) -> str:
    """Return the verdict of a later run about a page with the text of *seed* at a new address."""
    with Deduplicator.open(index, Config(tokenizer="bigrams")) as deduplicator:
        body = article(seed, frame="later").encode()
        return str(deduplicator.check(f"http://later/{seed}", body, scope="spider walker").verdict)


# An index that cannot be written


@pytest.mark.parametrize(("failures", "lines"), [(0, []), (1, []), (6, []), (99, [(2, "http://h/0, http://h/1")])])
async def test_ends_of_claims_are_written_however_often_the_index_fails_or_releases_are_logged(
    failures: int, lines: list[tuple[int, str]]
) -> None:
    written: list[tuple[int, bool]] = []
    logged: list[tuple[object, ...]] = []
    outcomes = iter([False] * failures)

    def end_claim(decision: Decision, *, settled: bool) -> asyncio.Future[bool]:
        future = asyncio.get_running_loop().create_future()
        if next(outcomes, True):
            written.append((decision.claim, settled))
            future.set_result(True)
        else:
            future.set_exception(IndexUnusable("The server is away."))
        return future

    monitor = SimpleNamespace(
        report_claim_end=lambda *_, **__: None, log=lambda _level, _text, *values: logged.append(values)
    )
    outages = Outages(0, cast("Any", monitor), lambda: False)
    workers = cast("Any", SimpleNamespace(end_claim=end_claim))
    claims = Claims(workers, cast("Any", monitor), 1, outages=outages, on_end=print)
    ends = [(1, True), (1, False), (2, False)]

    for claim, settled in ends:
        url = f"http://h/{claim - 1}"
        assert claims.end(Decision(Verdict.NEW, url, url, "", claim=claim), settled=settled)
    for _ in range(7):
        await asyncio.sleep(0)  # the futures call back
        claims.write_again()
    await asyncio.sleep(0)
    claims.report_unwritten()
    assert logged == lines
    assert sorted(written) == sorted([] if lines else ends)
    assert failures != 2 * len(ends) or written == ends


# Waiting

# Notes what comes from the network, before the filter sees it, and what reaches the callback.
WAITING_SPIDER = """
import asyncio
from crawler_dedup import NearDuplicate, release
from crawler_dedup.crawl import claims
from tests.support.walker import Walker, path_of, seen

claims.WAIT_SECONDS = claims._SHORT_WAIT_SECONDS = 60

class Arrivals:
    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_response(self, request, response, spider=None):
        self.crawler.spider.happens("arrives", path_of(request.url))
        return response

class Waiting:
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.happened = {}

    def event(self, what, path):
        return self.happened.setdefault((what, path), asyncio.Event())

    def happens(self, what, path):
        self.notes.append(what + " " + path)
        self.event(what, path).set()

    def failed(self, failure):
        assert failure.check(NearDuplicate)
        self.happens("dropped", path_of(failure.request.url))
"""
SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOADER_MIDDLEWARES": {"script.Arrivals": 900},
}
OUTCOMES_SPIDER = f"""{WAITING_SPIDER}
class Spider(Waiting, Walker):
    async def start(self):
        for path in self.paths:
            yield self.request(path)
            await self.event("called", path).wait()
            if path == "/open":
                claims.WAIT_SECONDS = 0.5
            yield self.request(path + "/twin")
        await self.event("called", "/open/twin").wait()
        claims.WAIT_SECONDS = 600
        yield self.request("/open/twin/too")

    async def parse(self, response):
        path = path_of(response.url)
        self.happens("called", path)
        if "twin" not in path:
            await self.event("arrives", path + "/twin").wait()
            if path == "/open":
                await self.event("called", "/open/twin/too").wait()
            await asyncio.sleep(0.1)
            self.happens("ends", path)
            if path == "/fails":
                raise ValueError("as told")
            if path == "/released":
                release(response)
        yield seen(response)
"""


@pytest.mark.parametrize("reactor", REACTORS, ids=["reactor", "asyncio alone"])
def test_a_page_waits_for_the_outcome_of_an_alike_one(tmp_path: Path, reactor: bool) -> None:
    paths = ("/settled", "/fails", "/released", "/open")
    twins = ("", "/twin", "/twin/too")
    pages = {f"{path}{twin}": html(article(path, frame=twin)) for path in paths for twin in twins}
    crawl = crawl_pages(tmp_path, pages, OUTCOMES_SPIDER, {**SETTINGS, "TWISTED_REACTOR_ENABLED": reactor}, paths=paths)
    ends = {path: [note for note in crawl.notes if note.split()[1].startswith(path)][2:] for path in paths}
    assert ends == {
        "/settled": ["arrives /settled/twin", "ends /settled", "dropped /settled/twin"],
        "/fails": ["arrives /fails/twin", "ends /fails", "called /fails/twin"],
        "/released": ["arrives /released/twin", "ends /released", "called /released/twin"],
        "/open": [
            "arrives /open/twin",
            "called /open/twin",
            "arrives /open/twin/too",
            "called /open/twin/too",  # at once: one slow callback must not hold up the crawl
            "ends /open",
        ],
    }
    verdicts = [crawl.item(f"{path}/twin")["verdict"] for path in paths[1:]]
    assert verdicts == ["new", "new", "unchecked"]
    decision = crawl.item("/open/twin")["decision"]
    assert decision["reason"] == "a similar page is still being handled"
    assert decision["duplicate_of"] == crawl.item("/open")["url"]
    assert crawl.counts("unchecked/") == {"a_similar_page_is_still_being_handled": 2}
    (line,) = crawl.lines("INFO", f"{decision['url']} passed unchecked")
    assert decision["duplicate_of"] in line


CROWD_SPIDER = f"""{WAITING_SPIDER}
claims._SHORT_WAIT_SECONDS = 0.2

class Spider(Waiting, Walker):
    async def start(self):
        self.through = 0
        yield self.request("/slow")
        await self.event("called", "/slow").wait()
        for path in self.paths:
            yield self.request(path)

    async def parse(self, response):
        path = path_of(response.url)
        self.happens("called", path)
        if path == "/slow":
            await self.event("through", "all others").wait()
        else:
            self.through += 1
            if self.through == 60 + 11:
                self.happens("through", "all others")
        yield seen(response)
"""


def test_one_slow_callback_delays_at_most_a_quarter_of_the_crawl(tmp_path: Path) -> None:
    twins = {f"/twin/{number}": html(article("slow", frame=f"twin {number}")) for number in range(15)}
    other_pages = {f"/other/{number}": html(article(f"other {number}")) for number in range(60)}
    pages = {"/slow": html(article("slow")), **twins, **other_pages}
    crawl = crawl_pages(tmp_path, pages, CROWD_SPIDER, SETTINGS, paths=[*twins, *other_pages])
    # Only the pages that wait for its end are dropped after it.
    at = crawl.notes.index("through all others")
    dropped = [note.removeprefix("dropped ") for note in crawl.notes[at + 1 :]]
    assert len(dropped) == 4
    passed = [item for item in crawl.items if item["path"] in twins]
    assert {item["decision"]["reason"] for item in passed} == {"too many pages wait for similar pages"}
    assert sorted([*dropped, *(item["path"] for item in passed)]) == sorted(twins)
    assert crawl.counts("unchecked/") == {"too_many_pages_wait_for_similar_pages": 11}
    assert {item["verdict"] for item in crawl.items if item["path"] in other_pages} == {"new"}


# Stopping

STOPPED_SPIDER = f"""{WAITING_SPIDER}
import os, signal
from crawler_dedup.middleware import DedupMiddleware

class Spider(Waiting, Walker):
    async def start(self):
        yield self.request("/done")
        yield self.request("/slow", callback=self.slow)
        await self.event("called", "/slow").wait()
        yield self.request("/slow/twin")
        for path in self.paths:
            yield self.request(path)

    async def slow(self, response):
        self.happens("called", "/slow")
        await self.event("arrives", "/slow/twin").wait()
        # The index has answered the twin after it has settled the first page.
        session = self.crawler.get_downloader_middleware(DedupMiddleware).session
        while not session.claims._awaited:
            await asyncio.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.3)
        yield seen(response)
"""


def test_an_interrupted_crawl_finishes_the_pages_that_it_has_begun(tmp_path: Path) -> None:
    """When it is interrupted, ``/done`` is handled, ``/slow`` is being handled, and a page like that waits."""
    paths = [f"/later/{number}" for number in range(30)]
    pages = {path: html(article(path)) for path in ["/done", "/slow", *paths]}
    pages["/slow/twin"] = html(article("/slow", frame="twin"))
    settings = {**SETTINGS, "CONCURRENT_REQUESTS": 2, "DOWNLOAD_DELAY": 0.1}
    crawl = crawl_pages(tmp_path, pages, STOPPED_SPIDER, settings, paths=paths)
    assert crawl.stats["finish_reason"] == "shutdown"
    assert {"/done", "/slow"} <= set(crawl.paths())
    assert len(crawl.items) < 2 + 30
    assert [note for note in crawl.notes if note.startswith("dropped")] == ["dropped /slow/twin"]
    assert crawl.counts("handled/")["settled"] == len(crawl.items)
    # Nothing was left behind, and the run ended regularly, so that the grace does not apply.
    assert not list((tmp_path / "index").glob("run-*"))
    assert [verdict_later(tmp_path / "index", path) for path in crawl.paths()] == ["duplicate"] * len(crawl.items)


IMPATIENT_SPIDER = """
import asyncio, os, signal
from pathlib import Path
from tests.support.walker import Walker

class Store:
    def process_item(self, item, spider=None):
        return item

    async def close_spider(self, spider=None):
        asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(1)
        Path("stored").touch()

class Spider(Walker):
    pass
"""


@pytest.mark.skipif(SCRAPY < (2, 14), reason="Scrapy 2.13 does not wait for a coroutine close_spider")
@pytest.mark.parametrize("reactor", REACTORS)
def test_an_interrupt_while_items_are_being_stored_does_not_end_the_run(tmp_path: Path, reactor: bool) -> None:
    settings = {"ITEM_PIPELINES": {"script.Store": 1}, "TWISTED_REACTOR_ENABLED": reactor}
    with Site({"/a": html(article("a"))}) as site:
        start_script(tmp_path, IMPATIENT_SPIDER, settings, site=site.url, paths=["/a"]).log()
    stored = (tmp_path / "stored").exists()
    assert verdict_later(tmp_path / "index", "a") == ("duplicate" if stored else "new")
    assert not stored or not reactor
