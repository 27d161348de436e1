"""Repeated visits: in a later run, from a cache, by retries and redirections, after a crawl that was killed."""

import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator
from tests.support.crawling import (
    WALK,
    Crawl,
    Site,
    article,
    crawl_pages,
    html,
    paragraphs,
    redirect,
    run_script,
    start_script,
    words,
)
from tests.support.places import Places

BIGRAMS = Config(tokenizer="bigrams")

KEYED = {f"/keyed?sid={sid}": {"dedup_key": "/keyed"} for sid in (1, 2)}
"""The meta of requests of the same page."""


# A second run


def hub(seed: object, links: list[str], frame: str = "") -> str:
    """Return a page whose links are its content and are not mentioned in its main text."""
    listed = "".join(f'<li><a href="{link}">{" ".join(words(link, 8))}</a></li>' for link in links)
    return (
        f"<!doctype html><html lang='en'><head><title>Hub {seed}</title></head><body><nav>{frame}</nav>"
        f"<main><h1>Hub {seed}</h1>{paragraphs(words(seed, 60))}<ul>{listed}</ul></main></body></html>"
    )


def links(name: str, count: int = 30) -> list[str]:
    return [f"/{name}/{number}" for number in range(count)]


FIRST_VISIT = {
    "/same": html(article("same")),
    "/changed": html(article("changed")),
    "/hub": html(hub("hub", links("entry"))),
    "/one-of-two": html(hub("two", links("left"))),
    "/other-of-two": html(hub("two", links("right"))),
    "/moves": redirect("/final?sid=1"),
    "/keyed?sid=1": html(article("keyed", frame="1")),
}
SECOND_VISIT = {
    "/same": FIRST_VISIT["/same"],
    "/changed": html(article("changed, quite another text")),
    "/hub": html(hub("hub", links("entry", 31))),
    "/one-of-two": html(article("no hub any more")),
    "/moves": redirect("/final?sid=2"),
    "/keyed?sid=2": html(article("keyed", frame="2")),
    "/old-text-of-changed": html(article("changed", frame="old")),
    "/new-text-of-changed": html(article("changed, quite another text", frame="new")),
    "/old-text-of-two": html(hub("two", links("right"), frame="old")),
}
FINALS = {f"/final?sid={sid}": html(article("final", frame=str(sid))) for sid in (1, 2)}


@pytest.fixture(scope="module")
def second_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Crawl]:
    """Return what a second run finds, for each ``DEDUP_REVISIT``."""
    directory = tmp_path_factory.mktemp("second")
    with Site(FIRST_VISIT | FINALS) as site:
        options: dict[str, Any] = {"site": site.url, "meta": KEYED, "follows": False}
        first = run_script(directory, WALK, paths=list(FIRST_VISIT), **options)
        assert {item["verdict"] for item in first.items} == {"new"}
        assert len(first.items) == len(FIRST_VISIT)
        site.pages |= SECOND_VISIT
        crawls = {}
        for revisit in ("pass", "drop"):
            shutil.copytree(directory / "index", directory / revisit / "index")
            settings = {"DEDUP_REVISIT": revisit}
            crawls[revisit] = run_script(directory / revisit, WALK, settings, paths=list(SECOND_VISIT), **options)
    return crawls


@pytest.mark.parametrize("revisit", ["pass", "drop"])
def test_unchanged_pages_pass_or_are_dropped_and_changed_ones_replace_their_earlier_content(
    second_runs: dict[str, Crawl], revisit: str
) -> None:
    crawl = second_runs[revisit]
    paths: dict[str, set[str]] = {verdict: set() for verdict in ("new", "unchanged", "changed", "duplicate")}
    for path, verdict in crawl.verdicts().items():
        paths[verdict].add(path)
    dropped = {note["path"]: note["decision"] for note in crawl.notes}
    for path, decision in dropped.items():
        paths[decision["verdict"]].add(path)
    assert {note["error"] for note in crawl.notes} == {"NearDuplicate"}
    assert paths == {
        # The key of a redirected page is that of where it leads to, which is another address now.
        "unchanged": {"/same", "/final?sid=2", "/keyed?sid=2"},
        "changed": {"/changed", "/hub", "/one-of-two"},
        "new": {"/old-text-of-changed"},
        "duplicate": {"/new-text-of-changed", "/old-text-of-two"},
    }
    assert dropped.keys() - paths["duplicate"] == (paths["unchanged"] if revisit == "drop" else set())
    assert dropped["/new-text-of-changed"]["duplicate_of"] == crawl.item("/changed")["url"]
    counts = crawl.counts()
    assert [counts[name] for name in ("checked", "unchanged", "changed", "dropped")] == [len(SECOND_VISIT), 3, 3, 2]
    assert counts["unchanged_dropped"] == (3 if revisit == "drop" else 0)


