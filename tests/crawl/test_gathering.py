"""Pages that are ready at nearly the same time are offered together, and go on a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from crawler_dedup.crawl.offers import Gathering, Turns

NEVER_ALL = 1000


def run(function: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(function, 30))


def test_a_page_does_not_wait_if_no_other_may_come() -> None:
    for coming in (0, 1):
        offered = list[list[int]]()
        Gathering(lambda: coming, offered.append).add(1)  # noqa: B023  (called at once)
        assert offered == [[1]]


def test_pages_wait_until_the_last_expected_one_has_come() -> None:
    async def offer() -> None:
        offered = list[list[int]]()
        gathering = Gathering(lambda: 3, offered.append)
        gathering.add(1)
        gathering.add(2)
        await asyncio.sleep(0)
        assert offered == []
        gathering.add(3)
        assert offered == [[1, 2, 3]]
        gathering.add(4)
        assert offered == [[1, 2, 3]]

    run(offer())


def test_pages_whose_expected_companions_do_not_come_are_soon_offered_together() -> None:
    async def offer() -> None:
        offered = asyncio.Queue[list[int]]()
        gathering = Gathering[int](lambda: NEVER_ALL, offered.put_nowait)
        for _ in range(2):  # also the next ones
            for number in range(5):
                gathering.add(number)
            assert await offered.get() == [0, 1, 2, 3, 4]

    run(offer())


# What comes after their decisions


def no_page_was_given_up(answer: object) -> None:
    raise AssertionError(answer)


def test_a_single_page_waits_for_no_turn_of_the_loop() -> None:
    async def go_on() -> None:
        turns = Turns[int](no_page_was_given_up)
        for number in range(3):
            page = asyncio.get_running_loop().create_future()
            turns.give(page, number)
            assert page.result() == number
            await asyncio.sleep(0)

    run(go_on())


def test_as_many_pages_continue_in_a_turn_as_take_a_fiftieth_of_a_second() -> None:
    async def go_on(page_seconds: float, expected: int) -> None:
        handled: list[asyncio.Future[int]] = []
        turns = Turns[int](no_page_was_given_up, clock=lambda: page_seconds * sum(page.done() for page in handled))
        handled += [asyncio.get_running_loop().create_future() for _ in range(400)]
        for number, page in enumerate(handled):
            turns.give(page, number)
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
                turns.give(page, number)
            while not later_pages[-1].done():
                before = sum(page.done() for page in later_pages)
                await asyncio.sleep(0)
                assert sum(page.done() for page in later_pages) <= before + expected

    run(go_on(0.0048, 4))
    run(go_on(0.0195, 1))
    run(go_on(0.1, 1))


def test_the_answer_of_an_abandoned_page_is_taken_back_and_takes_no_turn() -> None:
    async def go_on() -> None:
        taken_back = list[int]()
        turns = Turns(taken_back.append)
        pages = [asyncio.get_running_loop().create_future() for _ in range(4)]
        for number, page in enumerate(pages):
            turns.give(page, number)
        pages[1].cancel()
        pages[2].cancel()
        await asyncio.sleep(0)
        assert pages[3].result() == 3
        await asyncio.sleep(0)
        assert taken_back == [1, 2]

    run(go_on())


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
            turns.give(page, number)
        pages[1].cancel()
        assert await pages[2] == 2
        await asyncio.sleep(0)

    run(go_on())
    assert errors == ["1"]
