"""Signing processes: what they answer, what becomes of pages whose process dies or takes too long, and how they end."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from crawler_dedup import Config, SignedPage, main_text
from crawler_dedup.crawl import signers as signers_module
from crawler_dedup.crawl import signingqueue
from crawler_dedup.crawl.childprocess import MAX_DEATHS
from crawler_dedup.crawl.signers import Signers, SigningError, find_signers, share_signers
from crawler_dedup.crawl.signingqueue import DIED, ENDED, NOT_IN_TIME, PAUSED, NotSigned
from crawler_dedup.errors import DedupError
from crawler_dedup.signing.extractors import extract_with_trafilatura
from crawler_dedup.signing.messages import TextJob
from crawler_dedup.signing.parsing import parse
from crawler_dedup.signing.signer import Signer
from tests.support.prose import html, prose
from tests.support.signing import GOOD, JOB, ODD_CONFIG, Log, odd, pids, sign

LARGE = b"<p>" + b"words of a large page " * 60_000
SHORT = 0.3


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def signers(log: Log) -> Iterator[Signers]:
    shared = share_signers(ODD_CONFIG, log)  # type: ignore[arg-type]
    yield shared
    shared.release(log)  # type: ignore[arg-type]


async def all_of(*pages: Awaitable[SignedPage]) -> list[str]:
    """Return for each page ``""``, or why it was not signed."""
    signed = await asyncio.wait_for(asyncio.gather(*pages, return_exceptions=True), 60)
    return [str(page) if isinstance(page, BaseException) else "" for page in signed]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for_end(pid: int) -> None:
    until = time.monotonic() + 60
    while is_running(pid):
        assert time.monotonic() < until, "the process goes on"
        time.sleep(0.01)


@pytest.mark.parametrize("tokenizer", ["bigrams", "jieba"])
def test_a_page_is_signed_in_a_process_as_in_this_one(tokenizer: Any, log: Log) -> None:
    config = Config(tokenizer=tokenizer, scheme="winnowing", store_text=True)
    shared = share_signers(config, log)  # type: ignore[arg-type]
    pages = [GOOD, html(prose(1, chinese=True)), b"", "<p>\ud83d".encode("utf-8", "surrogatepass"), LARGE]

    async def sign_all() -> list[SignedPage]:
        return await asyncio.gather(*(sign(shared, page) for page in pages))

    signed = asyncio.run(sign_all())
    signer = Signer(config)
    assert signed == [signer.sign(JOB.url, page, encoding=None, key=None, scope="")[0] for page in pages]
    shared.release(log)  # type: ignore[arg-type]


def test_a_page_that_takes_too_long_loses_its_process_and_no_other_page(signers: Signers, log: Log) -> None:
    async def sign_all() -> list[str]:
        late = [sign(signers, odd(what), SHORT) for what in ("loop in C", "stop")]
        return await all_of(sign(signers), late[0], sign(signers, LARGE), late[1], sign(signers))

    (first,) = pids(signers)
    assert asyncio.run(sign_all()) == ["", NOT_IN_TIME, "", NOT_IN_TIME, ""]
    assert log.counts == 2 * ["signing/restarts"]
    wait_for_end(first)


def test_a_page_that_ends_its_process_is_tried_twice(signers: Signers, log: Log) -> None:
    async def sign_all() -> list[str]:
        ending = [sign(signers, odd(what)) for what in ("crash", "exit")]
        return await all_of(sign(signers), ending[0], sign(signers), ending[1], sign(signers, LARGE))

    assert asyncio.run(sign_all()) == ["", DIED, "", DIED, ""]
    assert log.counts == 4 * ["signing/restarts"]
    causes = [re.sub(r"process \d+", "process", line) for line in log.lines]
    assert causes == [
        f"The signing process {cause}; pages that it had: {JOB.url} ({outcome})"
        for cause in ("was ended by SIGSEGV", "has ended with exit status 3")
        for outcome in ("tried again", "passes unchecked")
    ]


def test_a_killed_process_is_reported_with_the_probable_cause(signers: Signers, log: Log) -> None:
    (pid,) = pids(signers)
    kill(pid)
    assert asyncio.run(all_of(sign(signers))) == [""]
    (line,) = log.lines
    assert line.startswith(f"The signing process {pid} was ended by SIGKILL, probably by the out-of-memory killer")
    # It had no page if the end of its socket was read before the page was sent.
    assert line.endswith((" none", f" {JOB.url} (tried again)"))


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
def test_no_page_is_lost_when_a_process_is_killed_or_stopped(phase: str, act: Act, signers: Signers) -> None:
    async def sign_all() -> None:
        (pid,) = pids(signers)
        seconds = 2.0 if act is stop else 30.0
        if phase == "receiving":  # a stopped process receives the first part of a page only
            os.kill(pid, signal.SIGSTOP)
        pages = [asyncio.ensure_future(sign(signers, LARGE, seconds)) for _ in range(2 * (phase != "idle"))]
        if phase == "signing":
            pages.insert(0, asyncio.ensure_future(sign(signers, odd("nap"), seconds)))
        await asyncio.sleep(0.05)
        if phase == "answering":  # the answer does not fit into the socket, and nobody reads it
            text = signers.extract_text(TextJob(None, whole=True), JOB.url, LARGE, seconds)
            pages.append(asyncio.ensure_future(text))  # type: ignore[arg-type]
            await asyncio.gather(*pages[:2])
            time.sleep(1)
        act(pid)
        pages.append(asyncio.ensure_future(sign(signers, seconds=seconds)))
        outcomes = await all_of(*pages)
        failures = [outcome for outcome in outcomes if outcome]
        assert failures in ([], [NOT_IN_TIME]) if act is stop else failures == []

    asyncio.run(sign_all())


def test_while_processes_die_often_pages_are_not_signed(
    signers: Signers, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sign_all() -> None:
        for _ in range(MAX_DEATHS - 3):
            signers.note_death()
        outcomes = await all_of(*(sign(signers, odd("crash")) for _ in range(4)))
        assert outcomes == [DIED, *3 * [PAUSED]]
        assert await all_of(sign(signers)) == [PAUSED]
        assert pids(signers) == []
        (line,) = [line for line in log.lines if not line.startswith("The signing process")]
        assert line == "5 signing processes have died within a minute: pages pass unchecked for a minute"
        monkeypatch.setattr(signers, "_resumes", 0.0)
        assert await all_of(sign(signers)) == [""]

    asyncio.run(sign_all())


def test_a_process_that_no_longer_starts_lets_pages_pass(signers: Signers, monkeypatch: pytest.MonkeyPatch) -> None:
    (pid,) = pids(signers)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    kill(pid)
    assert asyncio.run(all_of(*(sign(signers) for _ in range(3)))) == 3 * [PAUSED]


def test_a_process_that_never_becomes_ready_lets_pages_pass(
    signers: Signers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (pid,) = pids(signers)
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(silent))
    monkeypatch.setattr(signingqueue, "PATIENCE", 0.2)
    kill(pid)
    assert asyncio.run(all_of(*(sign(signers) for _ in range(3)))) == 3 * [NOT_IN_TIME]


@pytest.mark.parametrize(
    ("program", "extractor", "reason"),
    [
        ("/missing", "paragraphs", "No such file or directory: '/missing'"),
        ("/bin/false", "paragraphs", "the process ended at its start"),
        (sys.executable, "__main__.extract", "ConfigError: DEDUP_EXTRACTOR = '__main__.extract' cannot be imported"),
    ],
)
def test_a_process_that_cannot_be_started_is_an_error_with_a_way_out(
    program: str, extractor: str, reason: str, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(DedupError, match=reason) as raised:
        share_signers(Config(tokenizer="bigrams", extractor=extractor), log)  # type: ignore[arg-type]
    assert "set DEDUP_PROCESSES = 0" in str(raised.value)
    assert find_signers() is None


# Texts


def response(body: bytes = GOOD) -> HtmlResponse:
    return HtmlResponse("http://example.com/", body=body)


def test_the_text_of_a_page_is_extracted_once_in_a_process(signers: Signers, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[TextJob] = []
    extract = signers.extract_text

    async def note(job: TextJob, url: str, body: bytes, seconds: float) -> str:
        jobs.append(job)
        return await extract(job, url, body, seconds)

    monkeypatch.setattr(signers, "extract_text", note)

    async def extract_twice() -> tuple[str, ...]:
        page = response()
        return (*await asyncio.gather(main_text(page), main_text(page)), await main_text(page))

    assert set(asyncio.run(extract_twice())) == {extract_with_trafilatura(parse(GOOD))}
    assert jobs == [TextJob("utf-8", whole=False)]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_the_text_of_a_page_that_takes_too_much_memory_is_an_error(signers: Signers) -> None:
    async def extract() -> None:
        (pid,) = pids(signers)
        await main_text(response())
        now = resource.getpagesize() * int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        resource.prlimit(pid, resource.RLIMIT_AS, (now + (120 << 20), resource.RLIM_INFINITY))
        with pytest.raises(SigningError):
            await main_text(response(24 * LARGE))
        assert pids(signers) == [pid]

    asyncio.run(extract())


def test_while_processes_die_often_no_text_is_extracted(signers: Signers) -> None:
    """Not in the crawl's process either, which the page may end: its callback fails, and it represents no page."""
    for _ in range(MAX_DEATHS):
        signers.note_death()
    (pid,) = pids(signers)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(NotSigned, match="too often"):
        asyncio.run(main_text(response()))


