"""The outcome of the handling of a page: its callback and its items, reported once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator
from crawler_dedup.settling import Outcome
from tests.support.crawling import Crawl, Site, article, html, run_script, start_script

SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of, seen
from scrapy import Request, signals
from scrapy.exceptions import DropItem

from crawler_dedup import page_handled


class Pipeline:
    async def process_item(self, item, spider=None):
        if item["fate"] == "dropped":
            raise DropItem("as told")
        if item["fate"] == "failed":
            raise OSError("as told")
        if item["fate"] == "waits for another page":
            await item.pop("event").wait()
        return item


class Refuses:
    # Stands nearer to the spider than the filter's own middleware, as those of projects do.
    def process_spider_input(self, response, spider=None):
        if "refused" in response.url:
            raise KeyError("refused")


class Rescues:
    def process_spider_exception(self, response, exception, spider=None):
        if "rescued" not in response.url:
            return None
        fate = "failed" if "item-fails" in response.url else "scraped"
        return [] if "without-items" in response.url else [{"path": path_of(response.url), "fate": fate}]


class Breaks:
    async def process_spider_output(self, response, result, spider=None):
        async for element in result:
            yield element
        if "broken-by-another-middleware" in response.url:
            raise ValueError("as told")


class Spider(Walker):
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.told, signal=page_handled)
        crawler.signals.connect(spider.scraped, signal=signals.item_scraped)
        spider.ends = {}
        return spider

    async def start(self):
        yield {"path": "none", "fate": "scraped"}
        async for request in super().start():
            yield request

    def told(self, response):
        self.notes.append("told " + path_of(response.url))

    def scraped(self, item):
        if item["path"] in self.ends:
            self.ends[item["path"]].set()

    def request(self, path, **arguments):
        name = path.strip("/").replace("-", "_")
        return super().request(path, callback=getattr(self, name.removesuffix("_copy"), self.one_item), **arguments)

    def item(self, response, fate="scraped", **others):
        return {"path": path_of(response.url), "fate": fate, **others}

    def one_item(self, response):
        yield self.item(response)

    def two_items_and_a_request(self, response):
        yield self.item(response)
        yield response.follow("/requested", callback=self.one_item)
        yield None
        yield self.item(response)

    async def async_generator(self, response):
        yield self.item(response)
        await asyncio.sleep(0)
        yield self.item(response)

    def no_items(self, response):
        self.notes.append("called " + path_of(response.url))

    def raises_at_once(self, response):
        raise ValueError("as told")

    def raises_before_the_first_item(self, response):
        raise ValueError("as told")
        yield

    def raises_after_an_item(self, response):
        yield self.item(response)
        raise ValueError("as told")

    def raises_after_a_request(self, response):
        yield response.follow("/requested-2", callback=self.one_item)
        raise ValueError("as told")

    def one_of_three_comes_out(self, response):
        for fate in ("dropped", "scraped", "failed"):
            yield self.item(response, fate)

    def all_dropped(self, response):
        yield self.item(response, "dropped")
        yield self.item(response, "dropped")

    def all_failed(self, response):
        yield self.item(response, "failed")

    def slow_item(self, response):
        event = asyncio.Event()
        yield self.item(response, "waits for another page", event=event)
        yield response.follow("/after-slow-item", callback=self.after_slow_item, cb_kwargs={"event": event})

    async def waits_for_its_item(self, response):
        end = self.ends[path_of(response.url)] = asyncio.Event()
        yield self.item(response)
        await end.wait()
        yield self.item(response)

    def after_slow_item(self, response, event):
        # The callback of the other page has ended: its request could not be here otherwise.
        self.notes.append("called " + path_of(response.url))
        event.set()

    def rescued_raises_at_once(self, response):
        raise ValueError("as told")

    def rescued_without_items(self, response):
        raise ValueError("as told")
        yield

    def rescued_generator_item_fails(self, response):
        raise ValueError("as told")
        yield

    def rescued_after_an_item(self, response):
        yield self.item(response)
        raise ValueError("as told")

    async def rescued_after_an_item_that_has_ended(self, response):
        end = self.ends[path_of(response.url)] = asyncio.Event()
        yield self.item(response)
        await end.wait()
        raise ValueError("as told")

    def refused_handled_by_errback(self, response):
        raise AssertionError("the middleware refuses this page")

    refused = refused_handled_by_errback

    def failed(self, failure):
        path = path_of(failure.request.url)
        self.notes.append("errback " + path)
        if path == "/refused-handled-by-errback":
            return [{"path": path, "fate": "scraped"}]
        if path.endswith("copy"):
            return [{"path": path, "fate": "scraped", "from": "errback"}]
        return failure
"""
SETTINGS = {
    "ITEM_PIPELINES": {"script.Pipeline": 100},
    "SPIDER_MIDDLEWARES": {"script.Rescues": 550, "script.Refuses": 560, "script.Breaks": 570},
}

