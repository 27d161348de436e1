"""The handling of a page, its callback and its items: its outcome is reported once, and settles or releases the page."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator
from crawler_dedup.settling import Outcome
from tests.support.crawling import Crawl, Site, article, crawl_pages, html, start_script

SCOPE = "spider walker"
BIGRAMS = Config(tokenizer="bigrams")

# A callback does what the words in the path of its page say, one after the other. It is a generator if the path begins
# with "sync", and otherwise an asynchronous one.
SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of
from scrapy import signals
from scrapy.exceptions import DropItem

from crawler_dedup import page_handled, release, settle


class Pipeline:
    async def process_item(self, item, spider=None):
        if "page" in item:
            item["settled"] = settle(item.pop("page"))
        if "event" in item:
            await item.pop("event").wait()
        if item["fate"] == "dropped":
            raise DropItem("as told")
        if item["fate"] == "failed":
            raise OSError("as told")
        return item


class Refuses:
    # Stands nearer to the spider than the filter's own middleware, as those of projects do.
    def process_spider_input(self, response, spider=None):
        if "refused" in response.url:
            raise KeyError("refused")


class Rescues:
    def process_spider_exception(self, response, exception, spider=None):
        if "rescued" in response.url:
            fate = "failed" if "badly" in response.url else "scraped"
            return [] if "without" in response.url else [{"path": path_of(response.url), "fate": fate}]


class Breaks:
    async def process_spider_output(self, response, result, spider=None):
        async for element in result:
            yield element
        if "broken" in response.url:
            raise ValueError("as told")


class Spider(Walker):
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.told, signal=page_handled)
        crawler.signals.connect(spider.scraped, signal=signals.item_scraped)
        spider.scraped_paths = {}
        return spider

    async def start(self):
        yield {"path": "none", "fate": "scraped"}
        async for request in super().start():
            yield request

    def told(self, response):
        self.notes.append("told " + path_of(response.url))

    def scraped(self, item):
        self.event(item["path"]).set()

    def event(self, path):
        return self.scraped_paths.setdefault(path, asyncio.Event())

    def request(self, path, **arguments):
        named = {"/slow": self.slow, "/rescued-at-once": self.at_once, "/at-once": self.at_once}
        callback = named.get(path, self.steps if path.startswith("/sync") else self.parse)
        meta = {"dedup_key": "known"} if "known" in path else {"dedup_skip": "skipped" in path}
        return super().request(path, **{"callback": callback, "meta": meta, **arguments})

    async def parse(self, response):
        for step in self.steps(response):
            if step == "wait":
                await self.event(path_of(response.url)).wait()
            else:
                yield step

    def steps(self, response):
        path = path_of(response.url)
        page = response
        for word in path.partition("?")[0].strip("/").split("-"):
            if word in ("scraped", "dropped", "failed"):
                yield {"path": path, "fate": word}
            elif word == "handed":
                yield {"path": path, "fate": "scraped", "page": response}
            elif word == "request":
                yield self.request("/sync-scraped?" + path)
            elif word == "nothing":
                yield None
            elif word == "wait":
                yield word
            elif word == "replace":
                page = response.replace(body=b"<p>Another text")
            elif word in ("settle", "release"):
                self.notes.append([path, {"settle": settle, "release": release}[word](page)])
            elif word == "raise":
                raise ValueError("as told")

    def at_once(self, response):
        raise ValueError("as told")

    def slow(self, response):
        event = asyncio.Event()
        yield {"path": "/slow", "fate": "scraped", "event": event}
        yield self.request("/after-slow", callback=self.after_slow, cb_kwargs={"event": event})

    def after_slow(self, response, event):
        # The callback of the other page has ended: its request could not be here otherwise.
        self.notes.append("called /after-slow")
        event.set()

    def failed(self, failure):
        path = path_of(failure.request.url)
        return [{"path": path, "fate": "scraped"}] if "errback" in path or "copy" in path else failure
"""
SETTINGS = {
    "ITEM_PIPELINES": {"script.Pipeline": 100},
    "SPIDER_MIDDLEWARES": {"script.Rescues": 550, "script.Refuses": 560, "script.Breaks": 570},
    "HTTPERROR_ALLOWED_CODES": [404],
}
SUCCEEDED = Outcome()
OUTCOMES = {
    "/sync-scraped-request-nothing-scraped": Outcome(scraped=2),
    "/sync-scraped?/sync-scraped-request-nothing-scraped": Outcome(scraped=1),
    "/scraped-scraped": Outcome(scraped=2),
    "/sync": SUCCEEDED,
    "/at-once": Outcome(callback=False),
    "/sync-raise": Outcome(callback=False),
    "/sync-scraped-raise": Outcome(callback=False, scraped=1),
    "/sync-request-raise": Outcome(callback=False),
    "/sync-scraped?/sync-request-raise": Outcome(scraped=1),
    "/sync-dropped-scraped-failed": Outcome(scraped=1, dropped=1, failed=1),
    "/sync-dropped-dropped": Outcome(dropped=2),
    "/sync-failed": Outcome(failed=1),
    "/slow": Outcome(scraped=1),
    "/after-slow": SUCCEEDED,
    "/scraped-wait-scraped": Outcome(scraped=2),
    "/sync-scraped-broken": Outcome(callback=False, scraped=1),
    "/rescued-at-once": Outcome(scraped=1),
    "/sync-rescued-without-raise": SUCCEEDED,
    "/sync-rescued-badly-raise": Outcome(failed=1),
    "/sync-rescued-scraped-raise": Outcome(scraped=2),
    "/rescued-scraped-wait-raise": Outcome(scraped=2),
    "/refused": Outcome(callback=False),
    "/refused-errback": Outcome(scraped=1),
}
REQUESTED_BY_OTHERS = {path for path in OUTCOMES if "?" in path} | {"/after-slow"}
# What settle and release return where a spider calls them, and whether the page is settled in the end.
BY_HAND: dict[str, tuple[list[bool], bool]] = {
    "/settle-raise": ([True], True),
    "/settle-settle-dropped": ([True, False], True),
    "/replace-settle-dropped": ([True], True),
    "/handed": ([], True),
    "/release-release-scraped": ([True, False], False),
    "/scraped-wait-release": ([True], False),
    "/settle-release-scraped": ([True, True], False),
    "/release-settle-scraped": ([True, False], False),
    "/known-settle-release-scraped": ([False, True], False),  # an earlier run has kept it
    "/skipped-settle-release-scraped": ([False, False], False),
}
COPY, NOT_CHECKED = "/sync-copy", "/sync-scraped-missing"


