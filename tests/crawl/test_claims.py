"""Claims in real crawls: when a page is a representative, what waits for it, and what a stopped crawl leaves."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from crawler_dedup import Config, Decision, Deduplicator, IndexUnusable, Verdict
from crawler_dedup.crawl.claims import Claims
from crawler_dedup.crawl.outages import Outages
from crawler_dedup.index import backend
from tests.support.crawling import Answer, Crawl, Running, Site, article, html, run_script, start_script
from tests.support.versions import REACTORS, SCRAPY

SCOPE = "spider walker"


def verdict_later(index: Path, seed: object, **config: Any) -> str:
    """Return the verdict of a later run about a page with the text of *seed* at a new address."""
    with Deduplicator.open(index, Config(tokenizer="bigrams", **config)) as deduplicator:
        body = article(seed, frame="later").encode()
        return str(deduplicator.check(f"http://later/{seed}", body, scope=SCOPE).verdict)


# Memory


def test_a_limited_number_of_claims_that_never_end_is_remembered_and_all_are_forgotten_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "MAX_OPEN_CLAIMS", 5)
    config = Config(tokenizer="bigrams")
    with Deduplicator.open(tmp_path, config) as deduplicator:
        pages = [deduplicator.sign(f"http://h/{number}", article(number).encode()) for number in range(18)]
        for page in pages:
            (decision,) = deduplicator.submit([page], claim=True).result()
            assert len(deduplicator._opened.store._open_claims) <= 5
        assert deduplicator.settle(decision)
    with Deduplicator.open(tmp_path, config) as deduplicator:
        assert deduplicator.tidy() == 17
        assert [deduplicator.decide([page])[0].verdict for page in pages[-2:]] == ["new", "unchanged"]


# An index that cannot be written


NO_WAIT = Outages(0, cast("Any", None), lambda: False)


class _FlakyIndex:
    """Refuses the ends of some claims.

    Attributes:
        failures: how many it refuses before it writes one.
        written: whether the ends that it wrote settle their claims.
    """

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.written: list[bool] = []

    def end_claim(self, _: Decision, *, settled: bool) -> Future[bool]:
        future: Future[bool] = Future()
        if self.failures:
            self.failures -= 1
            future.set_exception(IndexUnusable("The server is away."))
        else:
            self.written.append(settled)
            future.set_result(True)
        return future


def test_the_release_of_a_page_is_written_however_often_the_index_fails() -> None:
    index = _FlakyIndex(failures=4)
    monitor = cast("Any", SimpleNamespace(report_claim_end=lambda *_, **__: None))
    claims = Claims(cast("Any", index), monitor, 1, outages=NO_WAIT, timeout=1, count_coming=int)
    page = Decision(Verdict.NEW, "http://h/", "http://h/", "", claim=1)
    assert claims.end(page, settled=True)
    assert claims.end(page, settled=False)
    for _ in range(3):
        claims.write_again()
    assert index.written == [True, False]


@pytest.mark.parametrize(("failures", "expected"), [(0, []), (1, []), (9, [(2, "http://h/0")])])
def test_releases_that_could_not_be_written_until_the_end_are_logged(
    failures: int, expected: list[tuple[int, str]]
) -> None:
    lines: list[tuple[object, ...]] = []
    monitor = SimpleNamespace(
        report_claim_end=lambda *_, **__: None, log=lambda _level, _text, *values: lines.append(values)
    )
    claims = Claims(
        cast("Any", _FlakyIndex(failures)),
        cast("Any", monitor),
        1,
        outages=NO_WAIT,
        timeout=1,
        count_coming=int,
    )
    for number, settled in enumerate((False, False, True)):
        url = f"http://h/{number}"
        claims.end(Decision(Verdict.NEW, url, url, "", claim=1 + number), settled=settled)
    claims.write_again()
    claims.report_unwritten()
    assert lines == expected


def patience(seconds: float) -> str:
    """Return the first lines of a script in whose crawls pages wait so long for the outcome of a similar page."""
    return f"from crawler_dedup.crawl import claims\nclaims.PATIENCE_SECONDS = {seconds}\n"


# Settled or released

HANDLINGS_SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of
from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider, DropItem

from crawler_dedup import release, settle


class Pipeline:
    async def process_item(self, item, spider=None):
        if "page" in item:
            item["settled"] = settle(item.pop("page"))
        if item["fate"] == "dropped":
            raise DropItem("as told")
        return item


class Spider(Walker):
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.due = [spider.second_visit, spider.twins]
        crawler.signals.connect(spider.idle, signal=signals.spider_idle)
        return spider

    async def start(self):
        yield {"path": "none", "fate": "scraped"}
        async for request in super().start():
            yield request

    def idle(self):
        # All that went before has ended.
        if self.due:
            for request in self.due.pop(0)():
                self.crawler.engine.crawl(request)
            raise DontCloseSpider

    def second_visit(self):
        yield self.request("/unchanged-is-released", callback=self.releases_unchanged)

    def twins(self):
        # One page alike to each.
        for path in self.paths:
            yield self.request(path + "/twin", callback=self.twin, meta={"dedup_action": "mark"})

    def twin(self, response):
        self.note(response, str(response.meta["dedup"].verdict))
        release(response)  # it shall leave nothing

    def note(self, response, *told):
        self.notes.append([path_of(response.url), *told])

    def request(self, path, **arguments):
        name = path.strip("/").replace("-", "_")
        given = {"callback": getattr(self, name, self.generator), **arguments}
        if path.startswith("/skipped"):
            given["meta"] = {**given.get("meta", {}), "dedup_skip": not path.endswith("twin")}
        return super().request(path, **given)

    def item(self, response, fate="scraped", **others):
        return {"path": path_of(response.url), "fate": fate, **others}

    def generator(self, response):
        yield self.item(response)

    async def raises_halfway(self, response):
        yield self.item(response)
        await asyncio.sleep(0.1)
        raise ValueError("as told")

    def settles_and_raises(self, response):
        self.note(response, settle(response))
        raise ValueError("as told")

    def settles_twice(self, response):
        self.note(response, settle(response), settle(response))
        yield self.item(response, "dropped")

    def settles_a_replaced_response(self, response):
        self.note(response, settle(response.replace(body=b"<p>Another text")))
        yield self.item(response, "dropped")

    def settled_by_the_pipeline(self, response):
        yield self.item(response, page=response)

    def releases_twice(self, response):
        self.note(response, release(response), release(response))
        yield self.item(response)

    async def released_after_an_item(self, response):
        yield self.item(response)
        await asyncio.sleep(0.1)
        self.note(response, release(response))

    def settled_then_released(self, response):
        self.note(response, settle(response), release(response))
        yield self.item(response)

    def released_then_settled(self, response):
        self.note(response, release(response), settle(response))
        yield self.item(response)

    def skipped(self, response):
        self.note(response, settle(response), release(response))
        yield self.item(response)

    def releases_unchanged(self, response):
        decision = response.meta["dedup"]
        self.note(response, str(decision.verdict), settle(response), release(response))
        yield self.item(response)
"""
MODES = ("item", "callback", "manual")
SETTLED, RELEASED, OPEN = "S", "R", "-"
# What becomes of the claim in each of the modes; an open one is forgotten when the crawl has ended.
HANDLINGS = {
    "/generator": "SS-",
    "/raises-halfway": "SR-",
    "/settles-and-raises": "SSS",
    "/settles-twice": "SSS",
    "/settles-a-replaced-response": "SSS",
    "/settled-by-the-pipeline": "SSS",
    "/releases-twice": "RRR",
    "/released-after-an-item": "RRR",
    "/settled-then-released": "RRR",
    "/released-then-settled": "RRR",
    "/unchanged-is-released": "RRR",
}


