"""The downloader middleware in real crawls: which pages it judges, drops and explains, and that it loses none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator, Verdict
from tests.support.crawling import WALK, Answer, Crawl, Site, article, html, redirect, run_script, run_scripts

BIGRAMS = Config(tokenizer="bigrams", max_distance=4)

# The gate

GATE_SPIDER = """
from tests.support.walker import Walker, seen
from scrapy import Request

class Spider(Walker):
    async def start(self):
        yield self.request("/original")
        yield self.request("/asked", meta={"dedup_skip": True})
        yield self.request("/head", method="HEAD")
        yield self.request("/gone", meta={"handle_httpstatus_list": [404]})
        yield self.request("/cut-off", meta={"download_fail_on_dataloss": False})
        yield self.request("/without-end")
        yield self.request("/data.json")
        yield self.request("/loads-others", callback=self.load_others)

    async def load_others(self, response):
        yield seen(response)
        for path, meta in (("/inline", {}), ("/inline-copied-meta", response.meta), ("/inline-moved", response.meta)):
            answer = await self.download(Request(self.site + path, meta=meta))
            yield seen(answer)
"""

COPY = article("gate", frame="copy")


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """Crawl paths with a copy of the original each; it is dropped if the gate lets it through."""
    pages = {
        "/robots.txt": html(COPY),
        "/original": html(article("gate")),
        "/asked": html(COPY),
        "/head": html(COPY),
        "/gone": html(COPY, 404),
        "/cut-off": html(COPY, Content_Length=str(len(COPY) + 100)),
        "/without-end": html(COPY, Content_Length=""),
        "/data.json": Answer(COPY.encode(), headers=(("Content-Type", "application/json"),)),
        "/loads-others": html(article("gate, loads others")),
        "/inline": html(COPY),
        "/inline-copied-meta": html(COPY),
        "/inline-moved": redirect("/inline"),
    }
    with Site(pages) as site:
        return run_script(tmp_path_factory.mktemp("gate"), GATE_SPIDER, {"ROBOTSTXT_OBEY": True}, site=site.url)


def test_every_page_that_the_gate_skips_is_counted_by_its_reason(gate: Crawl) -> None:
    assert gate.counts("skipped/") == {
        "asked": 1,
        "no_callback": 1,
        "inline": 3,
        "head": 1,
        "status": 1,
        "incomplete": 1,
        "not_html": 1,
    }


def test_skipped_pages_are_not_checked(gate: Crawl) -> None:
    assert (gate.counts()["checked"], gate.counts()["kept"]) == (3, 2)
    assert [drop["url"] for drop in gate.drops] == [gate.item("/original")["url"].replace("original", "without-end")]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/asked", COPY),
        ("/head", ""),
        ("/gone", COPY),
        ("/cut-off", COPY),
        ("/data.json", COPY),
        ("/inline-copied-meta", COPY),
    ],
)
def test_a_skipped_page_passes_untouched(gate: Crawl, path: str, body: str) -> None:
    item = gate.item(path)
    assert item["body"] == body
    assert item["decision"] is None


def test_a_page_that_is_loaded_inside_a_callback_passes_untouched(gate: Crawl) -> None:
    items = [item for item in gate.items if item["path"] == "/inline"]
    assert [(item["body"], item["decision"]) for item in items] == [(COPY, None)] * 2  # once straight, once redirected


def test_only_pages_with_a_decision_are_followed_to_the_end_of_their_items(gate: Crawl) -> None:
    assert [handled_page["path"] for handled_page in gate.handled] == ["/original", "/loads-others"]


RELOAD_SPIDER = """
from tests.support.walker import Walker, seen
from scrapy import Request

class Spider(Walker):
    def request(self, path):
        return super().request(path, callback=self.reload if path == "/shell" else self.parse)

    async def reload(self, response):
        yield seen(response)
        yield seen(await self.download(Request(response.url, meta=response.meta)))
"""


def test_a_page_that_its_own_callback_loads_again_passes_untouched(tmp_path: Path) -> None:
    # A shell without text that is loaded again by a browser: the answer belongs to the callback, whatever it holds.
    answers = iter([html("<div id=app></div>"), html(COPY)])
    with Site({"/original": html(article("gate")), "/shell": answers.__next__}) as site:
        crawl = run_script(tmp_path, RELOAD_SPIDER, site=site.url, paths=["/original", "/shell"])
    assert crawl.paths() == ["/original", "/shell", "/shell"]
    assert (crawl.items[2]["body"], crawl.items[2]["decision"]) == (COPY, None)
    assert crawl.counts("skipped/") == {"inline": 1}


ERRBACK_SPIDER = """
from tests.support.walker import Walker, seen
from scrapy import Request