@dataclass(frozen=True)
class Handled:
    """A crawl in one mode, and the paths whose copies a later run has dropped."""

    crawl: Crawl
    represented: set[str]


@pytest.fixture(scope="module")
def handled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Handled]:
    """Crawl one page for each way in which a callback and its items can end, in each mode."""
    pages = {path: html(article(path)) for path in (*OUTCOMES, *BY_HAND)}
    paths = [*(path for path in pages if path not in REQUESTED_BY_OTHERS), NOT_CHECKED]
    others = {COPY: html(article("/sync", frame="copy")), NOT_CHECKED: html("<p>No such page.</p>", 404)}
    running = {}
    with Site(pages | others) as site:
        for mode in ("item", "callback", "manual"):
            folder = tmp_path_factory.mktemp(mode)
            with Deduplicator.open(folder / "index", BIGRAMS) as earlier:
                path = "/known-settle-release-scraped"
                earlier.check("http://earlier/", article(path).encode(), key="known", scope=SCOPE)
            given = [*paths, COPY] if mode == "item" else paths
            settings = {**SETTINGS, "DEDUP_SETTLE": mode}
            running[mode] = folder, start_script(folder, SPIDER, settings, site=site.url, paths=given)
        crawls = {mode: (folder, started.results()["walker"]) for mode, (folder, started) in running.items()}
    return {mode: Handled(crawl, _represented(folder / "index", pages)) for mode, (folder, crawl) in crawls.items()}


def _represented(index: Path, paths: Any) -> set[str]:
    with Deduplicator.open(index, BIGRAMS) as later:
        bodies = {path: article(path, frame="later").encode() for path in paths}
        verdicts = {path: later.check(f"http://later{path}", body, scope=SCOPE) for path, body in bodies.items()}
    return {path for path, decision in verdicts.items() if decision.verdict == "duplicate"}


