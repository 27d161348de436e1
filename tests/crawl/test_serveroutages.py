"""Crawls whose index is on a server that is away for a while."""

import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest

from crawler_dedup import Config, Decision, Deduplicator, SignedPage, Verdict
from crawler_dedup.crawl import claims as crawl_claims
from crawler_dedup.crawl import serveroutages
from crawler_dedup.crawl.claims import Claims
from crawler_dedup.crawl.gate import Question
from crawler_dedup.crawl.serveroutages import Outages
from crawler_dedup.decision import BEING_HANDLED
from crawler_dedup.errors import ConnectionLost
from crawler_dedup.system.extras import has_extra
from crawler_dedup.worker.messages import Checked, CheckPage, Failure
from tests.support.crawling import Page, Site, acting, article, html, run_scrapy, run_script, start_script
from tests.support.projects import ADDON, PAGES, project
from tests.support.servers import Server, serving
from tests.support.signing import Log
from tests.support.versions import HAS_EXIT_STATUS, REACTORS

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
FOR_EVER = 3600
"""Seconds of an outage for which a crawl waits longer than a test."""

# It notes when the crawl begins to wait. The callbacks of /slow and /last stop the server; that of /slow ends after that.
SPIDER = """
import asyncio, logging, os, signal
from pathlib import Path
from scrapy import Request
from tests.support.walker import Walker, path_of, seen

class Noticing(logging.Handler):
    def emit(self, record):
        if "waits for its index, for up to" in record.getMessage():
            Path("waits").touch()
            if INTERRUPTS:
                os.kill(os.getpid(), signal.SIGINT)

INTERRUPTS = False
logging.getLogger("crawler_dedup.middleware").addHandler(Noticing())

class Spider(Walker):
    async def parse(self, response):
        path = path_of(response.url)
        if path in ("/slow", "/last"):
            await self.download(Request(self.site + "/away"))
        while path == "/slow" and not Path("waits").exists():
            await asyncio.sleep(0.05)
        yield seen(response)
        if path == "/slow":
            Path("handled").touch()
"""
INTERRUPTED_SPIDER = SPIDER.replace("INTERRUPTS = False", "INTERRUPTS = True")


@contextmanager
def starting_once(file: Path, server: Server) -> Iterator[None]:
    """Start *server* as soon as *file* exists."""
    is_over = threading.Event()

    def start() -> None:
        while not file.exists():
            if is_over.wait(0.05):
                return
        server.start()

    thread = threading.Thread(target=start)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def texts(number: int) -> dict[str, Page]:
    """Return *number* pages, and then a twin of each."""
    originals: dict[str, Page] = {f"/{at}": html(article(at)) for at in range(number)}
    return originals | {f"/twin{at}": html(article(at, frame="twin")) for at in range(number)}


def crawl_settings(server: Server, **settings: Any) -> Mapping[str, Any]:
    return {"DEDUP_INDEX": server.url(), "DEDUP_INDEX_WAIT": FOR_EVER, **settings}


def test_pages_of_a_short_outage_wait_and_no_twin_is_stored(tmp_path: Path) -> None:
    with serving(tmp_path / "server", *DURABLE) as server:
        pages = texts(12)
        originals, twins = list(pages)[:12], list(pages)[12:]
        pages |= {"/slow": html(article("slow")), "/slow/twin": html(article("slow", frame="twin"))}
        pages["/away"] = acting("", server.kill)
        settings = crawl_settings(server, CONCURRENT_REQUESTS=4, CONCURRENT_REQUESTS_PER_DOMAIN=4)
        order = [*originals, "/slow", *twins, "/slow/twin"]
        with Site(pages) as site, starting_once(tmp_path / "handled", server):
            crawl = run_script(tmp_path, SPIDER, settings, site=site.url, paths=order)
    assert sorted(crawl.paths()) == sorted([*originals, "/slow"])
    counts = crawl.counts()
    assert (counts["dropped"], counts["unchecked"], counts["outages"]) == (13, 0, 1)
    assert 1 <= counts["outages/waited"] <= 4  # Scrapy downloads no more pages meanwhile
    assert crawl.counts("handled/")["settled"] == 13
    assert len(crawl.lines("WARNING", "The crawl waits for its index, for up to 3600 seconds")) == 1
    assert len(crawl.lines("INFO", "The index answers again after")) == 1
    assert crawl.stats["log_count/WARNING"] == 1