class Spider(Walker):
    async def failed(self, failure):
        self.notes.append(type(failure.value).__name__)
        yield seen(await self.download(Request(failure.request.url, meta=failure.request.meta)))
"""


def test_a_page_that_its_own_errback_loads_again_passes_untouched(tmp_path: Path) -> None:
    answers = iter([html(COPY, Content_Length=str(len(COPY) + 100)), html(COPY)])
    with Site({"/original": html(article("gate")), "/flaky": answers.__next__}) as site:
        crawl = run_script(tmp_path, ERRBACK_SPIDER, site=site.url, paths=["/original", "/flaky"])
    assert crawl.notes in (["ResponseDataLossError"], ["ResponseFailed"])  # the second before Scrapy 2.15
    assert crawl.paths() == ["/original", "/flaky"]
    assert (crawl.items[1]["body"], crawl.items[1]["decision"]) == (COPY, None)
    assert crawl.counts("skipped/") == {"inline": 1}


# Dropped

NEAR = article("near", changed=1, count=400)
SECOND_COPY = article("first", frame="other advertisements", links=["/behind-copy"])
DROP_SITE = {
    "/first": html(article("first", links=["/behind-first"])),
    "/copy": html(SECOND_COPY),
    "/other": html(article("other")),
    "/long": html(article("near", count=400)),
    "/near": html(NEAR),
    "/behind-first": html(article("behind first")),
    "/behind-copy": html(article("behind copy")),
}
DROP_PATHS = ["/first", "/copy", "/other", "/long", "/near"]


def near_distance(tmp_path: Path) -> int:
    """Return how far the signatures of ``/long`` and ``/near`` are apart, by the public interface without Scrapy."""
    with Deduplicator.open(tmp_path, BIGRAMS) as deduplicator:
        near, long = (deduplicator.sign("http://a/", body.encode()) for body in (NEAR, article("near", count=400)))
        match = deduplicator.compare(near, long)
    assert match is not None
    assert match.distance is not None
    return match.distance


@pytest.fixture(scope="module")
def requested_paths() -> list[str]:
    """Return the requests that the site of :func:`dropping` has received."""
    return []


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory, requested_paths: list[str]) -> Crawl:
    directory = tmp_path_factory.mktemp("dropping")
    with Deduplicator.open(directory / "index", BIGRAMS) as deduplicator:
        deduplicator.check("http://earlier/", article("earlier").encode())
    with Site(DROP_SITE) as site:
        crawl = run_script(directory, WALK, {"DEDUP_MAX_DISTANCE": 4}, site=site.url, paths=DROP_PATHS)
        requested_paths += site.paths()
    return crawl


def test_a_duplicate_never_reaches_the_spider(dropping: Crawl) -> None:
    assert sorted(dropping.paths()) == ["/behind-first", "/first", "/long", "/other"]


def test_the_outlinks_of_a_duplicate_are_not_followed(dropping: Crawl, requested_paths: list[str]) -> None:
    assert sorted(requested_paths) == sorted([*DROP_PATHS, "/behind-first"])


def test_the_errback_of_a_duplicate_gets_the_decision(dropping: Crawl) -> None:
    assert [(note["path"], note["error"]) for note in dropping.notes] == [
        ("/copy", "NearDuplicate"),
        ("/near", "NearDuplicate"),
    ]
    decision = dropping.notes[0]["decision"]
    first = dropping.item("/first")
    assert decision["verdict"] == "duplicate"
    assert decision["url"] == first["url"].replace("first", "copy")
    assert decision["duplicate_of"] == first["url"]
    assert decision["match"] == {"rule": "alike", "distance": 0, "resemblance": 1.0, "coverage": 1.0}


def test_a_kept_page_brings_its_decision_to_the_callback(dropping: Crawl) -> None:
    decision = dropping.item("/first")["decision"]
    assert (decision["verdict"], decision["scope"], decision["duplicate_of"]) == ("new", "spider walker", "")
    assert decision["url"] == dropping.item("/first")["url"]
    assert decision["match"] is None


def test_the_signal_of_a_drop_carries_decision_request_response_and_spider(dropping: Crawl) -> None:
    assert len(dropping.drops) == 2
    for drop, note in zip(dropping.drops, dropping.notes, strict=True):
        assert drop == {
            **note["decision"],
            "request": note["decision"]["url"],
            "response": note["decision"]["url"],
            "spider": "walker",
        }


def test_the_statistics_of_a_crawl_add_up(dropping: Crawl, tmp_path: Path) -> None:
    distance = near_distance(tmp_path)
    assert distance > 0, "the two pages of this test must not be equal"
    assert dropping.counts() == {
        "checked": 6,
        "kept": 4,
        "dropped": 2,
        "bytes_dropped": len(SECOND_COPY) + len(NEAR),
        "links_dropped": 1,
        "distance/0": 1,
        f"distance/{distance}": 1,
    }


def test_each_drop_is_explained_in_one_debug_line(dropping: Crawl) -> None:
    lines = dropping.lines("DEBUG", "Dropped duplicate")
    assert len(lines) == 2
    decision = dropping.notes[0]["decision"]
    for part in (decision["url"], decision["duplicate_of"], "distance 0", "rule 'alike'", "coverage 1.00"):
        assert part in lines[0]


def test_the_log_lists_the_configuration_at_the_start_of_a_crawl(dropping: Crawl) -> None:
    (line,) = dropping.lines("INFO", "Near-duplicate filter: index")
    index = Path(dropping.log.partition("Near-duplicate filter: index ")[2].partition(" holds")[0])
    assert index.is_absolute()
    assert (index / "data.mdb").exists()
    assert "holds 1 pages" in line
    assert "scheme simhash, distance 4, tokenizer bigrams, scope spider, action drop" in line
    assert dropping.log.index(line) < dropping.log.index("Crawled (200)")


def test_the_only_warning_of_a_crawl_without_errors_is_that_a_start_page_was_dropped(dropping: Crawl) -> None:
    assert dropping.stats["log_count/WARNING"] == 1
    assert "log_count/ERROR" not in dropping.stats
    (line,) = dropping.lines("WARNING", "The start page")
    assert f"{dropping.notes[0]['decision']['url']} was dropped" in line
    assert "dedup_skip" in line
    assert '"follow"' in line
    assert "py.warnings" not in dropping.log


# In flight at once


# Marked

MARK_SPIDER = """
import dataclasses, pickle
from tests.support.walker import Walker, seen
from crawler_dedup import Decision