class Handled:
    """A crawl for each mode, and its index."""

    def __init__(self, directory: Path) -> None:
        paths = [*HANDLINGS, "/skipped"]
        pages = {f"{path}{twin}": html(article(path, frame=twin)) for path in paths for twin in ("", "/twin")}
        settings = {
            "ITEM_PIPELINES": {"script.Pipeline": 100},
        }
        with Site(pages) as site:
            running = {
                mode: start_script(
                    directory / mode,
                    patience(0) + HANDLINGS_SPIDER,
                    {**settings, "DEDUP_SETTLE": mode},
                    site=site.url,
                    paths=paths,
                )
                for mode in MODES
            }
            self.crawls: dict[str, Crawl] = {
                mode: running_crawl.results()["walker"] for mode, running_crawl in running.items()
            }
        self.later: dict[str, dict[str, str]] = {}
        for mode in MODES:
            with Deduplicator.open(directory / mode / "index", Config(tokenizer="bigrams")) as deduplicator:
                self.later[mode] = {
                    path: deduplicator.check(
                        f"http://later{path}", article(path, frame="later").encode(), scope=SCOPE
                    ).verdict
                    for path in pages
                }

    def noted(self, mode: str, path: str) -> list[Any]:
        """Return what the callback of *path* recorded."""
        (outcomes,) = (outcome for noted_path, *outcome in self.crawls[mode].notes if noted_path == path)
        return list(outcomes)


