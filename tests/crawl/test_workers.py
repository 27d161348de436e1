"""The workers of a crawl: what they answer, what becomes of pages whose worker dies or takes too long, and how they end."""

import asyncio
import gc
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from scrapy.http import HtmlResponse

from crawler_dedup import BEING_HANDLED, Config, Deduplicator, SignedPage, main_text, own_text
from crawler_dedup.crawl import supervision, workerprocess
from crawler_dedup.crawl.supervision import (
    DIED,
    ENDED,
    NOT_IN_TIME,
    PAUSED,
    TRIED_AGAIN,
    UNCHECKED,
    NotSigned,
    Task,
    describe_death,
)
from crawler_dedup.crawl.workers import MAX_DEATHS, Workers, find_workers
from crawler_dedup.errors import DedupError, IndexUnusable
from crawler_dedup.pagetext import OwnTextJob
from crawler_dedup.signing.extractors import extract_with_trafilatura
from crawler_dedup.signing.parsing import parse
from crawler_dedup.signing.signer import Signer
from crawler_dedup.worker.main import LOADING_SECONDS
from crawler_dedup.worker.messages import ExtractText, MakeOwnText, SigningError
from tests.support.odd_extractor import HANGS_ONCE_LOADED
from tests.support.processes import still_running
from tests.support.prose import html, prose
from tests.support.signing import GOOD, ODD_CONFIG, URL, Log, decide, odd, open_workers, pids, sign

LARGE = b"<p>" + b"words of a large page " * 60_000
SHORT = 0.3


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def workers(tmp_path: Path, log: Log, request: pytest.FixtureRequest) -> Iterator[Workers]:
    """Workers with :data:`ODD_CONFIG`, with the settings of the parameter."""
    opened = open_workers(tmp_path / "index", log, replace(ODD_CONFIG, **getattr(request, "param", {})))
    yield opened
    opened.kill()


quickly = pytest.mark.parametrize("workers", [{"timeout": SHORT}], indirect=True)
two_processes = pytest.mark.parametrize("workers", [{"processes": 2}], indirect=True)


async def all_of(*pages: Awaitable[SignedPage]) -> list[str]:
    """Return for each page ``""``, or why it was not signed."""
    signed = await asyncio.wait_for(asyncio.gather(*pages, return_exceptions=True), 60)
    return [str(page) if isinstance(page, BaseException) else "" for page in signed]


@pytest.mark.parametrize("tokenizer", ["bigrams", "rjieba"])
async def test_a_page_is_signed_in_a_worker_as_in_this_process(tokenizer: Any, log: Log, tmp_path: Path) -> None:
    config = Config(tokenizer=tokenizer, scheme="winnowing", store_text=True)
    workers = open_workers(tmp_path, log, config)
    pages = [GOOD, html(prose(1, chinese=True)), b"", "<p>\ud83d".encode("utf-8", "surrogatepass"), LARGE]
    signed = await asyncio.gather(*(sign(workers, page) for page in pages))
    signer = Signer(config)
    assert signed == [signer.sign(URL, page, encoding=None, key=None, scope="")[0] for page in pages]
    workers.kill()


@quickly
async def test_a_page_that_takes_too_long_loses_its_worker_and_no_other_page_and_is_no_death(
    workers: Workers, log: Log
) -> None:
    (first,) = pids(workers)
    count_deaths(workers, MAX_DEATHS - 1)  # a page that takes too long is none
    bodies = (GOOD, odd("loop in C"), GOOD, odd("sleep"), GOOD)
    assert await all_of(*(sign(workers, body) for body in bodies)) == ["", NOT_IN_TIME, "", NOT_IN_TIME, ""]
    assert log.counts == 2 * ["worker/restarts"]
    assert not log.lines, "of a page that takes too long, the crawl says so"
    assert not still_running([first])


@pytest.mark.parametrize("workers", [{"timeout": SHORT, "tokenizer": "jieba"}], indirect=True)
async def test_loading_the_dictionary_takes_no_time_of_the_page_which_may_still_not_take_too_long(
    workers: Workers,
) -> None:
    begun = time.monotonic()
    pages = odd(HANGS_ONCE_LOADED), html(prose(1, chinese=True))
    assert await all_of(*(sign(workers, page) for page in pages)) == [NOT_IN_TIME, ""]
    assert time.monotonic() < begun + LOADING_SECONDS / 2