class Spider(Walker):
    def parse(self, response):
        decision = response.meta["dedup"]
        try:
            decision.verdict = "new"
        except dataclasses.FrozenInstanceError:
            frozen = True
        else:
            frozen = False
        self.notes.append([type(decision) is Decision, frozen, pickle.loads(pickle.dumps(decision)) == decision])
        yield from super().parse(response)
"""


@pytest.fixture(scope="module")
def marking(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    with Site(DROP_SITE) as site:
        settings = {"DEDUP_ACTION": "mark", "DEDUP_MAX_DISTANCE": 4}
        return run_script(tmp_path_factory.mktemp("mark"), MARK_SPIDER, settings, site=site.url, paths=DROP_PATHS)


def test_when_marking_every_page_passes_and_its_links_are_followed(marking: Crawl) -> None:
    assert sorted(marking.paths()) == sorted(DROP_SITE)
    assert marking.drops == []
    assert len(marking.notes) == len(DROP_SITE)  # one item by each callback, none by an errback


def test_when_marking_the_decision_shows_which_pages_are_duplicates(marking: Crawl) -> None:
    duplicates = [item for item in marking.items if item["verdict"] == "duplicate"]
    assert [item["path"] for item in duplicates] == ["/copy", "/near"]
    assert duplicates[0]["decision"]["duplicate_of"] == marking.item("/first")["url"]
    assert duplicates[0]["decision"]["match"]["rule"] == "alike"


def test_when_marking_duplicates_are_counted_as_marked_not_as_dropped(marking: Crawl) -> None:
    counts = marking.counts()
    assert (counts["checked"], counts["kept"], counts["marked"], counts["distance/0"]) == (7, 5, 2, 1)
    assert not counts.keys() & {"dropped", "bytes_dropped", "links_dropped"}
    (line,) = marking.lines("INFO", "Near-duplicate filter: checked")
    assert "kept 5, marked 2 (28.6 %), unchanged 0" in line


def test_the_decision_in_the_meta_is_frozen_and_picklable(marking: Crawl) -> None:
    assert marking.notes == [[True, True, True]] * len(DROP_SITE)


ACTION_SPIDERS = """
import os
from tests.support.walker import Walker

