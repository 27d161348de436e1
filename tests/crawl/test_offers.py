"""Pages that are ready at nearly the same time are offered together, in one job of the index, and go on a few at a time.

Decision, error and claim are each page's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, cast

import pytest

from crawler_dedup import Config, Decision, Deduplicator, IndexUnusable, SignedPage, Verdict
from crawler_dedup.crawl.offers import Offers, Turns
from crawler_dedup.errors import ConnectionLost
from tests.support.crawling import article

CONFIG = Config(tokenizer="bigrams")


class _Watched:
    """Notes which pages are offered in one job, and fails, or never answers, where a page is among them.

    Attributes:
        jobs: keys of the pages of each job.
        released: keys of the pages whose claims were released.
    """

    def __init__(
        self, index: Deduplicator, *, bad: str = "", silent: str = "", error: type[Exception] = ValueError
    ) -> None:
        self._index = index
        self._error = error
        self._bad, self._silent = bad, silent
        self.jobs: list[list[str]] = []
        self.released: list[str] = []
        self.unanswered: list[tuple[Future[list[Decision]], Sequence[SignedPage]]] = []

    def submit(
        self, batch: Sequence[SignedPage], *, claim: bool, aliases: Mapping[str, str] | None = None, is_dry: bool
    ) -> Future[list[Decision]]:
        keys = [page.key for page in batch]
        self.jobs.append(keys)
        if self._bad in keys:
            failed: Future[list[Decision]] = Future()
            failed.set_exception(self._error("a page that cannot be decided about"))
            return failed
        if self._silent in keys:
            self.unanswered.append((Future(), batch))
            return self.unanswered[-1][0]
        return self._index.submit(batch, claim=claim, aliases=aliases, is_dry=is_dry)

    def end_claim(self, decision: Decision, *, settled: bool) -> Future[bool]:
        assert not settled
        self.released.append(decision.key)
        return self._index.end_claim(decision, settled=settled)


def offer_all(
    index: _Watched,
    pages: Sequence[SignedPage],
    *,
    timeout: float = 30,
    aliases: Mapping[str, str] | None = None,
    coming: int = 0,
) -> list[Decision | BaseException]:
    """Offer *pages*, while *coming* or all of them are expected, and return the decision or error of each."""

    async def offer() -> list[Decision | BaseException]:
        offers = Offers(cast("Any", index), timeout=timeout, count_coming=lambda: coming or len(pages))
        return await asyncio.gather(
            *(offers.decide(page, (aliases or {}).get(page.key, "")) for page in pages), return_exceptions=True
        )

    return asyncio.run(asyncio.wait_for(offer(), 60))


def sign(index: Deduplicator, *names: str, scope: str | None = None) -> list[SignedPage]:
    return [index.sign(f"http://h/{name}", article(name).encode(), key=name, scope=scope) for name in names]


def verdicts(answers: Sequence[Decision | BaseException]) -> list[Verdict | type[BaseException]]:
    return [answer.verdict if isinstance(answer, Decision) else type(answer) for answer in answers]


def test_pages_that_are_ready_together_share_a_job_and_claim_a_place_each(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index)
        answers = offer_all(watched, sign(index, "a", "b", "c"))
        assert watched.jobs == [["a", "b", "c"]]
        assert verdicts(answers) == ["new"] * 3
        assert [cast("Decision", answer).key for answer in answers] == ["a", "b", "c"]
        assert len({cast("Decision", answer).claim for answer in answers} - {0}) == 3
        assert watched.released == []


def test_pages_whose_expected_companions_do_not_come_are_soon_offered_together(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index)
        assert verdicts(offer_all(watched, sign(index, "a", "b"), coming=1000)) == ["new"] * 2
        assert watched.jobs == [["a", "b"]]


def test_pages_of_several_scopes_or_with_other_first_addresses_do_not_share_a_job(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index)
        pages = [*sign(index, "a", "b", "moved", "too"), *sign(index, "c", scope="other")]
        answers = offer_all(watched, pages, aliases={"moved": "first", "too": "other first"})
        assert sorted(watched.jobs) == [["a", "b"], ["c"], ["moved"], ["too"]]
        assert verdicts(answers) == ["new"] * 5
        # The first address is a name of the page.
        assert index.settle(cast("Decision", answers[2]))
        assert index.check("http://h/first", article("moved").encode(), key="first").verdict == "unchanged"


def test_a_page_that_cannot_be_decided_fails_alone(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index, bad="b")
        answers = offer_all(watched, sign(index, "a", "b", "c"))
        assert verdicts(answers) == ["new", ValueError, "new"]
        assert watched.jobs == [["a", "b", "c"], ["a"], ["b"], ["c"]]


def test_pages_whose_server_is_away_fail_together(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index, bad="b", error=ConnectionLost)
        assert verdicts(offer_all(watched, sign(index, "a", "b", "c"))) == [ConnectionLost] * 3
        assert watched.jobs == [["a", "b", "c"]]


def test_no_page_waits_for_ever_whatever_the_index_raises(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index, bad="a", error=StopIteration)  # before Python 3.12 no future of asyncio takes it
        (answer,) = offer_all(watched, sign(index, "a"), timeout=0.05)
        assert isinstance(answer, (TimeoutError, RuntimeError))


def test_every_page_gets_an_error_if_the_index_is_closed(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        pages = sign(index, "a", "b")
    assert verdicts(offer_all(_Watched(index), pages)) == [IndexUnusable] * 2


def test_pages_that_get_no_answer_in_time_are_withdrawn(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index, silent="a")
        answers = offer_all(watched, sign(index, "a", "b"), timeout=0.05)
        assert verdicts(answers) == [TimeoutError] * 2
        ((future, _),) = watched.unanswered
        assert future.cancelled()


def test_after_a_failure_pages_do_not_wait_longer_than_before(tmp_path: Path) -> None:
    class FailsTogether(_Watched):
        def submit(self, batch: Sequence[SignedPage], **kwargs: Any) -> Future[list[Decision]]:
            self._bad = batch[0].key if len(batch) > 1 else ""
            future = super().submit(batch, **kwargs)
            if [page.key for page in batch] == ["a"]:  # however busy the machine is
                wait([future])
            return future

    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = FailsTogether(index, silent="b")
        answers = offer_all(watched, sign(index, "a", "b"), timeout=0.05)
        assert verdicts(answers) == ["new", TimeoutError]


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_the_claim_of_a_page_that_is_abandoned_at_any_time_is_released(tmp_path: Path, turns: int) -> None:
    async def offer() -> None:
        offers = Offers(cast("Any", watched), timeout=30, count_coming=lambda: 3)
        tasks = [asyncio.create_task(offers.decide(page)) for page in pages]
        await asyncio.sleep(0)
        ((future, batch),) = watched.unanswered
        assert future.set_running_or_notify_cancel()
        future.set_result(index.submit(batch, claim=True).result())
        for _ in range(turns):
            await asyncio.sleep(0)
        cancelled = [task.cancel() for task in tasks]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(5):
            await asyncio.sleep(0)
        handled = [outcome.key for outcome in outcomes if isinstance(outcome, Decision)]
        assert sorted([*handled, *watched.released]) == ["a", "b", "c"]
        assert len(handled) == cancelled.count(False)

    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index, silent="a")
        pages = sign(index, "a", "b", "c")
        asyncio.run(asyncio.wait_for(offer(), 60))


def test_a_page_that_is_abandoned_before_it_is_offered_is_not_offered(tmp_path: Path) -> None:
    async def offer() -> None:
        offers = Offers(cast("Any", watched), timeout=30, count_coming=lambda: 2)
        first = asyncio.create_task(offers.decide(pages[0]))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        assert (await offers.decide(pages[1])).passes

    with Deduplicator.open(tmp_path, CONFIG) as index:
        watched = _Watched(index)
        pages = sign(index, "a", "b")
        asyncio.run(asyncio.wait_for(offer(), 60))
        assert watched.jobs == [["b"]]


# What comes after their decisions


def run(function: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(function, 30))


def no_page_was_released(answer: object) -> None:
    raise AssertionError(answer)


def test_as_many_pages_continue_in_a_turn_as_take_a_fiftieth_of_a_second() -> None:
    async def go_on(page_seconds: float, expected: int) -> None:
        handled: list[asyncio.Future[int]] = []
        turns = Turns[int](no_page_was_released, clock=lambda: page_seconds * sum(page.done() for page in handled))
        handled += [asyncio.get_running_loop().create_future() for _ in range(400)]
        for number, page in enumerate(handled):
            turns.resume(page, number)
        while not handled[300].done():
            await asyncio.sleep(0)
        before = sum(page.done() for page in handled)
        await asyncio.sleep(0)
        assert sum(page.done() for page in handled) == before + expected
        while not handled[-1].done():
            await asyncio.sleep(0)
        for _ in range(3):  # pages that come together after a pause
            await asyncio.sleep(0)
            later_pages = [asyncio.get_running_loop().create_future() for _ in range(50)]
            handled += later_pages
            for number, page in enumerate(later_pages):
                turns.resume(page, number)
            while not later_pages[-1].done():
                before = sum(page.done() for page in later_pages)
                await asyncio.sleep(0)
                assert sum(page.done() for page in later_pages) <= before + expected

    run(go_on(0.0048, 4))
    run(go_on(0.0195, 1))
    run(go_on(0.1, 1))


def test_pages_continue_even_if_an_answer_cannot_be_taken_back() -> None:
    errors = list[str]()

    def fail(answer: int) -> None:
        raise ValueError(answer)

    async def go_on() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(str(context["exception"])))
        turns = Turns(fail)
        pages = [loop.create_future() for _ in range(3)]
        for number, page in enumerate(pages):
            turns.resume(page, number)
        pages[1].cancel()
        assert await pages[2] == 2
        await asyncio.sleep(0)

    run(go_on())
    assert errors == ["1"]