async def test_a_page_that_ends_its_worker_is_tried_twice(workers: Workers, log: Log) -> None:
    ending = [sign(workers, odd(what), f"{URL}{what}") for what in ("crash", "exit")]
    outcomes = await all_of(sign(workers), ending[0], sign(workers), ending[1], sign(workers, LARGE))
    assert outcomes == ["", DIED, "", DIED, ""]
    assert log.counts == 4 * ["worker/restarts"]
    causes = [re.sub(r"process \d+|( and \d more)? \(tried again\)", "", line) for line in log.lines]
    assert causes == [
        f"The worker  {cause}; pages that it had: {URL}{what}{outcome}"
        for what, cause, outcomes in (
            ("crash", "was ended by SIGSEGV", ("", f" (passes unchecked), {URL}")),
            ("exit", "has ended with exit status 3", ("", f" (passes unchecked), {URL}")),
        )
        for outcome in outcomes
    ]


def test_the_line_about_a_death_names_the_process_how_it_ended_and_the_first_page_of_each_outcome() -> None:
    pages = [(f"http://h/{number}", UNCHECKED if number == 2 else TRIED_AGAIN) for number in range(4)]
    named = "http://h/0 and 2 more (tried again), http://h/2 (passes unchecked)"
    for status, cause in (
        (0, "has ended with exit status 0"),
        (
            -signal.SIGKILL,
            "was ended by SIGKILL, probably by the out-of-memory killer of the kernel, because memory was short",
        ),
        (-50, "was ended by signal 50"),
        (None, "no longer answers"),
    ):
        assert describe_death(7, status, pages) == f"The worker process 7 {cause}; pages that it had: {named}"
        assert describe_death(7, status, []) == f"The worker process 7 {cause}; pages that it had: none"


Act = Callable[[int], None]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def crash(pid: int) -> None:
    os.kill(pid, signal.SIGSEGV)
    os.kill(pid, signal.SIGCONT)  # a stopped process gets the signal then


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


PHASES = ("idle", "receiving", "signing", "answering")
ALWAYS = [("idle", kill), ("receiving", stop), ("signing", kill), ("answering", crash)]


@pytest.mark.parametrize(
    ("phase", "act"),
    [
        pytest.param(phase, act, marks=[] if (phase, act) in ALWAYS else [pytest.mark.slow])
        for phase in PHASES
        for act in (kill, crash, stop)
    ],
)
@pytest.mark.parametrize("workers", [{"timeout": 4.0}], indirect=True)
async def test_no_page_is_lost_when_a_worker_is_killed_or_stopped(phase: str, act: Act, workers: Workers) -> None:
    workers.silence_seconds = 2.0  # of a stopped one
    (pid,) = pids(workers)
    if phase == "receiving":  # a stopped process receives the first part of a page only
        stop(pid)
    pages = [asyncio.ensure_future(sign(workers, LARGE)) for _ in range(2 * (phase != "idle"))]
    if phase == "signing":
        pages.insert(0, asyncio.ensure_future(sign(workers, odd("nap"))))
    await asyncio.sleep(0.05)
    if phase == "answering":  # the answer does not fit into the socket, and nobody reads it
        text = workers.ask(ExtractText(URL, None, whole=True), LARGE)
        pages.append(text)  # type: ignore[arg-type]
        await asyncio.gather(*pages[:2])
        time.sleep(1)
    act(pid)
    pages.append(asyncio.ensure_future(sign(workers)))
    pages.append(workers.ask(MakeOwnText(URL, None, OwnTextJob()), GOOD))  # type: ignore[arg-type]
    assert set(await all_of(*pages)) == {""}


async def test_slow_pages_in_a_row_do_not_make_their_worker_count_as_silent(workers: Workers, log: Log) -> None:
    workers.silence_seconds = 1.0
    assert await all_of(*(sign(workers, odd("nap")) for _ in range(8))) == 8 * [""]
    assert log.counts == []


@pytest.mark.skipif(sys.platform != "linux", reason="it is known on Linux only which process is stopped")
async def test_a_worker_that_is_stopped_is_replaced_sooner_than_one_that_is_silent(
    workers: Workers, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "STOPPED_SECONDS", 0.0)
    monkeypatch.setattr(supervision, "_LOOK_SECONDS", 0.02)
    (pid,) = pids(workers)
    assert await all_of(sign(workers, odd("nap"))) == [""]
    assert pids(workers) == [pid]
    stop(pid)
    began = time.monotonic()
    assert await all_of(sign(workers)) == [""]
    assert time.monotonic() - began < workers.silence_seconds / 2
    assert not still_running([pid])
    (line,) = log.lines
    assert f"no longer answers; pages that it had: {URL} (tried again)" in line