# The same answer again


def test_a_page_that_a_cache_replays_is_not_a_visit(tmp_path: Path) -> None:
    pages = {f"/{number}": html(article(number)) for number in range(3)}
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache"), "DEDUP_REVISIT": "drop"}
    with Site(pages) as site:
        first = run_script(tmp_path, WALK, settings, site=site.url, paths=list(pages))
        replayed = run_script(tmp_path, WALK, settings, site=site.url, paths=list(pages))
        assert site.paths() == list(pages)
        assert first.counts() == {"checked": 3, "kept": 3}
        assert set(replayed.verdicts().values()) == {"unchanged"}
        assert replayed.paths() == list(pages)
        # The very same pages from the network are dropped.
        visited = run_script(tmp_path, WALK, {"DEDUP_REVISIT": "drop"}, site=site.url, paths=list(pages))
    assert visited.paths() == []
    assert visited.counts()["unchanged_dropped"] == 3


RETRIES_SPIDER = """
from tests.support.walker import Walker, path_of, seen
from scrapy.downloadermiddlewares.retry import get_retry_request
from crawler_dedup import release

class Spider(Walker):
    def parse(self, response):
        yield seen(response)
        times = response.meta.get("retry_times", 0)
        if path_of(response.url).endswith("asked-for-twice") and not times:
            yield get_retry_request(response.request, spider=self, reason="as told")
        if path_of(response.url) == "/captcha" and not times:
            release(response)
            yield get_retry_request(response.request, spider=self, reason="a captcha")
"""


def test_a_page_that_is_retried_is_never_dropped(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "/flaky": iter([html(article("flaky"), 503), html(article("flaky"))]).__next__,
        "/asked-for-twice": html(article("asked for twice")),
        "/moved": redirect("/moved-and-asked-for-twice"),
        "/moved-and-asked-for-twice": html(article("moved and asked for twice")),
        "/captcha": iter([html(article("captcha")), html(article("behind it"))]).__next__,
        "/captcha-of-another": html(article("captcha", frame="another")),
    }
    settings = {
        "RETRY_ENABLED": True,
        "DEDUP_REVISIT": "drop",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue",  # a retry comes at once
    }
    paths = [path for path in pages if path != "/moved-and-asked-for-twice"]
    crawl = crawl_pages(tmp_path, pages, RETRIES_SPIDER, settings, paths=paths)
    assert crawl.notes == []
    assert sorted((item["path"], item["verdict"]) for item in crawl.items) == [
        ("/asked-for-twice", "new"),
        ("/asked-for-twice", "unchanged"),
        ("/captcha", "new"),
        ("/captcha", "new"),
        ("/captcha-of-another", "new"),
        ("/flaky", "new"),
        ("/moved-and-asked-for-twice", "new"),
        ("/moved-and-asked-for-twice", "unchanged"),
    ]
    assert crawl.counts("skipped/") == {}


INSISTS_SPIDER = """
from crawler_dedup.crawl import counting
from tests.support.walker import Walker, path_of, seen
from scrapy import Request

counting.MAX_DUPLICATES = 5

class Spider(Walker):
    def parse(self, response):
        yield seen(response)

    def failed(self, failure):
        super().failed(failure)
        if path_of(failure.request.url).endswith("anew"):
            return Request(failure.request.url, errback=self.failed, dont_filter=True)
        return failure.request.replace(dont_filter=True)
"""


def test_an_errback_that_repeats_dropped_requests_gets_the_page_in_the_end_which_is_still_a_use_of_the_kept_page(
    tmp_path: Path,
) -> None:
    originals = {path: html(article(path)) for path in ("/unchanged", "/unchanged-anew")}
    copies = {f"/copy-of{path}": html(article(path, frame="copy")) for path in originals}
    with Site(originals | copies) as site:
        run_script(tmp_path, WALK, site=site.url, paths=list(originals))
        del site.asked[:]
        settings = {"DEDUP_REVISIT": "drop"}
        crawl = run_script(tmp_path, INSISTS_SPIDER, settings, site=site.url, paths=[*originals, *copies])
        assert set(Counter(site.paths()).values()) == {6}
    assert crawl.stats["finish_reason"] == "finished"
    assert sorted(crawl.paths()) == sorted([*originals, *copies])
    assert {(item["verdict"], item["decision"]["reason"]) for item in crawl.items} == {
        ("unchecked", "requested again after each drop")
    }
    assert set(Counter(note["path"] for note in crawl.notes).values()) == {5}
    counts = crawl.counts()
    assert (counts["dropped"], counts["unchanged_dropped"], counts["watchdog"]) == (10, 10, 2)
    assert counts["unchecked/requested_again_after_each_drop"] == counts["unchecked"] == 4