class Drops(Walker):
    name = "drops"
    custom_settings = {"DEDUP_ACTION": "drop", "DEDUP_DIR": os.path.abspath("index-of-drops")}
    action_of_request = "mark"

    async def start(self):
        yield self.request("/original")
        yield self.request("/copy-1")
        yield self.request("/copy-2", meta={"dedup_action": self.action_of_request})

class Marks(Drops):
    name = "marks"
    custom_settings = {"DEDUP_ACTION": "mark", "DEDUP_DIR": os.path.abspath("index-of-marks")}
    action_of_request = "drop"
"""


@pytest.fixture(scope="module")
def actions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Crawl]:
    pages = {path: html(article("original", frame=path)) for path in ("/original", "/copy-1", "/copy-2")}
    with Site(pages) as site:
        return run_scripts(tmp_path_factory.mktemp("actions"), ACTION_SPIDERS, site=site.url)


@pytest.mark.parametrize(
    ("spider", "marked", "dropped"), [("drops", "/copy-2", "/copy-1"), ("marks", "/copy-1", "/copy-2")]
)
def test_a_request_may_ask_for_the_other_action(
    actions: dict[str, Crawl], spider: str, marked: str, dropped: str
) -> None:
    crawl = actions[spider]
    assert {item["path"]: item["verdict"] for item in crawl.items} == {"/original": "new", marked: "duplicate"}
    assert [note["path"] for note in crawl.notes] == [dropped]
    counts = crawl.counts()
    assert (counts["checked"], counts["kept"], counts["marked"], counts["dropped"]) == (3, 1, 1, 1)


# A decision belongs to one page

COPY_META_SPIDER = """
from tests.support.walker import Walker, seen
from crawler_dedup import Decision

NOTES = []

def note(where, request):
    decision = request.meta.get("dedup")
    NOTES.append([where, request.url.rpartition("/")[2], decision.url.rpartition("/")[2] if decision else None])

class Before:
    def process_request(self, request, spider=None):
        note("before", request)

class After:
    def process_request(self, request, spider=None):
        note("after", request)

class Spider(Walker):
    def parse(self, response):
        self.notes = NOTES
        yield seen(response)
        if hasattr(response, "text"):
            for link in response.css("a::attr(href)").getall():
                request = response.follow(link, meta=response.meta)
                note("copied", request)
                yield request
"""
CHILDREN = [f"/child-{number}" for number in range(10)]
COPY_META_SETTINGS = {
    "DOWNLOADER_MIDDLEWARES": {"script.Before": 30, "script.After": 50},
    "HTTPERROR_ALLOW_ALL": True,
    "JOBDIR": "job",
}


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> list[Crawl]:
    """Return a crawl that copies ``response.meta`` into its requests, stopped after four pages, and what continues it."""
    directory = tmp_path_factory.mktemp("resumed")
    pages = {path: html(article(path)) for path in CHILDREN}
    pages["/parent"] = html(article("parent", links=[*CHILDREN, "/missing", "/copy"]))
    pages["/copy"] = html(article("parent", frame="copy"))
    with Site(pages) as site:
        halves = [{**COPY_META_SETTINGS, "CLOSESPIDER_PAGECOUNT": 4}, COPY_META_SETTINGS]
        return [run_script(directory, COPY_META_SPIDER, half, site=site.url, paths=["/parent"]) for half in halves]


def test_the_decision_of_the_parent_is_removed_before_the_child_is_downloaded(resumed: list[Crawl]) -> None:
    copied = {decided for moment, _, decided in resumed[0].notes if moment == "copied"}
    assert copied == {"parent"}, "the spider of this test must copy the decision"
    for crawl in resumed:
        left = [decided for moment, path, decided in crawl.notes if path != "parent" and moment in ("before", "after")]
        assert len(left) >= 2
        assert set(left) == {None}


def test_a_child_that_is_not_checked_has_no_decision_of_its_parent(resumed: list[Crawl]) -> None:
    (missing,) = (item for crawl in resumed for item in crawl.items if item["path"] == "/missing")
    assert missing["status"] == 404
    assert missing["decision"] is None


def test_nothing_in_the_meta_prevents_a_request_from_being_queued_on_disk(resumed: list[Crawl]) -> None:
    for crawl in resumed:
        assert "scheduler/unserializable" not in crawl.stats
        assert "scheduler/enqueued/memory" not in crawl.stats
        assert not [line for line in crawl.lines("WARNING", "") if "scrapy.spidermiddlewares.metacopy" not in line]


# Whatever goes wrong

RAISING_EXTRACTOR = """
from tests.support.walker import Walker