def response(body: bytes = GOOD) -> HtmlResponse:
    return HtmlResponse("http://example.com/", body=body)


def count_deaths(workers: Workers, number: int) -> None:
    for _ in range(number):
        workers.count_death()


async def test_while_workers_die_often_pages_are_not_signed_and_have_no_text(
    workers: Workers, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_deaths(workers, MAX_DEATHS - 3)
    assert await all_of(*(sign(workers, odd("crash")) for _ in range(4))) == [DIED, *3 * [PAUSED]]
    assert await all_of(sign(workers)) == [PAUSED]
    with pytest.raises(NotSigned, match="too often"):  # nor in the crawl's process, which the page may end
        await main_text(response())
    assert pids(workers) == []
    (line,) = [line for line in log.lines if not line.startswith("The worker process")]
    assert (
        line == "5 workers have died within a minute: for a minute none is started. Without one, pages pass unchecked"
    )
    monkeypatch.setattr(workers, "_resumes", 0.0)
    assert await all_of(sign(workers)) == [""]


@two_processes
async def test_while_one_worker_dies_often_the_other_one_signs_all_pages(workers: Workers) -> None:
    first, second = pids(workers)
    count_deaths(workers, MAX_DEATHS - 1)
    kill(first)
    assert await all_of(sign(workers)) == [PAUSED]
    assert await all_of(*(sign(workers) for _ in range(4))) == 4 * [""]
    assert pids(workers) == [second]


async def test_while_workers_die_often_claims_and_the_run_are_ended_nevertheless(
    workers: Workers, log: Log, tmp_path: Path
) -> None:
    decision = await decide(workers)
    count_deaths(workers, MAX_DEATHS)
    kill(*pids(workers))
    assert await all_of(sign(workers)) == [PAUSED]
    assert await workers.end_claim(decision, settled=True) is True
    assert await all_of(sign(workers)) == [PAUSED]
    kill(*pids(workers))
    while pids(workers):
        await asyncio.sleep(0.01)
    await workers.close(finished=True)
    assert not [line for line in log.lines if "could not be recorded" in line]
    with Deduplicator.open(tmp_path / "index", ODD_CONFIG) as opened:
        assert opened.check(f"{URL}copy", GOOD, scope="").verdict == "duplicate"


@pytest.mark.parametrize(("program", "reason"), [("exit 1", PAUSED), ("exec sleep 600", NOT_IN_TIME)])
async def test_a_worker_that_does_not_become_ready_lets_pages_pass(
    program: str, reason: str, workers: Workers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interpreter = tmp_path / "interpreter"
    interpreter.write_text(f"#!/bin/sh\n{program}\n")
    interpreter.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    workers.silence_seconds = 0.2
    kill(*pids(workers))
    assert await all_of(*(sign(workers) for _ in range(3))) == 3 * [reason]
    await asyncio.wait_for(workers.close(finished=True), 10)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of a running process")
@pytest.mark.parametrize("lacking", ["a temporary directory", "room for files"])
async def test_workers_need_no_temporary_directory_and_no_room_for_files(
    lacking: str, tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lacking == "a temporary directory":
        monkeypatch.setattr("tempfile.tempdir", "/missing")
    else:
        monkeypatch.delattr(os, "memfd_create")
    workers = open_workers(tmp_path, log, replace(ODD_CONFIG, timeout=SHORT))
    if lacking == "room for files":
        resource.prlimit(pids(workers)[0], resource.RLIMIT_FSIZE, (0, 0))
    assert await all_of(sign(workers), sign(workers, odd("sleep")), sign(workers)) == ["", NOT_IN_TIME, ""]
    workers.kill()


@pytest.mark.parametrize(("program", "reason"), [("/missing", "'/missing'"), ("/bin/false", "ended at its start")])
def test_a_worker_that_cannot_be_started_is_an_error_with_a_way_out(
    program: str, reason: str, monkeypatch: pytest.MonkeyPatch, log: Log, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(DedupError, match=reason) as raised:
        open_workers(tmp_path, log)
    assert "set DEDUP_PROCESSES = 0" in str(raised.value)


def test_an_extractor_that_only_this_process_can_import_is_an_error(log: Log, tmp_path: Path) -> None:
    with pytest.raises(DedupError, match=r"'__main__\.extract' cannot be imported"):
        open_workers(tmp_path, log, Config(tokenizer="bigrams", extractor="__main__.extract"))


async def test_an_error_that_ends_a_worker_is_shown(
    capfd: pytest.CaptureFixture[str], log: Log, tmp_path: Path
) -> None:
    workers = open_workers(tmp_path, log)
    await sign(workers)
    workers._supervised[0]._send(1, Task("no job", b"", asyncio.Future()))  # type: ignore[arg-type]
    await sign(workers)
    workers.kill()
    (line,) = log.lines
    assert "has ended with exit status 1" in line
    assert "msgspec.ValidationError: " in capfd.readouterr().err


PLACES = ("nothing", "another index", "a copy", "its lock file only", "a file")


@pytest.mark.parametrize(
    ("there", "workers"), [*((there, {}) for there in PLACES), ("nothing", {"processes": 0})], indirect=["workers"]
)
async def test_a_worker_that_replaces_another_one_joins_only_the_index_of_its_run_and_it_is_logged_why_it_cannot(
    there: str, workers: Workers, log: Log, tmp_path: Path
) -> None:
    index, moved = tmp_path / "index", tmp_path / "moved"
    decision = await decide(workers)
    assert await workers.end_claim(decision, settled=True)
    index.rename(moved)
    if there == "another index":
        Deduplicator.open(index, ODD_CONFIG).close()
    elif there == "a copy":
        shutil.copytree(moved, index)
    elif there == "its lock file only":
        index.mkdir()
        (lock,) = moved.glob("run-*.lock")
        (index / lock.name).hardlink_to(lock)
    elif there == "a file":
        index.write_text("a file")
    before = sorted(index.glob("*"))
    workers._supervised[0].end()
    reason, *others = await all_of(*(sign(workers) for _ in range(3)))
    assert others == 2 * [reason]
    assert "was deleted or replaced" in reason
    assert sorted(index.glob("*")) == before
    if index.is_dir():
        shutil.rmtree(index)
    index.unlink(missing_ok=True)
    moved.rename(index)
    assert await all_of(sign(workers)) == [reason], "it is not tried again at once"
    assert log.lines == [f"The index cannot be opened: {reason}"]
    workers._supervised[0]._opens_again = 0.0
    assert (await decide(workers, url=f"{URL}copy")).duplicate_of == URL


# Texts


async def test_the_text_of_a_page_is_extracted_once_in_a_process(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[Any] = []
    ask = workers.ask

    async def ask_and_keep(job: Any, *args: Any) -> Any:
        jobs.append(job)
        return await ask(job, *args)

    monkeypatch.setattr(workers, "ask", ask_and_keep)
    page = response()
    texts = {*await asyncio.gather(main_text(page), main_text(page)), await main_text(page)}
    assert texts == {extract_with_trafilatura(parse(GOOD))}
    assert jobs == [ExtractText(URL, "utf-8", whole=False)]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
async def test_the_text_of_a_page_that_takes_too_much_memory_is_an_error(workers: Workers) -> None:
    (pid,) = pids(workers)
    await main_text(response())
    now = resource.getpagesize() * int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    resource.prlimit(pid, resource.RLIMIT_AS, (now + (120 << 20), resource.RLIM_INFINITY))
    with pytest.raises(SigningError):
        await main_text(response(24 * LARGE))
    assert pids(workers) == [pid]


def hide_index(directory: Path) -> None:
    (directory / "index").rename(directory / "moved")
    (directory / "index").write_text("a file")


async def test_texts_are_made_while_no_worker_can_open_the_index(workers: Workers, tmp_path: Path) -> None:
    before = await main_text(response()), await own_text(response())
    hide_index(tmp_path)
    kill(*pids(workers))
    assert (await main_text(response()), await own_text(response())) == before
    assert pids(workers) == []


async def test_a_page_that_ends_its_worker_has_no_text_if_no_other_can_open_the_index(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not end the crawl's process."""
    monkeypatch.setattr(workerprocess, "_REAP_SECONDS", 0.01)
    hide_index(tmp_path)
    (worker,) = workers._supervised
    assert worker.child is not None
    stop(worker.child.pid)
    text = asyncio.ensure_future(main_text(response()))
    while not worker.tasks:
        await asyncio.sleep(0)
    worker.child.end_and_report()
    assert await text == ""


# The end


async def test_pages_that_wait_when_the_crawl_ends_are_not_signed(workers: Workers) -> None:
    waiting = [asyncio.ensure_future(sign(workers, body)) for body in (odd("sleep"), GOOD)]
    await asyncio.sleep(0.1)
    workers.kill()
    assert await all_of(*waiting, sign(workers)) == [ENDED] * 3
    assert find_workers() is None


async def test_nothing_starts_a_worker_after_the_close(workers: Workers) -> None:
    decision = await decide(workers)
    kill(*pids(workers))
    await workers.close(finished=True)
    with pytest.raises(IndexUnusable, match="is closed"):
        workers.end_claim(decision, settled=True)
    assert workerprocess._started_ahead == []


def test_workers_do_not_keep_an_ended_crawl_in_memory(tmp_path: Path) -> None:
    log = Log()
    workers = open_workers(tmp_path, log)
    crawl = ref(log)
    del log
    assert crawl() is None
    workers.kill()


def test_the_worker_of_an_event_loop_that_has_ended_is_replaced(workers: Workers) -> None:
    async def interrupted() -> None:
        sleeping = asyncio.ensure_future(sign(workers, odd("sleep")))
        await asyncio.sleep(0.1)
        assert not sleeping.done()

    (pid,) = pids(workers)
    asyncio.run(interrupted())
    assert asyncio.run(all_of(sign(workers))) == [""]
    assert not still_running([pid])


# Several


@two_processes
async def test_pages_are_signed_by_all_workers(workers: Workers) -> None:
    sleeping = asyncio.ensure_future(sign(workers, odd("sleep") + b" " * len(LARGE)))
    await asyncio.sleep(0)
    assert await all_of(sign(workers), sign(workers)) == ["", ""]
    assert not sleeping.done()
    sleeping.cancel()


@two_processes
async def test_all_workers_decide_by_what_each_has_stored_and_store_the_addresses_of_duplicates_at_the_end(
    workers: Workers, tmp_path: Path
) -> None:
    pages = [html(prose(number)) for number in range(8)]
    kept = await asyncio.gather(*(decide(workers, page, f"{URL}{at}") for at, page in enumerate(pages)))
    assert {decision.verdict for decision in kept} == {"new"}
    assert len({decision.claim for decision in kept}) == 8
    assert len({decision.claim >> 32 for decision in kept}) == 2
    ended = await asyncio.gather(*(workers.end_claim(decision, settled=True) for decision in kept))
    assert ended == 8 * [True]
    copies = await asyncio.gather(*(decide(workers, page, f"{URL}copy/{at}") for at, page in enumerate(pages)))
    assert {decision.verdict for decision in copies} == {"duplicate"}
    await workers.close(finished=True)
    with Deduplicator.open(tmp_path / "index", ODD_CONFIG) as index:
        also_at = {record.page.url: record.also_at for record in index.index.records()}
    assert also_at == {f"{URL}{at}": (f"{URL}copy/{at}",) for at in range(8)}


async def test_the_place_of_an_abandoned_page_is_free(workers: Workers) -> None:
    waiting = asyncio.ensure_future(decide(workers))
    await asyncio.sleep(0)
    waiting.cancel()
    while (decision := await decide(workers, url=f"{URL}again")).reason == BEING_HANDLED:
        await asyncio.sleep(0.01)
    assert decision.verdict == "new"


async def test_it_is_no_error_if_the_workers_end_before_the_place_of_an_abandoned_page_is_free(
    workers: Workers,
) -> None:
    errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    workers.release_abandoned(await decide(workers))
    workers.kill()
    await asyncio.sleep(0)
    gc.collect()
    assert not errors


FORK = """
import asyncio, os, sys
from pathlib import Path
from crawler_dedup.crawl.workers import find_running
from tests.support.signing import Log, open_workers, pids, sign

log = Log()
parent = open_workers(Path(sys.argv[1]), log)
asyncio.run(sign(parent))
child = os.fork()
if not child:
    assert not find_running()
    parent.kill()  # must not end the process of the parent, nor its run
    own = open_workers(Path(sys.argv[1]), log)
    assert asyncio.run(sign(own)) and pids(own) != pids(parent)
    own.kill()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert asyncio.run(sign(parent))
"""


def test_a_forked_child_leaves_the_workers_of_its_parent_alone(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORK, str(tmp_path)], timeout=120, check=True)
