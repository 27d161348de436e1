"""Pages that are ready at nearly the same time are offered together, and go on one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest

from crawler_dedup.crawl.gathering import Gathering, Turns

NEVER_ALL = 1000


def run(function: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(function, 30))


def test_a_page_waits_for_no_other_where_no_other_may_come() -> None:
    async def offer() -> None:
        for coming in (0, 1):
            with pytest.raises(StopIteration):  # it has not waited
                Gathering(lambda: coming).wait().send(None)  # noqa: B023  (called at once)

    run(offer())


def test_pages_wait_until_the_last_one_that_may_come_is_there() -> None:
    async def offer() -> None:
        gathering = Gathering(lambda: 3)
        first, second = asyncio.create_task(gathering.wait()), asyncio.create_task(gathering.wait())
        await asyncio.sleep(0)
        assert not first.done()
        assert not second.done()
        await gathering.wait()
        await asyncio.sleep(0)
        assert first.done()
        assert second.done()

    run(offer())


def test_pages_whose_others_do_not_come_are_offered_together_and_soon() -> None:
    offered: list[int] = []

    async def offer_one(gathering: Gathering, number: int) -> None:
        await gathering.wait()
        offered.append(number)

    async def offer() -> None:
        gathering = Gathering(lambda: NEVER_ALL)
        for _ in range(2):  # also the next ones
            offered.clear()
            waiting = [asyncio.create_task(offer_one(gathering, number)) for number in range(5)]
            await waiting[0]
            await asyncio.sleep(0)
            assert offered == [0, 1, 2, 3, 4]

    run(offer())


def test_a_page_that_is_given_up_holds_up_no_other() -> None:
    async def offer() -> None:
        gathering = Gathering(lambda: NEVER_ALL)
        given_up, other = asyncio.create_task(gathering.wait()), asyncio.create_task(gathering.wait())
        await asyncio.sleep(0)
        given_up.cancel()
        await other
        assert given_up.cancelled()
        await gathering.wait()

    run(offer())


# What comes after their decisions


async def _note_turns(turns: Turns, number: int, gone: list[int]) -> None:
    await turns.wait()
    gone.append(number)


def test_a_page_alone_waits_for_no_turn() -> None:
    async def go_on() -> None:
        turns = Turns()
        for _ in range(3):
            with pytest.raises(StopIteration):  # it has not waited
                turns.wait().send(None)
            await asyncio.sleep(0)

    run(go_on())


def test_pages_go_on_in_order_one_in_each_turn_of_the_loop() -> None:
    async def go_on() -> None:
        turns, gone = Turns(), list[int]()
        for _ in range(2):  # also the next ones
            gone.clear()
            pages = [asyncio.create_task(_note_turns(turns, number, gone)) for number in range(5)]
            lengths = list[int]()
            while len(gone) < len(pages):
                await asyncio.sleep(0)
                lengths.append(len(gone))
            assert gone == [0, 1, 2, 3, 4]
            steps = [after - before for before, after in pairwise([0, *lengths])]
            assert max(steps) == 1

    run(go_on())


def test_a_page_that_is_given_up_in_front_of_others_takes_no_turn() -> None:
    async def go_on() -> None:
        turns, gone = Turns(), list[int]()
        pages = [asyncio.create_task(_note_turns(turns, number, gone)) for number in range(4)]
        await asyncio.sleep(0)
        pages[1].cancel()
        pages[2].cancel()
        await asyncio.wait(pages)
        assert gone == [0, 3]
        await turns.wait()

    run(go_on())