@pytest.fixture(scope="module")
def handled(tmp_path_factory: pytest.TempPathFactory) -> Handled:
    return Handled(tmp_path_factory.mktemp("handled"))


def fates(wanted: dict[str, str]) -> list[Any]:
    return [
        pytest.param(mode, path, fate, id=f"{mode}-{path[1:]}")
        for path, row in wanted.items()
        for mode, fate in zip(MODES, row, strict=True)
    ]


@pytest.mark.parametrize(("mode", "path", "fate"), fates(HANDLINGS))
def test_an_alike_page_of_the_same_crawl_is_decided_by_the_outcome_of_the_claim(
    handled: Handled, mode: str, path: str, fate: str
) -> None:
    verdict = {SETTLED: "duplicate", RELEASED: "new", OPEN: "unchecked"}[fate]
    assert handled.noted(mode, f"{path}/twin") == [verdict]


@pytest.mark.parametrize(("mode", "path", "fate"), fates(HANDLINGS))
def test_a_later_run_drops_only_pages_alike_to_settled_ones(handled: Handled, mode: str, path: str, fate: str) -> None:
    assert handled.later[mode][path] == ("duplicate" if fate == SETTLED else "new")


@pytest.mark.parametrize("mode", MODES)
def test_settle_and_release_return_whether_there_was_a_claim_to_end(handled: Handled, mode: str) -> None:
    assert handled.noted(mode, "/settles-and-raises") == [True]
    assert handled.noted(mode, "/settles-twice") == [True, False]
    assert handled.noted(mode, "/settles-a-replaced-response") == [True]
    assert handled.noted(mode, "/releases-twice") == [True, False]
    assert handled.noted(mode, "/released-after-an-item") == [True]
    assert handled.noted(mode, "/settled-then-released") == [True, True]
    assert handled.noted(mode, "/released-then-settled") == [True, False]
    assert handled.noted(mode, "/skipped") == [False, False]
    assert handled.noted(mode, "/unchanged-is-released") == ["unchanged", mode == "manual", True]
    (item,) = (item for item in handled.crawls[mode].items if item["path"] == "/settled-by-the-pipeline")
    assert item["settled"] is True


# Waiting

WAITING_SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of, seen
from crawler_dedup import NearDuplicate, release

class Arrivals:
    # Sees what comes from the network before the filter does.
    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_response(self, request, response, spider=None):
        self.crawler.spider.happens("arrives", path_of(request.url))
        return response

class Spider(Walker):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.happened = {}

    def event(self, what, path):
        return self.happened.setdefault((what, path), asyncio.Event())

    def happens(self, what, path):
        self.notes.append(what + " " + path)
        self.event(what, path).set()

    async def start(self):
        for path in self.paths:
            yield self.request(path)
            await self.event("called", path).wait()
            yield self.request(path + "/twin")

    async def parse(self, response):
        path = path_of(response.url)
        self.happens("called", path)
        if not path.endswith("twin"):
            await self.event("called" if path == "/open" else "arrives", path + "/twin").wait()
            await asyncio.sleep(0.1)
            self.happens("ends", path)
            if path == "/fails":
                raise ValueError("as told")
            if path == "/released":
                release(response)
        yield seen(response)

    def failed(self, failure):
        assert failure.check(NearDuplicate)
        self.happens("dropped", path_of(failure.request.url))