# Expired


def test_pages_that_were_not_visited_for_long_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    for text, age in {"old": 11, "young": 9}.items():
        monkeypatch.setattr("crawler_dedup.index.runs.time", lambda age=age: now - age * 86_400)
        with Deduplicator.open(tmp_path / "index", BIGRAMS) as deduplicator:
            deduplicator.check(f"http://{text}/", article(text).encode(), scope="spider walker")
    monkeypatch.undo()
    pages = {f"/copy-of-{text}": html(article(text, frame="copy")) for text in ("old", "young")}
    crawl = crawl_pages(tmp_path, pages, settings={"DEDUP_EXPIRE_DAYS": 10})
    assert crawl.verdicts() == {"/copy-of-old": "new"}
    assert len(crawl.lines("INFO", "they have expired")) == 1


# Several at once

SEVERAL_SPIDERS = """
from tests.support.walker import Walker

class A(Walker):
    name = "a"

    def request(self, path):
        return super().request(f"{path}/{self.name}")

class B(A):
    name = "b"
"""


def test_several_spiders_in_several_processes_keep_each_content_once_in_total(places: Places, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(12)]
    pages = {
        f"/{process}/{at}/{spider}": html(article(text, frame=f"{process}{spider}"))
        for process in "xy"
        for spider in "ab"
        for at, text in enumerate(texts)
    }
    settings = {
        "DEDUP_INDEX" if places.server else "DEDUP_DIR": places.word(),
        "DEDUP_SCOPE": "global",
        # A quarter of the pages that may be in flight may wait long: here those are all that there are.
        "CONCURRENT_REQUESTS": 4 * len(texts),
        "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
    }
    with Site(pages) as site:
        running = [
            start_script(
                tmp_path / process,
                SEVERAL_SPIDERS,
                settings,
                site=site.url,
                paths=[f"/{process}/{at}" for at in range(len(texts))],
            )
            for process in "xy"
        ]
        crawls = [crawl for running_crawl in running for crawl in running_crawl.results().values()]
    assert len(crawls) == 4
    assert not [crawl.counts("unchecked/") for crawl in crawls if crawl.counts("unchecked/")]
    kept = [item["body"].partition("<h1>Article ")[2].partition("<")[0] for crawl in crawls for item in crawl.items]
    assert sorted(kept) == sorted(texts)
    assert sum(crawl.counts()["dropped"] for crawl in crawls) == 3 * len(texts)
    assert not [line for crawl in crawls for line in crawl.log.splitlines() if re.search(" (WARNING|ERROR): ", line)]
    with Deduplicator.open(places(), BIGRAMS) as deduplicator:
        assert len(deduplicator) == len(texts)
        assert deduplicator.tidy() == 0
    assert not list(tmp_path.rglob("run-*"))
    assert list(tmp_path.rglob("journal-*.jsonl"))


# Crawls that do not come to their end


def test_pages_of_an_interrupted_crawl_pass_until_a_crawl_is_finished(tmp_path: Path) -> None:
    """The links of such a page may not have been followed, and the pages behind them must not be lost."""
    pages = {path: html(article(path)) for path in ("/a", "/b", "/c")}
    drop = {"DEDUP_REVISIT": "drop"}
    stopped = {**drop, "CLOSESPIDER_PAGECOUNT": 2}
    with Site(pages) as site:
        interrupted, finished, incremental = (
            run_script(tmp_path, WALK, settings, site=site.url, paths=list(pages)) for settings in (stopped, drop, drop)
        )
    assert interrupted.stats["finish_reason"] == "closespider_pagecount"
    assert finished.paths() == ["/a", "/b", "/c"]
    assert finished.counts()["unchanged"] == len(interrupted.paths()) > 0
    assert incremental.paths() == []
    assert incremental.counts()["unchanged_dropped"] == 3


def test_a_job_that_is_stopped_and_may_be_resumed_counts_as_finished(tmp_path: Path) -> None:
    stopped = {"JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_PAGECOUNT": 1}
    with Site({path: html(article(path)) for path in ("/a", "/b", "/c")}) as site:
        first = run_script(tmp_path, WALK, stopped, site=site.url, paths=["/a", "/b", "/c"])
        second = run_script(tmp_path, WALK, {"DEDUP_REVISIT": "drop"}, site=site.url, paths=first.paths())
    assert first.paths()
    assert second.counts()["unchanged_dropped"] == len(first.paths())


