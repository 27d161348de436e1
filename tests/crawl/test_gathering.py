"""Pages that are ready at nearly the same time are offered together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from crawler_dedup.crawl.gathering import Gathering

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
