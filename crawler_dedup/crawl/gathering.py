"""Pages of a crawl that are ready at nearly the same time are offered together, and go on one after the other.

A transaction for each page would cost more processor time than the decision: a commit, and a turn of the writing thread and
of the event loop. But if all callbacks of pages that were offered together ran in one turn of the event loop, nothing else
would happen meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")
_SECONDS = 0.01


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
        """Let *page* wait for others: for a hundredth of a second, or until no other may come."""
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
    """Gives pages their answers one after the other, one in each turn of the event loop. Belongs to one event loop.

    Args:
        take_back: called with an answer whose page does not wait any more.
    """

    def __init__(self, take_back: Callable[[_T], None]) -> None:
        self._take_back = take_back
        self._waiting: deque[tuple[asyncio.Future[_T], _T]] = deque()
        self._is_running = False

    def give(self, page: asyncio.Future[_T], answer: _T) -> None:
        """Give *page* its *answer* when it is its turn, after those that wait already."""
        self._waiting.append((page, answer))
        if not self._is_running:
            self._is_running = True
            self._answer_next(asyncio.get_running_loop())

    def _answer_next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            page, answer = self._waiting.popleft()
            if not page.done():
                page.set_result(answer)
                loop.call_soon(self._answer_next, loop)
                return
            loop.call_soon(self._take_back, answer)  # the page was given up
        self._is_running = False
