"""Batch index look-ups that become ready together, and resume the waiting pages a few per loop turn.

A transaction for each page would cost more processor time than the decision: a commit, and a turn of the writing thread and
of the event loop. But if all callbacks of pages that were offered together ran in one turn of the event loop, nothing else
would happen meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")
_SECONDS = 0.01
_TURN_SECONDS = 0.02
_WEIGHT = 1 / 16
"""Weight of the latest turn in the average."""


class Gathering(Generic[_T]):
    """Lets pages wait for each other. Belongs to one event loop.

    Args:
        count_coming: returns how many pages may come, including those that wait already.
        pass_on: called with the pages that have waited together.
    """

    def __init__(self, count_coming: Callable[[], int], pass_on: Callable[[list[_T]], None]) -> None:
        self._count_coming = count_coming
        self._pass_on = pass_on
        self._waiting: list[_T] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, page: _T) -> None:
        """Let *page* wait for other pages: for a hundredth of a second, or until no other page may come."""
        coming = self._count_coming()
        self._waiting.append(page)
        if len(self._waiting) >= coming:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        self._pass_on(waiting)


class Turns(Generic[_T]):
    """Gives pages their answers in order, a few in each turn of the event loop. Belongs to one event loop.

    Few pages in a turn keep the loop responsive. Several make the crawl faster: the code and the data of each step of their
    handling stay in the caches of the processor. Therefore as many pages go on in a turn as use a fiftieth of a second of
    the processor together, by the average of the latest pages; at least one.

    Args:
        take_back: called with an answer whose page does not wait any more.
        clock: returns the processor time of the event loop's thread, in seconds.
    """

    def __init__(self, take_back: Callable[[_T], None], clock: Callable[[], float] = time.thread_time) -> None:
        self._take_back = take_back
        self._clock = clock
        self._waiting: deque[tuple[asyncio.Future[_T], _T]] = deque()
        self._is_running = False
        self._page_seconds = _TURN_SECONDS
        self._turn_began = 0.0
        self._pages_of_turn = 0
        self._most_of_turn = 1

    def give(self, page: asyncio.Future[_T], answer: _T) -> None:
        """Give *page* its *answer* in its turn, after the pages that wait already."""
        self._waiting.append((page, answer))
        loop = asyncio.get_running_loop()
        if self._is_running:
            self._answer(loop)
        else:
            self._is_running = True
            self._begin_turn(loop)

    def _begin_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._waiting:
            self._is_running = False
            return
        now = self._clock()
        if self._pages_of_turn:  # what the loop has done since the last turn, it has done for the pages of that turn
            page_seconds = (now - self._turn_began) / self._pages_of_turn
            self._page_seconds += (page_seconds - self._page_seconds) * _WEIGHT
        self._turn_began, self._pages_of_turn = now, 0
        self._most_of_turn = max(1, int(_TURN_SECONDS / max(self._page_seconds, 1e-6)))
        loop.call_soon(self._begin_turn, loop)
        self._answer(loop)

    def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give as many answers as this turn has left."""
        while self._waiting and self._pages_of_turn < self._most_of_turn:
            page, answer = self._waiting.popleft()
            if page.done():
                loop.call_soon(self._take_back, answer)  # the page was given up
            else:
                page.set_result(answer)
                self._pages_of_turn += 1