def test_pages_that_wait_when_the_last_crawl_ends_are_not_signed(signers: Signers) -> None:
    async def end() -> None:
        waiting = [asyncio.ensure_future(sign(signers, body)) for body in (odd("sleep"), GOOD)]
        await asyncio.sleep(0.1)
        for monitor in list(signers.users):
            signers.release(monitor)
        assert await all_of(*waiting, sign(signers)) == [ENDED] * 3
        assert pids(signers) == []

    asyncio.run(end())


# Sharing


def test_processes_of_an_event_loop_that_has_ended_are_replaced(signers: Signers) -> None:
    async def interrupted() -> None:
        sleeping = asyncio.ensure_future(sign(signers, odd("sleep")))
        await asyncio.sleep(0.1)
        assert not sleeping.done()

    (pid,) = pids(signers)
    asyncio.run(interrupted())
    assert asyncio.run(all_of(sign(signers))) == [""]
    wait_for_end(pid)


def test_crawls_of_a_thread_with_the_same_settings_for_signing_share_processes_until_the_last_one_ends() -> None:
    logs = [Log() for _ in range(3)]
    configs = [
        ODD_CONFIG,
        Config(dir="/other", extractor=ODD_CONFIG.extractor, tokenizer="bigrams"),
        Config(tokenizer="bigrams"),
    ]
    first, same, other = (share_signers(config, log) for config, log in zip(configs, logs, strict=True))  # type: ignore[arg-type]
    assert first is same
    assert first is not other
    in_another_thread: list[Signers | None] = []
    thread = threading.Thread(target=lambda: in_another_thread.append(find_signers()))
    thread.start()
    thread.join()
    assert in_another_thread == [None]
    (pid,) = pids(first)
    first.release(logs[0])  # type: ignore[arg-type]
    first.release(logs[0])  # type: ignore[arg-type]
    assert asyncio.run(all_of(sign(first))) == [""]
    same.release(logs[1])  # type: ignore[arg-type]
    wait_for_end(pid)
    assert find_signers() is other
    other.release(logs[2])  # type: ignore[arg-type]
    assert signers_module._shared == {}