"""
WAITING = ("/settled", "/fails", "/released", "/open")


@pytest.mark.parametrize("reactor", REACTORS, ids=["reactor", "asyncio alone"])
def test_a_page_waits_for_the_outcome_of_an_alike_one(tmp_path: Path, reactor: bool) -> None:
    pages = {f"{path}{twin}": html(article(path, frame=twin)) for path in WAITING for twin in ("", "/twin")}
    settings = {
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOADER_MIDDLEWARES": {"script.Arrivals": 900},
        "TWISTED_REACTOR_ENABLED": reactor,
    }
    with Site(pages) as site:
        crawl = run_script(tmp_path, patience(2) + WAITING_SPIDER, settings, site=site.url, paths=WAITING)
    ends = {path: [note for note in crawl.notes if note.split()[1].startswith(path)][2:] for path in WAITING}
    assert ends == {
        "/settled": ["arrives /settled/twin", "ends /settled", "dropped /settled/twin"],
        "/fails": ["arrives /fails/twin", "ends /fails", "called /fails/twin"],
        "/released": ["arrives /released/twin", "ends /released", "called /released/twin"],
        "/open": ["arrives /open/twin", "called /open/twin", "ends /open"],
    }
    assert {path: crawl.item(f"{path}/twin")["verdict"] for path in WAITING[1:]} == {
        "/fails": "new",
        "/released": "new",
        "/open": "unchecked",
    }
    decision = crawl.item("/open/twin")["decision"]
    assert decision["reason"] == "alike page being handled"
    assert decision["duplicate_of"] == crawl.item("/open")["url"]
    assert crawl.counts("unchecked/") == {"alike_page_being_handled": 1}
    (line,) = crawl.lines("INFO", f"unchecked {decision['url']}")
    assert decision["duplicate_of"] in line


CROWD_SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of, seen
from crawler_dedup import NearDuplicate

class Spider(Walker):
    async def start(self):
        self.all_others_are_through = asyncio.Event()
        self.slow_is_handled = asyncio.Event()
        self.through = 0
        yield self.request("/slow", callback=self.slow)
        await self.slow_is_handled.wait()
        for path in self.paths:
            yield self.request(path)

    async def slow(self, response):
        self.slow_is_handled.set()
        try:
            await asyncio.wait_for(self.all_others_are_through.wait(), 8)
        except TimeoutError:
            self.notes.append("held up")
        else:
            self.notes.append("slow ends")
        yield seen(response)

    def parse(self, response):
        self.through += 1
        if self.through == 60 + 11:
            self.all_others_are_through.set()
        yield seen(response)

    def failed(self, failure):
        assert failure.check(NearDuplicate)
        self.notes.append(path_of(failure.request.url))
"""


def test_one_slow_callback_delays_at_most_a_quarter_of_the_crawl(tmp_path: Path) -> None:
    twins = {f"/twin/{number}": html(article("slow", frame=f"twin {number}")) for number in range(15)}
    other_pages = {f"/other/{number}": html(article(f"other {number}")) for number in range(60)}
    settings = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
    with Site({"/slow": html(article("slow"))} | twins | other_pages) as site:
        crawl = run_script(tmp_path, patience(60) + CROWD_SPIDER, settings, site=site.url, paths=[*twins, *other_pages])
    # Only the pages that wait for its end are dropped after it.
    assert crawl.notes[0] == "slow ends"
    assert len(crawl.notes) == 1 + 4
    assert set(crawl.notes[1:]) < set(twins)
    passed = [item for item in crawl.items if item["path"] in twins]
    assert {item["decision"]["reason"] for item in passed} == {"too many pages waiting"}
    assert sorted([*crawl.notes[1:], *(item["path"] for item in passed)]) == sorted(twins)
    assert crawl.counts("unchecked/") == {"too_many_pages_waiting": 11}
    assert {item["verdict"] for item in crawl.items if item["path"] in other_pages} == {"new"}


