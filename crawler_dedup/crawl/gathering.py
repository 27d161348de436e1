"""Pages of a crawl that are ready at nearly the same time are offered together.

A transaction of its own costs a page more processor time than the decision: a commit, and a turn of the writing thread and
of the event loop.
"""

from __future__ import annotations

import asyncio
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
