"""Decisions in a process of their own: the same ones, and no page and nothing settled is lost, whatever happens to it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, cast
from weakref import ref

import pytest

from crawler_dedup import Config, Deduplicator
from crawler_dedup.crawl.childprocess import DECIDING
from crawler_dedup.crawl.deciding import DecidingProcess
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.index import _END_TIMEOUT
from tests.support.crawling import WALK, Crawl, Site, article, html, run_script
from tests.support.processes import children_with
from tests.support.signing import Log

ARTICLES = {f"/{number}": html(article(number)) for number in range(30)}
COPIES = {f"/copy{path}": html(article(number, frame="copy")) for number, path in enumerate(ARTICLES)}
MANY: dict[str, Any] = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
START = """
import os, signal
from crawler_dedup.crawl import deciding
from tests.support.processes import children_with
from tests.support.walker import Walker

class Spider(Walker):
    handled = 0

    def parse(self, response):
        self.handled += 1
        for pid in children_with(deciding.DECIDING):
            self.act(pid)
        yield from super().parse(response)
"""
KILL = """
    def act(self, pid):
        if self.handled in {kills}:
            os.kill(pid, signal.SIGKILL)
"""
STOP = """
    def act(self, pid):
        if self.handled == 10:
            os.kill(pid, signal.SIGSTOP)

deciding._END_TIMEOUT = 1
"""
UNSTARTABLE = """
    def act(self, pid):
        assert False, "there is a process"