DEADLOCK_SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of, seen
from scrapy import Request

class Spider(Walker):
    def request(self, path):
        return super().request(path, callback=getattr(self, path.strip("/").replace("-", "_").replace("/", "_")))

    async def start(self):
        self.waits, self.twin_is_handled = asyncio.Event(), asyncio.Event()
        yield self.request("/loads-its-twin")
        yield self.request("/waits-for-its-twin")
        await self.waits.wait()
        yield self.request("/waits-for-its-twin/twin")

    async def loads_its_twin(self, response):
        yield seen(await self.download(Request(response.url + "/twin")))
        yield seen(response)

    async def waits_for_its_twin(self, response):
        self.waits.set()
        await self.twin_is_handled.wait()
        yield seen(response)

    def waits_for_its_twin_twin(self, response):
        self.twin_is_handled.set()
        yield seen(response)
"""


def test_pages_whose_handling_depends_on_each_other_are_finished(tmp_path: Path) -> None:
    paths = ["/loads-its-twin", "/waits-for-its-twin"]
    pages = {f"{path}{twin}": html(article(path, frame=twin)) for path in paths for twin in ("", "/twin")}
    with Site(pages) as site:
        settings = {"CONCURRENT_REQUESTS": 4}
        crawl = run_script(tmp_path, patience(1) + DEADLOCK_SPIDER, settings, site=site.url)
    assert crawl.stats["finish_reason"] == "finished"
    assert {item["path"]: item["verdict"] for item in crawl.items} == {
        "/loads-its-twin/twin": None,
        "/loads-its-twin": "new",
        "/waits-for-its-twin/twin": "unchecked",
        "/waits-for-its-twin": "new",
    }
    assert [verdict_later(tmp_path / "index", path) for path in paths] == ["duplicate"] * 2


LATE_ITEMS_SPIDER = """
import asyncio
from tests.support.walker import Walker

class Late:
    async def process_item(self, item, spider=None):
        await asyncio.sleep(0.1)
        return item

class Spider(Walker):
    pass
"""


def test_of_twelve_simultaneous_alike_pages_with_late_items_exactly_one_is_kept(tmp_path: Path) -> None:
    barrier = threading.Barrier(12, timeout=60)

    def together(number: int) -> Answer:
        barrier.wait()
        return html(article("same", frame=f"number {number}"))

    pages = {f"/{number}": lambda number=number: together(number) for number in range(12)}
    settings = {
        "CONCURRENT_REQUESTS": 12,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 12,
        "ITEM_PIPELINES": {"script.Late": 100},
    }
    with Site(pages) as site:
        crawl = run_script(tmp_path, LATE_ITEMS_SPIDER, settings, site=site.url, paths=list(pages))
    assert len(crawl.items) == 1
    assert (crawl.counts()["kept"], crawl.counts()["dropped"], crawl.counts()["unchecked"]) == (1, 11, 0)


# Stopping

STOPPED_SPIDER = """
import asyncio, os, signal
from tests.support.walker import Walker, path_of, seen

class Arrivals:
    @classmethod
    def from_crawler(cls, crawler):
        middleware = cls()
        middleware.crawler = crawler
        return middleware

    def process_response(self, request, response, spider=None):
        if request.url.endswith("/twin"):
            self.crawler.spider.twin_is_here.set()
        return response

class Spider(Walker):
    interrupts = 1

    async def start(self):
        self.twin_is_here, self.slow_is_handled = asyncio.Event(), asyncio.Event()
        yield self.request("/done")
        yield self.request("/slow", callback=self.slow)
        await self.slow_is_handled.wait()
        yield self.request("/slow/twin")
        for path in self.paths:
            yield self.request(path)

    async def slow(self, response):
        self.slow_is_handled.set()
        await self.twin_is_here.wait()
        await asyncio.sleep(0.3)  # what was settled is written, the twin waits
        for _ in range(self.interrupts):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.3)
        yield seen(response)