WELL = Outcome()
OUTCOMES = {
    "/two-items-and-a-request": Outcome(scraped=2),
    "/requested": Outcome(scraped=1),
    "/async-generator": Outcome(scraped=2),
    "/no-items": WELL,
    "/raises-at-once": Outcome(callback=False),
    "/raises-before-the-first-item": Outcome(callback=False),
    "/raises-after-an-item": Outcome(callback=False, scraped=1),
    "/raises-after-a-request": Outcome(callback=False),
    "/requested-2": Outcome(scraped=1),
    "/one-of-three-comes-out": Outcome(scraped=1, dropped=1, failed=1),
    "/all-dropped": Outcome(dropped=2),
    "/all-failed": Outcome(failed=1),
    "/slow-item": Outcome(scraped=1),
    "/after-slow-item": WELL,
    "/waits-for-its-item": Outcome(scraped=2),
    "/broken-by-another-middleware": Outcome(callback=False, scraped=1),
    "/rescued-raises-at-once": Outcome(scraped=1),
    "/rescued-without-items": WELL,
    "/rescued-generator-item-fails": Outcome(failed=1),
    "/rescued-after-an-item": Outcome(scraped=2),
    "/rescued-after-an-item-that-has-ended": Outcome(scraped=2),
    "/refused": Outcome(callback=False),
    "/refused-handled-by-errback": Outcome(scraped=1),
}
REQUESTED_BY_OTHERS = {"/requested", "/requested-2", "/after-slow-item"}


COPY = "/no-items-copy"


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Crawl, Path]]:
    """Crawl one page for each way in which a callback and its items can end, in each mode; return crawls and indexes."""
    pages = {path: html(article(path)) for path in OUTCOMES}
    pages[COPY] = html(article("/no-items", frame="copy"))
    pages["/not-checked"] = html("<p>No such page.</p>", 404)
    paths = [path for path in pages if path not in REQUESTED_BY_OTHERS]
    settings = {**SETTINGS, "HTTPERROR_ALLOWED_CODES": [404]}
    folders = {mode: tmp_path_factory.mktemp(mode) for mode in ("item", "callback", "manual")}
    with Site(pages) as site:
        running = {
            mode: start_script(
                folder,
                SPIDER,
                {**settings, "DEDUP_SETTLE": mode},
                site=site.url,
                paths=[path for path in paths if path != COPY or mode == "item"],
            )
            for mode, folder in folders.items()
        }
        return {mode: (started.results()["walker"], folders[mode] / "index") for mode, started in running.items()}


@pytest.fixture(scope="module")
def crawl(crawls: dict[str, tuple[Crawl, Path]]) -> Crawl:
    """Return the crawl in the default mode."""
    return crawls["item"][0]


def is_settled(mode: str, outcome: Outcome) -> bool:
    """Return whether a page stands for others in the end."""
    if mode == "callback":
        return outcome.well and not outcome.failed
    return mode == "item" and (outcome.well or outcome.scraped > 0)


