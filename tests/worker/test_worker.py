"""A worker in this process: pages that are signed together are decided about as if each had come alone."""

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import msgspec
import pytest

from crawler_dedup import Config, Decision, Deduplicator, SignedPage
from crawler_dedup.crawl.workerprocess import _pack
from crawler_dedup.index.profiles import Snapshot
from crawler_dedup.pagetext import OwnTextJob
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.worker import main, worker
from crawler_dedup.worker.main import _ProcessChannel
from crawler_dedup.worker.messages import (
    SETTINGS,
    Answer,
    AnyJob,
    Checked,
    CheckPage,
    Failure,
    MakeOwnText,
    Message,
    Start,
)
from crawler_dedup.worker.worker import Worker
from tests.support.crawling import article

CONFIG = Config(tokenizer="bigrams")


class Channel:
    """Stands in for the process of the crawl. As long as more is to come, signed pages wait for it."""

    def __init__(self) -> None:
        self.more = 0
        self._answers: dict[int, Answer] = {}
        self._answered = threading.Condition()

    def send(self, message: Answer) -> None:
        with self._answered:
            self._answers[message.number] = message
            self._answered.notify_all()

    def answer(self, number: int) -> Decision | Failure:
        with self._answered:
            assert self._answered.wait_for(lambda: number in self._answers, 30)
            result = self._answers[number].result
        assert isinstance(result, Checked)
        return result.decision

    def has_more(self) -> bool:
        self.more -= 1
        return self.more > 0

    def limit(self, number: int, seconds: float) -> AbstractContextManager[object]:
        return nullcontext()

    def limit_loading(self) -> AbstractContextManager[object]:
        return nullcontext()


class Crawl:
    """A worker, and what a crawl asks it."""

    def __init__(self, directory: Path) -> None:
        settings = {name: getattr(CONFIG, name) for name in SETTINGS}
        self.channel = Channel()
        self.worker = Worker(self.channel, Start(settings, os.fsencode(directory), 1, 0.0, 1, os.getpid(), 30))

    def check(self, *pages: tuple[str, int]) -> list[Decision | Failure]:
        """Decide about articles, each given as its scope and its number, which are signed together."""
        self.channel.more = len(pages)
        for number, (scope, which) in enumerate(pages):
            url = f"http://{scope}.example/{which}/{number}"
            job = CheckPage(url, None, url, scope)
            self.worker.do(Message(number, None, job), article(which).encode())
        return [self.channel.answer(number) for number in range(len(pages))]


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crawl]:
    monkeypatch.setattr(worker, "_TOGETHER_SECONDS", 60.0)
    with Deduplicator.open(tmp_path, CONFIG) as deduplicator:
        for scope in ("a", "b"):
            deduplicator.check(f"http://{scope}.example/kept", article(1).encode(), scope=scope)
    opened = Crawl(tmp_path)
    yield opened
    opened.worker.close()


def verdicts(decisions: list[Decision | Failure]) -> list[str]:
    return [each.verdict if isinstance(each, Decision) else type(each).__name__ for each in decisions]


def test_pages_of_several_scopes_are_compared_with_those_of_their_own(crawl: Crawl) -> None:
    decisions = crawl.check(("a", 1), ("c", 1), ("b", 1), ("a", 2))
    assert verdicts(decisions) == ["duplicate", "new", "duplicate", "new"]
    assert [getattr(each, "duplicate_of", None) for each in decisions[::2]] == [
        "http://a.example/kept",
        "http://b.example/kept",
    ]


def test_a_page_that_cannot_be_decided_about_fails_alone(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = RuleMatcher.prepare

    def prepare_most(matcher: RuleMatcher, page: SignedPage, snapshot: Snapshot) -> SignedPage:
        if "/3/" in page.url:
            raise LookupError("bad page")
        return prepare(matcher, page, snapshot)

    monkeypatch.setattr(RuleMatcher, "prepare", prepare_most)
    assert verdicts(crawl.check(("a", 2), ("a", 3), ("a", 1))) == ["new", "Failure", "duplicate"]


def test_pages_that_wait_too_long_for_the_index_are_answered_and_not_filed(crawl: Crawl, tmp_path: Path) -> None:
    index, crawl.worker._offer_seconds = crawl.worker._deduplicator.index, 0.1
    holds, ends = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        holds.set()
        ends.wait(30)

    held = index._submit(hold)
    assert holds.wait(30)
    late = crawl.check(("a", 2), ("b", 2))
    ends.set()
    held.result()
    assert [isinstance(each, Failure) and each.error for each in late] == 2 * ["TimeoutError"]
    assert [index.find(scope, f"http://{scope}.example/2/{at}") for at, scope in enumerate("ab")] == [None, None]


def test_every_page_that_comes_after_the_index_was_closed_is_answered(crawl: Crawl) -> None:
    crawl.worker._deduplicator.close()
    assert verdicts(crawl.check(("a", 1), ("b", 2))) == 2 * ["Failure"]


PAGE, TEXT = CheckPage("http://a/", None, "http://a/", None), MakeOwnText("http://a/", None, OwnTextJob())


@contextmanager
def opened_channel(*messages: Message | Start) -> Iterator[_ProcessChannel]:
    """Yield the channel of a worker to which these messages were sent; afterwards end its socket."""
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile() as progress:
        channel = _ProcessChannel(theirs.detach(), progress.fileno())
        with channel._socket:
            for message in messages:
                ours.sendall(_pack(message, 4) + b"body")
            yield channel
            ours.shutdown(socket.SHUT_WR)
            with channel._changed:
                assert channel._changed.wait_for(lambda: channel._end, 30)


def read_numbers(channel: _ProcessChannel, count: int) -> list[int]:
    read = [channel.read() for _ in range(count)]
    assert {body for _, body in read} == {b"body"}
    return [msgspec.msgpack.decode(message, type=Message).number for message, _ in read]


def test_own_texts_overtake_waiting_pages_but_not_the_first_message_and_the_end_overtakes_all() -> None:
    start = Start({}, b"", 1, 0.0, 1, os.getpid(), 30)
    jobs: list[AnyJob] = [PAGE, PAGE, TEXT, TEXT, PAGE]
    with opened_channel(start, *(Message(number, None, job) for number, job in enumerate(jobs))) as channel:
        with channel._changed:
            assert channel._changed.wait_for(lambda: len(channel._urgent) + len(channel._others) == 6, 30)
        assert msgspec.msgpack.decode(channel.read()[0], type=Start) == start
        assert read_numbers(channel, 4) == [2, 3, 0, 1]
        assert channel.has_more()
    with pytest.raises(EOFError):
        channel.read()


def test_what_a_worker_reads_ahead_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_AHEAD", 1)
    with opened_channel(*(Message(number, None, PAGE) for number in range(5))) as channel:
        with channel._changed:
            assert not channel._changed.wait_for(lambda: len(channel._others) > 1, 0.2)
        assert read_numbers(channel, 5) == [*range(5)]
