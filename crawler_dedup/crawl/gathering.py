"""Pages of a crawl that are ready at nearly the same time are offered together, and go on one after the other.

A transaction of its own costs a page more processor time than the decision: a commit, and a turn of the writing thread and
of the event loop. But if all callbacks of pages that were offered together ran in one turn of the event loop, nothing else
would happen meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

_SECONDS = 0.01


class Gathering:
    """Lets pages wait for each other. Belongs to one event loop.

    Args:
        count_coming: returns how many pages may come, those that wait already among them.
    """

    def __init__(self, count_coming: Callable[[], int]) -> None:
        self._count_coming = count_coming
        self._waiting = 0
        self._ready = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self) -> None:
        """Wait for other pages: a hundredth of a second, or until no other may come."""
        self._waiting += 1
        if self._waiting >= self._count_coming():
            self._let_go()
            return
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._let_go)
        await self._ready.wait()

    def _let_go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._ready.set()
        self._ready, self._waiting = asyncio.Event(), 0


class Turns:
    """Lets pages go on one after the other, one in each turn of the event loop. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False  # by a page that goes on in this turn of the loop

    async def wait(self) -> None:
        """Wait for a turn of the loop in which no other page goes on, behind those that wait already."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._let_next_go, loop)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _let_next_go(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # as that of a page is that was given up
                turn.set_result(None)
                loop.call_soon(self._let_next_go, loop)
                return
        self._is_taken = False