@pytest.mark.parametrize("mode", ["item", "callback", "manual"])
def test_a_later_run_drops_only_pages_alike_to_those_whose_outcome_settles_them(
    crawls: dict[str, tuple[Crawl, Path]], mode: str
) -> None:
    crawl, index = crawls[mode]
    settled = {path for path, outcome in OUTCOMES.items() if is_settled(mode, outcome)}
    counts = crawl.counts("handled/")
    assert counts["settled"] == len(settled)
    assert counts["released"] == (0 if mode == "manual" else len(OUTCOMES) - len(settled))
    with Deduplicator.open(index, Config(tokenizer="bigrams")) as later:
        bodies = {path: article(path, frame="later").encode() for path in OUTCOMES}
        verdicts = {
            path: later.check(f"http://later{path}", body, scope="spider walker").verdict
            for path, body in bodies.items()
        }
    assert {path for path, verdict in verdicts.items() if verdict == "duplicate"} == settled


def handled_entry(outcome: Outcome, path: str) -> dict[str, Any]:
    return {
        "callback": outcome.callback,
        "scraped": outcome.scraped,
        "dropped": outcome.dropped,
        "failed": outcome.failed,
        "asked_again": outcome.asked_again,
        "well": outcome.well,
        "path": path,
        "spider": "walker",
    }


@pytest.mark.parametrize("path", list(OUTCOMES))
def test_each_page_is_reported_once_with_its_outcome(crawl: Crawl, path: str) -> None:
    assert [entry for entry in crawl.handled if entry["path"] == path] == [handled_entry(OUTCOMES[path], path)]


def test_a_page_is_handled_after_its_last_item_not_after_its_callback(crawl: Crawl) -> None:
    notes = [note for note in crawl.notes if "slow-item" in note]
    assert notes[0] == "called /after-slow-item"
    assert sorted(notes[1:]) == ["told /after-slow-item", "told /slow-item"]


def test_pages_without_a_decision_are_not_reported(crawl: Crawl) -> None:
    assert "/not-checked" in crawl.paths()
    assert "/not-checked" not in {entry["path"] for entry in crawl.handled}


def test_an_item_without_a_page_passes(crawl: Crawl) -> None:
    assert crawl.paths().count("none") == 1
    assert "log_count/CRITICAL" not in crawl.stats
    assert "Error caught on signal handler" not in crawl.log


def test_a_dropped_page_is_not_reported_whatever_its_errback_yields(crawl: Crawl) -> None:
    assert [item["from"] for item in crawl.items if item["path"] == "/no-items-copy"] == ["errback"]
    assert crawl.counts()["dropped"] == 1
    assert "/no-items-copy" not in {entry["path"] for entry in crawl.handled}


def test_the_statistics_count_pages_that_went_well_and_badly(crawl: Crawl) -> None:
    well = sum(outcome.well for outcome in OUTCOMES.values())
    counts = crawl.counts("handled/")
    assert {"well": counts["well"], "badly": counts["badly"]} == {"well": well, "badly": len(OUTCOMES) - well}


def test_the_filter_hides_no_error_of_the_project(crawl: Crawl) -> None:
    assert crawl.stats["spider_exceptions/ValueError"] == 5
    assert crawl.stats["item_dropped_reasons_count/DropItem"] == 3


@pytest.mark.parametrize(
    ("outcome", "well"),
    [
        (Outcome(), True),
        (Outcome(scraped=1), True),
        (Outcome(scraped=1, dropped=1, failed=1), True),
        (Outcome(dropped=1), False),
        (Outcome(failed=1), False),
        (Outcome(callback=False), False),
        (Outcome(callback=False, scraped=1), False),
    ],
)
def test_a_page_is_handled_well_if_its_callback_succeeds_and_an_item_is_scraped_or_none_was_made(
    outcome: Outcome, well: bool
) -> None:
    assert outcome.well is well


def test_when_marking_duplicates_are_reported_like_other_pages(tmp_path: Path) -> None:
    pages = {path: html(article("same", frame=path)) for path in ("/one", "/two")}
    settings = {**SETTINGS, "DEDUP_ACTION": "mark"}
    with Site(pages) as site:
        crawl = run_script(tmp_path, SPIDER, settings, site=site.url, paths=list(pages))
    assert crawl.handled == [handled_entry(Outcome(scraped=1), path) for path in pages]