"""


def interrupted(directory: Path, interrupts: int, **settings: Any) -> Running:
    """Interrupt a crawl with Ctrl-C: ``/done`` is handled, ``/slow`` is being handled, and a page like it waits."""
    paths = [f"/later/{number}" for number in range(30)]
    pages = {path: html(article(path)) for path in ["/done", "/slow", *paths]}
    pages["/slow/twin"] = html(article("/slow", frame="twin"))
    source = patience(60) + STOPPED_SPIDER.replace("interrupts = 1", f"interrupts = {interrupts}")
    settings = {
        "CONCURRENT_REQUESTS": 2,
        "DOWNLOADER_MIDDLEWARES": {"script.Arrivals": 900},
        "DOWNLOAD_DELAY": 0.1,
        **settings,
    }
    with Site(pages) as site:
        running = start_script(directory, source, settings, site=site.url, paths=paths)
        running.log()  # the site must exist until then
    return running


def test_an_interrupted_crawl_finishes_the_pages_that_it_has_begun(tmp_path: Path) -> None:
    crawl = interrupted(tmp_path, 1).results()["walker"]
    assert crawl.stats["finish_reason"] == "shutdown"
    assert {"/done", "/slow"} <= set(crawl.paths())
    assert len(crawl.items) < 2 + 30
    assert [note["path"] for note in crawl.notes] == ["/slow/twin"]
    assert crawl.counts("handled/")["settled"] == len(crawl.items)
    # Nothing was left behind, and the run ended regularly, so that the grace does not apply.
    assert not list((tmp_path / "index").glob("run-*"))
    assert [verdict_later(tmp_path / "index", path) for path in crawl.paths()] == ["duplicate"] * len(crawl.items)


@pytest.mark.parametrize(("grace", "done"), [(60, "new"), (0, "duplicate")])
def test_pages_that_a_killed_crawl_has_just_settled_count_as_lost(tmp_path: Path, grace: int, done: str) -> None:
    log = interrupted(tmp_path, 2, DEDUP_GRACE=grace).log()
    assert "Received SIGINT twice, forcing unclean shutdown" in log
    assert not (tmp_path / "result.json").exists()
    assert [verdict_later(tmp_path / "index", path) for path in ("/done", "/slow")] == [done, "new"]


IMPATIENT_SPIDER = """
import asyncio, os, signal
from pathlib import Path
from tests.support.walker import Walker

class Store:
    def process_item(self, item, spider=None):
        return item

    async def close_spider(self, spider=None):
        asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(2)
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


RESUMED_SPIDER = """
import asyncio, os, signal
from tests.support.walker import Walker, path_of

class Spider(Walker):
    handled = 0

    def request(self, path):
        return super().request(path, errback=None)

    async def parse(self, response):
        self.handled += 1
        if self.handled == 5:
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.2)
        yield {"path": path_of(response.url), "text": response.css("h1::text").get()}
"""


def test_a_crawl_that_is_interrupted_and_resumed_stores_each_content_once(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(12)]
    pages = {f"/{copy}/{at}": html(article(text, frame=copy)) for at, text in enumerate(texts) for copy in "abc"}
    settings = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 6, "JOBDIR": "job"}
    with Site(pages) as site:
        first = run_script(tmp_path, RESUMED_SPIDER, settings, site=site.url, paths=list(pages))
        resumed_source = RESUMED_SPIDER.replace("== 5", "== -1")
        second = run_script(tmp_path, resumed_source, settings, site=site.url, paths=[])
        assert sorted(site.paths()) == sorted(pages)
    assert first.stats["finish_reason"] == "shutdown"
    assert second.stats["finish_reason"] == "finished"
    assert 5 <= len(first.items) < 12
    assert sorted(item["text"] for item in first.items + second.items) == sorted(f"Article {text}" for text in texts)
    for crawl in (first, second):
        assert not crawl.counts("unchecked/")
