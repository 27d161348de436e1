"""The downloader middleware in real crawls: which pages it judges, drops and explains, and that it loses none."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Decision, Deduplicator, NearDuplicate, Verdict
from tests.support.crawling import Answer, Crawl, Page, Site, article, crawl_pages, html, redirect, run_script

BIGRAMS = Config(tokenizer="bigrams", max_distance=4)

# The gate

GATE_SPIDER = """
from tests.support.walker import Walker, path_of, seen
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
        yield self.request("/shell", callback=self.reload)
        yield self.request("/flaky")

    async def load_others(self, response):
        yield seen(response)
        for path, meta in (("/inline", {}), ("/inline-copied-meta", response.meta), ("/inline-moved", response.meta)):
            yield seen(await self.download(Request(self.site + path, meta=meta)))

    async def reload(self, response):
        yield seen(response)
        yield seen(await self.download(Request(response.url, meta=response.meta)))

    async def failed(self, failure):
        self.notes.append([path_of(failure.request.url), type(failure.value).__name__])
        if failure.request.url.endswith("/flaky"):
            yield seen(await self.download(Request(failure.request.url, meta=failure.request.meta)))
"""
COPY = article("gate", frame="copy")
CUT_OFF = html(COPY, Content_Length=str(len(COPY) + 100))


def test_pages_that_the_gate_skips_are_counted_by_reason_and_pass_untouched(tmp_path: Path) -> None:
    """All pages are copies of the original, and are dropped if the gate lets them through."""
    pages: dict[str, Page] = {
        "/robots.txt": html(COPY),
        "/original": html(article("gate")),
        "/asked": html(COPY),
        "/head": html(COPY),
        "/gone": html(COPY, 404),
        "/cut-off": CUT_OFF,
        "/without-end": html(COPY, Content_Length=""),
        "/data.json": Answer(COPY.encode(), headers=(("Content-Type", "application/json"),)),
        "/loads-others": html(article("gate, loads others")),
        "/inline": html(COPY),
        "/inline-copied-meta": html(COPY),
        "/inline-moved": redirect("/inline"),
        # A shell without text that its callback loads again with a browser, and a page that its errback loads again.
        "/shell": iter([html("<div id=app></div>"), html(COPY)]).__next__,
        "/flaky": iter([CUT_OFF, html(COPY)]).__next__,
    }
    gate = crawl_pages(tmp_path, pages, GATE_SPIDER, {"ROBOTSTXT_OBEY": True})
    reasons = dict.fromkeys("asked no_callback head status incomplete not_html".split(), 1)
    assert gate.counts("skipped/") == {**reasons, "inline": 5}
    counts = gate.counts()
    assert (counts["checked"], counts["kept"], counts["unchecked"], counts["dropped"]) == (4, 2, 1, 1)
    assert [drop["url"] for drop in gate.drops] == [gate.item("/original")["url"].replace("original", "without-end")]
    skipped = [(item["path"], item["body"]) for item in gate.items if item["decision"] is None]
    paths = "/asked /cut-off /data.json /flaky /gone /inline /inline /inline-copied-meta /shell".split()
    assert sorted(skipped) == sorted([("/head", ""), *((path, COPY) for path in paths)])
    assert sorted(page["path"] for page in gate.handled) == ["/loads-others", "/original", "/shell"]


# Dropped and marked

ACTION_SPIDER = """
import dataclasses, pickle
from tests.support.walker import Walker
from crawler_dedup import Decision

class Spider(Walker):
    def parse(self, response):
        decision = response.meta["dedup"]
        try:
            decision.verdict = "new"
        except dataclasses.FrozenInstanceError:
            assert type(decision) is Decision
            assert pickle.loads(pickle.dumps(decision)) == decision
            yield from super().parse(response)
