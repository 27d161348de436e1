"""Crawls and their workers: no page is lost and no process is left, whatever happens to either."""

import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import processes
from tests.support.crawling import WALK, Site, article, crawl_pages, html, run_script, run_scripts, start_script
from tests.support.processes import still_running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")

ODD = "tests.support.odd_extractor.extract"
ARTICLES = {f"/{number}": html(article(number)) for number in range(20)}
MANY: dict[str, Any] = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
CHILDREN = """
import os
from tests.support.processes import children, workers
from tests.support.walker import Walker

class Children:
    def parse(self, response):
        self.notes.append([workers(), children(os.getpid())])
        yield from super().parse(response)
"""
SPIDER = f"{CHILDREN}\nclass Spider(Children, Walker):\n    pass\n"


def odd(what: str) -> Any:
    return html(f"<title>odd</title><p>{what}</p>")


def test_without_processes_pages_are_signed_on_the_event_loop(tmp_path: Path) -> None:
    crawl = crawl_pages(tmp_path, ARTICLES, SPIDER, {**MANY, "DEDUP_PROCESSES": 0})
    assert crawl.counts() == {"checked": 20, "kept": 20}
    assert crawl.notes == 20 * [[[], []]]
    assert "signatures computed on the event loop" in crawl.log


def test_crawls_of_one_process_have_a_worker_each(tmp_path: Path) -> None:
    spiders = CHILDREN + "".join(
        f"class {name}(Children, Walker):\n    name = '{name}'\n" for name in ("First", "Second")
    )
    with Site(ARTICLES) as site:
        crawls = run_scripts(tmp_path, spiders, MANY, site=site.url, paths=list(ARTICLES)).values()
    assert [crawl.counts() for crawl in crawls] == 2 * [{"checked": 20, "kept": 20}]
    pids = {pid for crawl in crawls for _, pids in crawl.notes for pid in pids}
    assert len(pids) == 2
    assert still_running(pids) == []
    assert all("signatures computed in 1 worker" in crawl.log for crawl in crawls)


# The worker is killed or stopped again and again, from the callbacks, also while it starts.
KILLER = """
import os, signal
from crawler_dedup.crawl import supervision
from tests.support.processes import workers
from tests.support.walker import Walker

supervision.STOPPED_SECONDS = supervision._LOOK_SECONDS = 0.5

class Spider(Walker):
    handled = 0

    def parse(self, response):
        self.handled += 1
        number = {kills}.get(self.handled)
        for pid in workers()[:1] if number else ():
            os.kill(pid, number)
        yield from super().parse(response)
"""


THREE = {1: signal.SIGKILL, 7: signal.SIGSEGV, 15: signal.SIGKILL}


@pytest.mark.parametrize(("kills", "processes"), [(THREE, 1), ({8: signal.SIGSTOP}, 2)])
def test_no_page_and_no_decision_is_lost_to_kills_of_workers(
    kills: dict[int, int], processes: int, tmp_path: Path
) -> None:
    copies = {f"/copy{path}": html(article(number, frame="copy")) for number, path in enumerate(ARTICLES)}
    pages = {**ARTICLES, **copies}
    settings = {**MANY, "DEDUP_PROCESSES": processes, "DEDUP_TIMEOUT": 5}
    program = KILLER.replace("{kills}", str({at: int(number) for at, number in kills.items()}))
    with Site(pages) as site:
        crawl = run_script(tmp_path, program, settings, site=site.url, paths=list(pages))
        again = run_script(tmp_path, WALK, MANY, site=site.url, paths=list(pages))
    counts = crawl.counts()
    assert counts["checked"] == 40
    assert 1 <= counts["worker/restarts"] <= len(kills)
    assert {path.removeprefix("/copy") for path in crawl.paths()} == set(ARTICLES)
    if signal.SIGSTOP in kills.values():  # it may have stopped while it wrote, so that the other one has to wait
        assert counts["dropped"] + counts["unchecked"] >= 20
    else:
        assert (counts["dropped"], counts["unchecked"]) == (20, 0)
    (line,) = crawl.lines("WARNING", "The worker process")  # one a minute
    assert "; pages that it had: " in line
    assert again.counts()["kept"] <= counts["unchecked"]


def test_pages_that_crash_or_take_memory_cost_themselves(tmp_path: Path) -> None:
    pages = {**ARTICLES, "/crash": odd("crash"), "/memory": odd("memory"), "/raise": odd("raise")}
    crawl = crawl_pages(tmp_path, pages, settings={**MANY, "DEDUP_EXTRACTOR": ODD})
    assert sorted(crawl.paths()) == sorted(pages)
    unchecked = {item["path"]: item["decision"]["reason"] for item in crawl.items if item["verdict"] == "unchecked"}
    assert unchecked == {"/crash": "its worker process ended", "/memory": "error", "/raise": "error"}
    assert crawl.counts("error/") == {"NotSigned": 1, "MemoryError": 1, "LookupError": 1}
    assert len(crawl.lines("WARNING", "LookupError: odd page")) == 1
    (line,) = crawl.lines("WARNING", "The worker process")  # one a minute
    assert "was ended by SIGSEGV" in line
    assert f"; pages that it had: {crawl.item('/crash')['url']}" in line
    assert "odd_extractor.py" in crawl.log


# The end


@pytest.mark.parametrize("end", ["once", "twice", "kill"])
def test_no_process_is_left_when_a_crawl_is_interrupted_or_killed(end: str, tmp_path: Path) -> None:
    pages = {**ARTICLES, "/hangs": odd("loop in C"), "/after": html(article("after"))}
    settings = {**MANY, "DEDUP_EXTRACTOR": ODD, "DEDUP_TIMEOUT": 1.5}
    with Site(pages) as site:
        running = start_script(tmp_path, SPIDER, settings, site=site.url, paths=list(pages))
        while not any("/hangs" in line for line in site.asked):
            time.sleep(0.01)
        time.sleep(0.5)
        pids = processes.children(running.pid)
        assert len(pids) == 1
        if end == "kill":
            running.kill()
        else:
            running.interrupt()
            if end == "twice":
                time.sleep(0.2)
                running.interrupt()
        log = running.log()
    if end == "once":
        assert "not signed within DEDUP_TIMEOUT" in log
    assert still_running(pids) == []