def extract(tree):
    raise OSError("the extractor is out of order")

class Spider(Walker):
    pass
"""
RAISING_SCOPE = """
from tests.support.walker import Walker

def scope(request, response):
    return str(1 // 0)

class Spider(Walker):
    pass
"""
# It hangs until the process ends: without a limit of time no page would get a decision.
HANGING_EXTRACTOR = """
import threading
from tests.support.walker import Walker

def extract(tree):
    threading.Event().wait()

class Spider(Walker):
    pass
"""


_OWN: dict[str, Any] = {"DEDUP_EXTRACTOR": "script.extract"}
FAILURES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "extractor raises on the loop": (RAISING_EXTRACTOR, {**_OWN, "DEDUP_PROCESSES": 0}, "OSError", "error"),
    "extractor raises": (RAISING_EXTRACTOR, _OWN, "OSError", "error"),
    "extractor hangs": (HANGING_EXTRACTOR, {**_OWN, "DEDUP_TIMEOUT": 0.2}, "NotSigned", "not signed in time"),
    "scope raises": (RAISING_SCOPE, {"DEDUP_SCOPE": "script.scope"}, "ZeroDivisionError", "error"),
}


@pytest.fixture(scope="module", params=list(FAILURES))
def failing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str, str]:
    """Crawl three equal pages with a failing part of the filter; return the crawl, the exception's name and the reason."""
    source, settings, name, reason = FAILURES[request.param]
    pages = {f"/{number}": html(article("same", frame=f"number {number}")) for number in range(3)}
    with Site(pages) as site:
        directory = tmp_path_factory.mktemp("failing")
        return run_script(directory, source, settings, site=site.url, paths=list(pages)), name, reason


def test_no_page_is_lost_whatever_goes_wrong_in_the_filter(failing: tuple[Crawl, str, str]) -> None:
    crawl, _, reason = failing
    assert crawl.stats["finish_reason"] == "finished"
    assert [(item["path"], item["verdict"]) for item in crawl.items] == [
        (f"/{number}", "unchecked") for number in range(3)
    ]
    assert {item["decision"]["reason"] for item in crawl.items} == {reason}


def test_errors_are_counted_by_the_name_of_the_exception(failing: tuple[Crawl, str, str]) -> None:
    crawl, name, reason = failing
    counts = crawl.counts()
    assert counts.pop("signing/restarts", 0) == (2 if name == "NotSigned" else 0)
    unchecked = f"unchecked/{reason.replace(' ', '_')}"
    assert counts == {"checked": 3, "unchecked": 3, unchecked: 3, f"error/{name}": 3}


def test_an_error_that_affects_all_pages_is_warned_about_once(failing: tuple[Crawl, str, str]) -> None:
    crawl, name, _ = failing
    (line,) = crawl.lines("WARNING", "passes unchecked")
    assert name in line
    assert crawl.stats["log_count/WARNING"] == 1
    assert "log_count/ERROR" not in crawl.stats
    assert len(crawl.lines("DEBUG", "passes unchecked")) == 2


# Identity: key, scope, redirects

IDENTITY_SPIDER = """
from tests.support.walker import Walker

class Spider(Walker):
    async def start(self):
        yield self.request("/page")
        yield self.request("/page")
        for number, scope in enumerate("xyx"):
            yield self.request(f"/in-scope-{scope}-{number}", meta={"dedup_scope": scope})
        yield self.request("/session?sid=1", meta={"dedup_key": "session"})
        yield self.request("/session?sid=2", meta={"dedup_key": "session"})
        yield self.request("/session?sid=3", meta={"dedup_key": "session"})
        yield self.request("/moved")
        yield self.request("/final")
        yield self.request("/moved-copy")
"""


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    pages = {
        "/page": html(article("page")),
        **{f"/in-scope-{name}": html(article("scoped", frame=name)) for name in ("x-0", "y-1", "x-2")},
        "/session?sid=1": html(article("session", frame="1")),
        "/session?sid=2": html(article("session", frame="2")),
        "/session?sid=3": html(article("session, with another text")),
        "/moved": redirect("/final"),
        "/final": html(article("final")),
        "/moved-copy": redirect("/final-copy"),
        "/final-copy": html(article("final", frame="copy")),
    }
    with Site(pages) as site:
        return run_script(tmp_path_factory.mktemp("identity"), IDENTITY_SPIDER, site=site.url)


def test_a_page_is_never_a_duplicate_of_itself(identity: Crawl) -> None:
    twice = [item["decision"] for item in identity.items if item["path"] == "/page"]
    assert [decision["verdict"] for decision in twice] == ["new", "unchanged"]
    assert twice[1]["match"]["rule"] == "same bytes"
    assert twice[1]["duplicate_of"] == ""


def test_pages_of_two_given_scopes_are_not_compared(identity: Crawl) -> None:
    scoped = {item["path"]: item["decision"]["scope"] for item in identity.items if "scope" in item["path"]}
    assert scoped == {"/in-scope-x-0": "x", "/in-scope-y-1": "y"}
    dropped = {drop["url"].rpartition("/")[2]: drop["duplicate_of"].rpartition("/")[2] for drop in identity.drops}
    assert dropped["in-scope-x-2"] == "in-scope-x-0"


def test_addresses_with_one_given_key_are_one_page(identity: Crawl) -> None:
    verdicts = {item["path"]: item["verdict"] for item in identity.items if item["path"].startswith("/session")}
    assert verdicts == {"/session?sid=1": "new", "/session?sid=2": "unchanged", "/session?sid=3": "changed"}
    assert identity.item("/session?sid=2")["decision"]["key"] == "session"


def test_a_redirected_page_is_judged_under_its_final_address(identity: Crawl) -> None:
    final = [item for item in identity.items if item["path"] == "/final"]
    assert [item["verdict"] for item in final] == ["new", "unchanged"]  # redirected to, then asked for
    assert final[0]["decision"]["url"] == final[0]["url"]
    assert identity.drops[-1]["url"].endswith("/final-copy")
    assert identity.drops[-1]["duplicate_of"].endswith("/final")
    assert identity.drops[-1]["request"].endswith("/final-copy")


DOMAIN_SPIDER = """
from tests.support.walker import Walker
from scrapy import Request

class Spider(Walker):

    def request(self, url):
        return Request(url, meta={"proxy": self.site})
"""


def test_the_scope_domain_is_the_registered_domain(tmp_path: Path) -> None:
    """Equal pages of several hosts are served through a proxy."""
    urls = ["http://www.one.co.uk/de/a", "http://shop.one.co.uk/en/b", "http://www.two.co.uk/de/c"]
    with Site({url: html(article("same", frame=url)) for url in urls}) as site:
        crawl = run_script(tmp_path, DOMAIN_SPIDER, {"DEDUP_SCOPE": "domain"}, site=site.url, paths=urls)
    assert crawl.paths() == ["/de/a", "/de/c"]
    assert [item["decision"]["scope"] for item in crawl.items] == ["domain one.co.uk", "domain two.co.uk"]
    assert [drop["url"] for drop in crawl.drops] == ["http://shop.one.co.uk/en/b"]


# The project's own middlewares come first

BAN_SPIDER = """
from tests.support.walker import Walker

class Retry:
    def process_response(self, request, response, spider=None):
        return request.replace(dont_filter=True) if b"ban" in response.body[:200] else response

class Spider(Walker):
    pass
"""


def test_a_ban_page_that_the_project_retries_is_never_recorded(tmp_path: Path) -> None:
    ban = article("ban: you have asked for too much")
    answers = {path: iter([html(ban), html(article(path))]).__next__ for path in ("/one", "/two")}
    settings = {"DOWNLOADER_MIDDLEWARES": {"script.Retry": 543}}
    with Site(answers) as site:
        crawl = run_script(tmp_path, BAN_SPIDER, settings, site=site.url, paths=list(answers))
        assert site.paths() == ["/one", "/two", "/one", "/two"]
    assert crawl.paths() == ["/one", "/two"]
    assert crawl.counts() == {"checked": 2, "kept": 2}
    with Deduplicator.open(tmp_path / "index", BIGRAMS) as deduplicator:
        assert len(deduplicator) == 2
        assert deduplicator.check("http://ban/", ban.encode(), scope="spider walker").verdict is Verdict.NEW