def test_pages_are_signed_by_all_processes(log: Log) -> None:
    shared = share_signers(Config(tokenizer="bigrams", processes=2, extractor=ODD_CONFIG.extractor), log)  # type: ignore[arg-type]

    async def sign_all() -> None:
        sleeping = asyncio.ensure_future(sign(shared, odd("sleep") + b" " * len(LARGE)))
        await asyncio.sleep(0)
        assert await all_of(sign(shared), sign(shared)) == ["", ""]
        assert not sleeping.done()
        sleeping.cancel()

    asyncio.run(sign_all())
    shared.release(log)  # type: ignore[arg-type]


FORK = """
import asyncio, os, sys
from crawler_dedup import Config
from crawler_dedup.crawl.signers import find_signers, share_signers
from tests.support.signing import Log, pids, sign

log = Log()
parent = share_signers(Config(tokenizer="bigrams"), log)
asyncio.run(sign(parent))
child = os.fork()
if not child:
    assert find_signers() is None
    parent.release(log)  # must not end the process of the parent
    own = share_signers(Config(tokenizer="bigrams"), log)
    assert asyncio.run(sign(own)) and pids(own) != pids(parent)
    own.release(log)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_leaves_the_processes_of_its_parent_alone() -> None:
    subprocess.run([sys.executable, "-c", FORK], timeout=120, check=True)