"""
NEAR = article("near", shortened=1, count=400)
SECOND_COPY = article("first", frame="other advertisements", links=["/behind-copy"])
DROP_SITE = {
    "/first": html(article("first", links=["/behind-first"])),
    "/copy": html(SECOND_COPY),
    "/other": html(article("other")),
    "/long": html(article("near", count=400)),
    "/near": html(NEAR),
    "/exempt": html(article("other", frame="exempt")),
    "/behind-first": html(article("behind first")),
    "/behind-copy": html(article("behind copy")),
}
DROP_PATHS = list(DROP_SITE)[:6]


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, list[str]]:
    """Return a crawl with an index that holds a page, and the requests that its site has received."""
    directory = tmp_path_factory.mktemp("dropping")
    with Deduplicator.open(directory / "index", BIGRAMS) as deduplicator:
        deduplicator.check("http://earlier/", article("earlier").encode())
    with Site(DROP_SITE) as site:
        settings = {"DEDUP_MAX_DISTANCE": 4}
        meta = {"/exempt": {"dedup_action": "mark"}}
        crawl = run_script(directory, ACTION_SPIDER, settings, site=site.url, paths=DROP_PATHS, meta=meta)
        return crawl, site.paths()


def test_a_duplicate_never_reaches_the_spider_and_its_outlinks_are_not_followed(
    dropping: tuple[Crawl, list[str]],
) -> None:
    crawl, requested = dropping
    assert sorted(crawl.paths()) == ["/behind-first", "/exempt", "/first", "/long", "/other"]
    assert sorted(requested) == sorted([*DROP_PATHS, "/behind-first"])


def test_the_exception_of_a_drop_has_its_text_as_its_only_argument_and_can_be_pickled() -> None:
    decision = Decision(Verdict.DUPLICATE, "http://a/2", "2", "scope", duplicate_of="http://a/1")
    error = pickle.loads(pickle.dumps(NearDuplicate(decision)))
    assert (error.args, error.decision) == ((str(decision),), decision)


def test_callback_errback_and_signal_get_the_decision(dropping: tuple[Crawl, list[str]]) -> None:
    crawl, _ = dropping
    first, exempt = crawl.item("/first"), crawl.item("/exempt")
    kept = first["decision"]
    assert (kept["verdict"], kept["scope"], kept["duplicate_of"]) == ("new", "spider walker", "")
    assert (kept["url"], kept["match"]) == (first["url"], None)
    assert (exempt["verdict"], exempt["decision"]["duplicate_of"]) == ("duplicate", crawl.item("/other")["url"])
    errors = [(note["path"], note["error"]) for note in crawl.notes]
    assert errors == [("/copy", "NearDuplicate"), ("/near", "NearDuplicate")]
    decision = crawl.notes[0]["decision"]
    assert decision["verdict"] == "duplicate"
    assert decision["url"] == first["url"].replace("first", "copy")
    assert decision["duplicate_of"] == first["url"]
    assert decision["match"] == {"rule": "alike", "distance": 0, "resemblance": None, "coverage": None}
    for drop, note in zip(crawl.drops, crawl.notes, strict=True):
        url = note["decision"]["url"]
        assert drop == {**note["decision"], "request": url, "response": url, "spider": "walker"}


def test_the_statistics_of_a_crawl_add_up(dropping: tuple[Crawl, list[str]], tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, BIGRAMS) as deduplicator:
        near, long = (deduplicator.sign("http://a/", page.body) for page in (DROP_SITE["/near"], DROP_SITE["/long"]))
        match = deduplicator.compare(near, long)
    assert match is not None
    assert match.distance, "the two pages of this test must not be equal"
    assert dropping[0].counts() == {
        "checked": 7,
        "kept": 4,
        "dropped": 2,
        "marked": 1,
        "bytes_dropped": len(SECOND_COPY) + len(NEAR),
        "links_dropped": 1,
        "distance/0": 2,
        f"distance/{match.distance}": 1,
    }


def test_the_log_lists_the_configuration_explains_drops_and_warns_of_a_dropped_start_page(
    dropping: tuple[Crawl, list[str]],
) -> None:
    crawl, _ = dropping
    (line,) = crawl.lines("INFO", "Near-duplicate filter: index")
    index = Path(crawl.log.partition("Near-duplicate filter: index ")[2].partition(" holds")[0])
    assert index.is_absolute()
    assert (index / "data.mdb").exists()
    assert "holds 1 pages" in line
    assert "scheme simhash, distance 4, tokenizer bigrams, scope spider, action drop" in line
    assert crawl.log.index(line) < crawl.log.index("Crawled (200)")
    lines = crawl.lines("DEBUG", "Dropped duplicate")
    assert len(lines) == 2
    decision = crawl.notes[0]["decision"]
    for part in (decision["url"], decision["duplicate_of"], "distance 0", "rule 'alike'"):
        assert part in lines[0]
    assert crawl.stats["log_count/WARNING"] == 1
    assert "log_count/ERROR" not in crawl.stats
    (line,) = crawl.lines("WARNING", "The start page")
    assert f"{decision['url']} was dropped" in line
    assert "dedup_skip" in line
    assert '"follow"' in line
    assert "py.warnings" not in crawl.log


# A decision belongs to one page

COPY_META_SPIDER = """
from tests.support.walker import Walker, seen

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