deciding.DECIDING = "crawler_dedup.deciding.missing"
"""


def crawl_twice(directory: Path, program: str, **settings: Any) -> Crawl:
    """Crawl the articles and then their copies with *program*, and check by another crawl that all of it was recorded."""
    pages = {**ARTICLES, **COPIES}
    with Site(pages) as site:
        crawl = run_script(directory, START + program, {**MANY, **settings}, site=site.url, paths=list(pages))
        again = run_script(directory, WALK, MANY, site=site.url, paths=list(pages))
    assert crawl.stats["finish_reason"] == "finished"
    assert crawl.counts()["checked"] == 60
    assert {path.removeprefix("/copy") for path in crawl.paths()} == set(ARTICLES)
    assert again.counts()["kept"] <= crawl.counts()["unchecked"]  # an unchecked page may be a copy
    return crawl


@pytest.mark.parametrize("kills", [[3], [1, 9, 20]])
def test_no_page_and_no_decision_is_lost_to_kills_of_the_deciding_process(kills: list[int], tmp_path: Path) -> None:
    crawl = crawl_twice(tmp_path, KILL.format(kills=kills))
    assert crawl.counts()["deciding/restarts"] == len(kills)
    (line,) = crawl.lines("WARNING", "The deciding process")  # one a minute
    assert re.search(r"was ended by SIGKILL, probably by the out-of-memory killer.*; pages that it had: ", line)
    assert (crawl.counts()["dropped"], crawl.counts()["unchecked"]) == (30, 0)


def test_a_crawl_decides_itself_once_its_deciding_processes_die_too_often(tmp_path: Path) -> None:
    crawl = crawl_twice(tmp_path, KILL.format(kills=list(range(60))))
    assert len(crawl.lines("WARNING", "from now on the process of the crawl decides")) == 1
    assert crawl.counts()["deciding/restarts"] == 4
    # A page passes unchecked after two deaths; eight pages are decided at a time.
    assert crawl.counts()["unchecked"] <= MANY["CONCURRENT_REQUESTS"] * 2
    assert crawl.counts()["dropped"] >= 30 - crawl.counts()["unchecked"]


def test_a_crawl_decides_itself_if_no_deciding_process_can_be_started(tmp_path: Path) -> None:
    crawl = crawl_twice(tmp_path, UNSTARTABLE)
    assert len(crawl.lines("WARNING", "No deciding process can be started")) == 1
    assert (crawl.counts()["dropped"], crawl.counts()["unchecked"]) == (30, 0)


def test_pages_pass_unchecked_while_the_deciding_process_does_not_answer(tmp_path: Path) -> None:
    pages = {**ARTICLES, **COPIES}
    with Site(pages) as site:
        settings = {**MANY, "DEDUP_TIMEOUT": 0.5}
        crawl = run_script(tmp_path, START + STOP, settings, site=site.url, paths=list(pages))
    assert crawl.stats["finish_reason"] == "finished"
    assert {path.removeprefix("/copy") for path in crawl.paths()} == set(ARTICLES)
    assert crawl.counts("error/").keys() == {"TimeoutError"}
    assert len(crawl.lines("WARNING", "The end of the run could not be recorded")) == 1


# Without a crawl


def decide(directory: Path, ask: Any) -> Log:
    """Call *ask* with a deduplicator and its deciding process, and return what the process has logged."""

    async def call() -> None:
        try:
            await asyncio.wait_for(ask(deduplicator, process), 60)
        finally:
            process.kill()

    with Deduplicator.open(directory, Config(tokenizer="bigrams")) as deduplicator:
        log = Log()
        process = DecidingProcess(deduplicator, cast("Any", log))
        asyncio.run(call())
    return log


def test_the_process_does_not_keep_an_ended_crawl_in_memory(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        log = Log()
        process = DecidingProcess(deduplicator, cast("Any", log))
        crawl = ref(log)
        del log
        assert crawl() is None
        process.kill()


def test_the_place_of_a_withdrawn_page_is_free(tmp_path: Path) -> None:
    async def ask(deduplicator: Deduplicator, process: DecidingProcess) -> None:
        submit = partial(process.submit, claim=True, aliases={}, is_dry=False)
        pages = [deduplicator.sign(f"http://h/{name}", article(name[0]).encode()) for name in ("a", "b", "a again")]
        (pid,) = children_with(DECIDING)
        os.kill(pid, signal.SIGSTOP)
        assert submit(pages[:1]).cancel()
        os.kill(pid, signal.SIGCONT)
        for page in pages[1:]:
            (decision,) = await asyncio.wrap_future(submit([page]))
            assert decision.verdict == "new"

    decide(tmp_path, ask)


def test_the_end_of_a_claim_is_answered_even_if_it_is_sent_with_a_withdrawal(tmp_path: Path) -> None:
    async def ask(deduplicator: Deduplicator, process: DecidingProcess) -> None:
        submit = partial(process.submit, claim=True, aliases={}, is_dry=False)
        page, copy = [deduplicator.sign(f"http://h/{name}", article("page").encode()) for name in ("page", "copy")]
        (decision,) = await asyncio.wrap_future(submit([page]))
        offer = submit([copy])
        end = process.end_claim(decision, settled=True)
        assert offer.cancel()
        assert await asyncio.wrap_future(end)

    decide(tmp_path, ask)


def test_nothing_starts_a_process_after_the_close(tmp_path: Path) -> None:
    async def ask(deduplicator: Deduplicator, process: DecidingProcess) -> None:
        page = deduplicator.sign("http://h/", article("page").encode())
        (decision,) = await asyncio.wrap_future(process.submit([page], claim=True, aliases={}, is_dry=False))
        (pid,) = children_with(DECIDING)
        os.kill(pid, signal.SIGKILL)
        while process._child is not None:
            await asyncio.sleep(0.01)
        assert not await process.close(finished=True)
        with pytest.raises(IndexUnusable, match="is closed"):
            process.end_claim(decision, settled=True)

    decide(tmp_path, ask)


def test_it_is_logged_why_a_process_that_died_cannot_be_replaced(tmp_path: Path) -> None:
    async def ask(deduplicator: Deduplicator, process: DecidingProcess) -> None:
        page = deduplicator.sign("http://h/", article("page").encode())
        (pid,) = children_with(DECIDING)
        os.kill(pid, signal.SIGSTOP)
        offer = process.submit([page], claim=True, aliases={}, is_dry=False)
        (tmp_path / "index").rename(tmp_path / "moved")
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(IndexUnusable):
            await asyncio.wrap_future(offer)

    lines = decide(tmp_path / "index", ask).lines
    assert any(line.startswith("No deciding process can be started: There is no index in") for line in lines)


@pytest.mark.slow
def test_the_end_of_a_claim_is_stored_even_if_the_end_of_the_run_cannot_be(tmp_path: Path) -> None:
    async def ask(deduplicator: Deduplicator, process: DecidingProcess) -> None:
        page = deduplicator.sign("http://h/", article("page").encode())
        (decision,) = await asyncio.wrap_future(process.submit([page], claim=True, aliases={}, is_dry=False))
        locked = Event()

        def hold_the_lock(_: object) -> None:
            locked.set()
            time.sleep(_END_TIMEOUT + 1)

        holding = asyncio.ensure_future(asyncio.to_thread(deduplicator.index._write, hold_the_lock))
        await asyncio.to_thread(locked.wait)
        end = process.end_claim(decision, settled=True)
        process._send()
        assert await process.close(finished=True)
        await holding
        assert end.result()

    assert len(decide(tmp_path, ask).lines) == 1