@pytest.fixture(scope="module")
def crawl(handled: dict[str, Handled]) -> Crawl:
    """Return the crawl in the default mode."""
    return handled["item"].crawl


def is_settled(mode: str, outcome: Outcome) -> bool:
    """Return whether a page stands for others in the end."""
    if mode == "callback":
        return outcome.succeeded and not outcome.failed
    return mode == "item" and (outcome.succeeded or outcome.scraped > 0)


@pytest.mark.parametrize("mode", ["item", "callback", "manual"])
def test_a_later_run_drops_only_pages_alike_to_those_whose_outcome_settles_them(
    handled: dict[str, Handled], mode: str
) -> None:
    settled = {path for path, outcome in OUTCOMES.items() if is_settled(mode, outcome)}
    by_hand = {path for path, (_, is_settled_then) in BY_HAND.items() if is_settled_then}
    assert handled[mode].represented == settled | by_hand
    counts = handled[mode].crawl.counts("handled/")
    assert counts["settled"] == len(settled | by_hand) + 1 + (mode == "item")  # some of these are released later
    assert counts["released"] == (0 if mode == "manual" else len(OUTCOMES) - len(settled)) + 4
    *_, summary = handled[mode].crawl.lines("INFO", "filter: pages ")
    kept = handled[mode].crawl.counts()["kept"] - counts["released"]
    assert f" kept {kept}, duplicates dropped " in summary
    assert f", not handled to the end {counts['released']};" in summary


@pytest.mark.parametrize("mode", ["item", "callback", "manual"])
def test_settle_and_release_return_whether_there_was_a_claim_to_end(handled: dict[str, Handled], mode: str) -> None:
    crawl = handled[mode].crawl
    answers = [note for note in crawl.notes if isinstance(note, list)]
    assert {path: [answer for at, answer in answers if at == path] for path in BY_HAND} == {
        path: expected for path, (expected, _) in BY_HAND.items()
    }
    assert crawl.item("/handed")["settled"] is True


def test_each_page_with_a_decision_is_reported_once_with_its_outcome(crawl: Crawl) -> None:
    reported = {path: [entry for entry in crawl.handled if entry["path"] == path] for path in OUTCOMES}
    assert reported == {path: [entry_of(outcome, path)] for path, outcome in OUTCOMES.items()}
    others = {entry["path"] for entry in crawl.handled} - {*OUTCOMES}
    assert others == {path for path in BY_HAND if "skipped" not in path}
    succeeded = sum(entry["succeeded"] for entry in crawl.handled)
    counts = crawl.counts("handled/")
    assert (counts["well"], counts["badly"]) == (succeeded, len(crawl.handled) - succeeded)


def entry_of(outcome: Outcome, path: str) -> dict[str, Any]:
    succeeded = outcome.callback and (outcome.scraped > 0 or not (outcome.dropped or outcome.failed))
    return {**asdict(outcome), "succeeded": succeeded, "path": path, "spider": "walker"}


def test_a_page_is_handled_after_its_last_item_not_after_its_callback(crawl: Crawl) -> None:
    notes = [note for note in crawl.notes if "slow" in note]
    assert notes[0] == "called /after-slow"
    assert sorted(notes[1:]) == ["told /after-slow", "told /slow"]


def test_items_without_a_page_or_of_a_page_without_a_decision_pass_and_no_error_is_hidden(crawl: Crawl) -> None:
    assert crawl.counts()["dropped"] == 1
    for path in ("none", NOT_CHECKED, COPY):  # the copy is dropped, and its errback yields an item
        assert crawl.paths().count(path) == 1
    assert "log_count/CRITICAL" not in crawl.stats
    assert "Error caught on signal handler" not in crawl.log
    assert crawl.stats["spider_exceptions/ValueError"] == 6
    assert crawl.stats["item_dropped_reasons_count/DropItem"] == 5


def test_when_marking_duplicates_are_reported_like_other_pages(tmp_path: Path) -> None:
    pages = {path: html(article("same", frame=path)) for path in ("/sync-scraped-1", "/sync-scraped-2")}
    crawl = crawl_pages(tmp_path, pages, SPIDER, {**SETTINGS, "DEDUP_ACTION": "mark"})
    assert crawl.handled == [entry_of(Outcome(scraped=1), path) for path in pages]