# Redirections


def test_a_page_whose_first_address_led_elsewhere_before_is_not_a_duplicate_of_itself(tmp_path: Path) -> None:
    targets = iter(["/x?1", "/y?1", "/y?2", "/y?3"])
    pages = {"/x?1": html(article("x")), **{f"/y?{visit}": html(article("y", frame=str(visit))) for visit in (1, 2, 3)}}
    with Site({**pages, "/first": lambda: redirect(next(targets))}) as site:
        verdicts = [run_script(tmp_path, WALK, site=site.url, paths=["/first"]).items[0]["verdict"] for _ in range(4)]
    assert verdicts == ["new", "new", "unchanged", "unchanged"]


def test_a_page_to_which_many_addresses_redirect_is_handled_once_in_a_run(tmp_path: Path) -> None:
    target = html(article("target", links=["/#top"]))
    moved = {f"/moved/{number}": redirect("/target") for number in range(30)}
    # They are not "requested again after each drop", either.
    copies = {f"/copied/{number}": redirect("/copy") for number in range(10)}
    pages = {**moved, "/target": target, **copies, "/copy": html(article("target", frame="copy"))}
    paths = [*moved, "/target", *copies]
    settings = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    with Site(pages) as site:
        options: dict[str, Any] = {"site": site.url, "paths": paths, "follows": False}
        first, second = (run_script(tmp_path, WALK, settings, **options) for _ in range(2))
    for crawl, verdict in ((first, "new"), (second, "unchanged")):
        assert [(item["path"], item["verdict"]) for item in crawl.items] == [("/target", verdict)]
        counts = crawl.counts()
        assert (counts["unchecked"], counts["unchanged_dropped"], counts["dropped"]) == (0, 30, 10)
        assert not crawl.lines("WARNING", "The start page")


FAILS_SPIDER = """
from tests.support.walker import Walker, seen

class Spider(Walker):
    fails = True

    def parse(self, response):
        if self.fails:
            self.fails = False
            raise ValueError("as told")
        yield seen(response)
"""


def test_a_page_whose_handling_has_failed_is_handled_at_the_next_address_that_redirects_to_it(tmp_path: Path) -> None:
    pages = {f"/moved/{number}": redirect("/target") for number in range(6)}
    settings = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 6}
    with Site({**pages, "/target": html(article("target"))}) as site:
        crawls = [run_script(tmp_path, FAILS_SPIDER, settings, site=site.url, paths=list(pages)) for _ in range(2)]
    assert [crawl.verdicts() for crawl in crawls] == [{"/target": "new"}, {"/target": "unchanged"}]
    assert [crawl.counts()["unchanged_dropped"] for crawl in crawls] == [4, 4]


def test_an_address_that_is_requested_again_and_a_page_that_has_changed_are_visits(tmp_path: Path) -> None:
    texts = iter(["first", "first", "second", "second", "second"])
    pages: dict[str, Any] = {
        "/latest": redirect("/page"),
        "/other": redirect("/page"),
        "/page": lambda: html(article(next(texts))),
    }
    with Site(pages) as site:
        paths = ["/latest", "/latest", "/other", "/other", "/latest"]
        settings = {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}  # no visit before the page of the last was handled
        crawl = run_script(tmp_path, WALK, settings, site=site.url, paths=paths)
    assert [item["verdict"] for item in crawl.items] == ["new", "unchanged", "changed", "unchanged", "unchanged"]


COPYING_SPIDER = """
from tests.support.walker import Walker, seen

class Spider(Walker):
    def parse(self, response):
        yield seen(response)
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, meta=response.meta, errback=self.failed)
"""


def test_redirections_that_a_spider_copies_from_the_parent_are_ignored(tmp_path: Path) -> None:
    pages = {
        "/from": redirect("/to"),
        "/to": html(article("same", links=["/copy", "/moved"])),
        "/copy": html(article("same", links=["/copy", "/moved"], frame="copy")),
        "/moved": redirect("/there"),
        "/there": html(article("another")),
    }
    with Site(pages) as site:
        crawl = run_script(tmp_path, COPYING_SPIDER, site=site.url, paths=["/from"])
        second = run_script(tmp_path, WALK, site=site.url, paths=["/moved"])
    assert crawl.paths() == ["/to", "/there"]
    assert [note["path"] for note in crawl.notes] == ["/copy"]
    assert second.items[0]["verdict"] == "unchanged"