@pytest.mark.parametrize(("wait", "outages"), [(0.6, 2), (0, 0)])
def test_pages_pass_at_once_when_an_outage_has_lasted_too_long_and_a_later_outage_is_timed_anew(
    tmp_path: Path, wait: float, outages: int
) -> None:
    """Without a time to wait, an outage is no event of its own."""
    with serving(tmp_path / "server", *DURABLE) as server:
        pages = texts(9)
        pages |= {f"/away{at}": acting(article(f"away{at}"), server.kill) for at in range(2)}
        pages["/back"] = acting(article("back"), server.start)
        order = [*list(pages)[:9], "/away0", "/twin0", "/twin1", "/twin2", "/back"]
        order += ["/twin3", "/twin4", "/away1", "/twin5", "/twin6"]
        with Site(pages) as site:
            settings = crawl_settings(server, DEDUP_INDEX_WAIT=wait)
            crawl = run_script(tmp_path, SPIDER, settings, site=site.url, paths=order)
    assert [path for path in crawl.paths() if "twin" in path] == ["/twin0", "/twin1", "/twin2", "/twin5", "/twin6"]
    assert crawl.stats["finish_reason"] == "finished"
    counts = crawl.counts()
    assert (counts["unchecked"], counts["error/ConnectionLost"], counts["dropped"]) == (7, 7, 2)
    assert (counts["outages"], counts["outages/waited"]) == (outages, outages)  # the others pass at once
    for level in ("WARNING", "DEBUG"):  # one warning a minute
        assert len(crawl.lines(level, "The crawl no longer waits for its index")) == outages / 2
    assert len(crawl.lines("INFO", "The index can be used again")) == 1
    assert not crawl.lines("INFO", "The index answers again")


def test_pages_that_are_handled_at_the_end_of_a_crawl_are_settled_after_an_outage(tmp_path: Path) -> None:
    with serving(tmp_path / "server", *DURABLE) as server:
        pages: dict[str, Page] = {"/last": html(article("last")), "/away": acting("", server.kill)}
        with Site(pages) as site, starting_once(tmp_path / "waits", server):
            run_script(tmp_path, SPIDER, crawl_settings(server), site=site.url, paths=["/last"])
        with Deduplicator.open(server.url(), Config(tokenizer="bigrams")) as index:
            twin = article("last", frame="twin").encode()
            assert index.check("http://later/", twin, scope="spider walker").verdict is Verdict.DUPLICATE


@pytest.mark.parametrize("reactor", REACTORS)
def test_an_interrupted_crawl_waits_no_longer(tmp_path: Path, reactor: bool) -> None:
    with serving(tmp_path / "server", *DURABLE) as server:
        pages = texts(2) | {"/away": acting(article("away"), server.kill)}
        with Site(pages) as site:
            settings = crawl_settings(server, TWISTED_REACTOR_ENABLED=reactor)
            crawl = run_script(
                tmp_path, INTERRUPTED_SPIDER, settings, site=site.url, paths=["/0", "/1", "/away", "/twin0", "/twin1"]
            )
    assert crawl.stats["finish_reason"] == "shutdown"
    assert crawl.paths() == ["/0", "/1", "/away"]
    assert crawl.counts()["unchecked"] == 1