def test_the_decision_of_a_parent_is_removed_from_its_children_before_they_are_queued_or_downloaded(
    tmp_path: Path,
) -> None:
    """A crawl that copies ``response.meta`` into its requests is stopped after four pages, and continued."""
    children = [f"/child-{number}" for number in range(10)]
    pages = {path: html(article(path)) for path in children}
    pages["/parent"] = html(article("parent", links=[*children, "/missing", "/copy"]))
    pages["/copy"] = html(article("parent", frame="copy"))
    settings = {
        "DOWNLOADER_MIDDLEWARES": {"script.Before": 30, "script.After": 50},
        "HTTPERROR_ALLOW_ALL": True,
        "JOBDIR": "job",
    }
    with Site(pages) as site:
        halves: list[dict[str, Any]] = [{**settings, "CLOSESPIDER_PAGECOUNT": 4}, settings]
        crawls = [run_script(tmp_path, COPY_META_SPIDER, half, site=site.url, paths=["/parent"]) for half in halves]
    copied = {decided for moment, _, decided in crawls[0].notes if moment == "copied"}
    assert copied == {"parent"}, "the spider of this test must copy the decision"
    (missing,) = (item for crawl in crawls for item in crawl.items if item["path"] == "/missing")
    assert (missing["status"], missing["decision"]) == (404, None)
    for crawl in crawls:
        left = [decided for moment, path, decided in crawl.notes if path != "parent" and moment in ("before", "after")]
        assert len(left) >= 2
        assert set(left) == {None}
        assert "scheduler/unserializable" not in crawl.stats
        assert "scheduler/enqueued/memory" not in crawl.stats
        assert not [line for line in crawl.lines("WARNING", "") if "scrapy.spidermiddlewares.metacopy" not in line]


# Whatever goes wrong

FAILING = """
from tests.support.walker import Walker

def extract(tree):
    raise OSError("the extractor is out of order")

def scope(request, response):
    return str(1 // 0)

class Spider(Walker):
    pass
"""


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"DEDUP_EXTRACTOR": "script.extract", "DEDUP_PROCESSES": 0}, "OSError"),
        ({"DEDUP_SCOPE": "script.scope"}, "ZeroDivisionError"),
    ],
    ids=["extractor raises", "scope raises"],
)
def test_no_page_is_lost_to_errors_on_the_event_loop_which_are_counted_and_warned_about_once(
    tmp_path: Path, settings: dict[str, Any], name: str
) -> None:
    pages = {f"/{number}": html(article("same", frame=f"number {number}")) for number in range(2)}
    crawl = crawl_pages(tmp_path, pages, FAILING, settings)
    assert crawl.stats["finish_reason"] == "finished"
    assert [(item["path"], item["verdict"]) for item in crawl.items] == [(path, "unchecked") for path in pages]
    assert {item["decision"]["reason"] for item in crawl.items} == {"error"}
    assert crawl.counts() == {"checked": 2, "unchecked": 2, "unchecked/error": 2, f"error/{name}": 2}
    (line,) = crawl.lines("WARNING", "passes unchecked")
    assert name in line
    assert crawl.stats["log_count/WARNING"] == 1
    assert "log_count/ERROR" not in crawl.stats
    assert len(crawl.lines("DEBUG", "passes unchecked")) == 1


# Identity: key, scope, redirects


def test_a_page_is_known_by_its_final_address_or_its_key_and_compared_within_its_scope(tmp_path: Path) -> None:
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
    meta = {path: {"dedup_scope": path.split("-")[2]} for path in pages if "scope" in path}
    meta |= {path: {"dedup_key": "session"} for path in pages if "session" in path}
    identity = crawl_pages(tmp_path, pages, paths=["/page", *pages][:-1], meta=meta)
    assert [(item["path"], item["verdict"], item["decision"]["scope"]) for item in identity.items] == [
        ("/page", "new", "spider walker"),
        ("/page", "unchanged", "spider walker"),  # a page is never a duplicate of itself
        ("/in-scope-x-0", "new", "x"),
        ("/in-scope-y-1", "new", "y"),
        ("/session?sid=1", "new", "spider walker"),
        ("/session?sid=2", "unchanged", "spider walker"),
        ("/session?sid=3", "changed", "spider walker"),
        ("/final", "new", "spider walker"),
    ]
    again = identity.items[1]["decision"]
    assert (again["match"]["rule"], again["duplicate_of"]) == ("same bytes", "")
    assert identity.item("/session?sid=2")["decision"]["key"] == "session"
    assert identity.items[-1]["decision"]["url"] == identity.items[-1]["url"]
    names = ("url", "request", "duplicate_of")
    assert [[drop[name].rpartition("/")[2] for name in names] for drop in identity.drops] == [
        ["in-scope-x-2", "in-scope-x-2", "in-scope-x-0"],
        ["final", "final", ""],  # that it is asked for after it was redirected to adds nothing
        ["final-copy", "final-copy", "final"],
    ]