def test_a_crawl_that_starts_in_an_outage_waits_and_then_runs_or_is_interrupted(tmp_path: Path) -> None:
    with serving(tmp_path / "server", *DURABLE) as server, Site(texts(2)) as site:
        server.kill()
        settings = crawl_settings(server)
        start_script(tmp_path / "stopped", INTERRUPTED_SPIDER, settings, site=site.url, paths=["/0"]).log()
        assert site.paths() == []
        with starting_once(tmp_path / "waits", server):
            crawl = run_script(tmp_path, SPIDER, settings, site=site.url, paths=list(texts(2)))
    assert crawl.paths() == ["/0", "/1"]
    assert crawl.counts()["outages"] == 1
    assert len(crawl.lines("INFO", "The index answers again after")) == 1


def test_a_crawl_does_not_start_if_its_server_refuses_the_password_or_is_away_for_too_long(tmp_path: Path) -> None:
    with serving(tmp_path / "server", "--requirepass", "right") as server, Site(PAGES) as site:
        folder = project(tmp_path, site, f'{ADDON}DEDUP_INDEX = "{server.url(password="wrong")}"\n')
        refused = run_scrapy(folder, "crawl", "project", "-s", f"DEDUP_INDEX_WAIT={FOR_EVER}")
        server.kill()
        waited = run_scrapy(folder, "crawl", "project", "-s", "DEDUP_INDEX_WAIT=0.6")
        assert site.asked == []
    assert "waits for its index" not in refused.stdout
    assert "WARNING: The crawl waits for its index, for up to 0.6 seconds. The index in unix://" in waited.stdout
    assert "WARNING: The crawl no longer waits for its index" in waited.stdout
    for done in (refused, waited):
        assert "CRITICAL: The crawl does not start: The index in unix://" in done.stdout
        assert "Traceback" not in done.stdout
        assert done.returncode == 1 or not HAS_EXIT_STATUS


# Without a server


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server that is unavailable be asked again at once."""
    monkeypatch.setattr(serveroutages, "_PAUSE", 0.04)


@pytest.mark.usefixtures("short_pauses")
async def test_an_outage_is_timed_from_its_beginning_also_if_the_server_only_does_not_answer() -> None:
    question = AsyncMock(side_effect=itertools.chain([TimeoutError()], itertools.repeat(ConnectionLost("Away."))))
    monitor = Log()
    outages = Outages(0.06, cast("Any", monitor), lambda: False)
    while len(monitor.lines) < 2:  # until the outage has lasted too long
        with pytest.raises(ConnectionLost):
            await outages.ask(question, int, pages=1)
    with pytest.raises(ConnectionLost):
        await outages.ask(question, int, pages=1)
    assert await outages.ask(AsyncMock(return_value="answer"), int, pages=1) == "answer"
    assert monitor.counts == ["outages", "outages/waited"]
    first, last = monitor.lines
    assert first == "The crawl waits for its index, for up to 0.06 seconds. It does not answer."
    assert last.startswith("The crawl no longer waits for its index")


@pytest.mark.usefixtures("short_pauses")
async def test_an_outage_does_not_use_up_the_time_for_which_a_page_waits_for_a_similar_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(*_: object) -> Checked:
        passed.append(20.0)
        return next(answers)

    passed: list[float] = []
    monkeypatch.setattr(crawl_claims, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + sum(passed)))
    alike = Decision(Verdict.UNCHECKED, "http://h/2", "2", "", reason=BEING_HANDLED, duplicate_of="http://h/1")
    duplicate = Decision(Verdict.DUPLICATE, "http://h/2", "2", "", duplicate_of="http://h/1")
    away = Failure("ConnectionLost", "The server is away.", "")
    page = SignedPage(key="2", url="http://h/2", scope="")
    answers = iter([Checked(page, outcome) for outcome in (alike, away, away, away, alike, duplicate)])
    workers, monitor = AsyncMock(), cast("Any", Log())
    workers.ask.side_effect = answer
    outages = Outages(60, monitor, lambda: False)
    claims = Claims(workers, monitor, 1, outages=outages, on_end=print)
    job = CheckPage("http://h/2", None, "2", "")
    question = Question(job, b"", b"2", b"2", asks_again=False, action="drop", checked=Checked(page, alike))
    assert await claims.decide(question) is duplicate
