"""Outages of the server of an index: a crawl waits until the server answers again, unless the outage lasts too long.

The outage is timed, not the page: however many pages come during an outage, all of them pass once it has lasted for
``DEDUP_INDEX_WAIT`` seconds. A page that waits keeps its place among Scrapy's concurrent requests, so that no more pages
than these are downloaded meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.errors import ConnectionLost

_T = TypeVar("_T")
_PAUSE = 0.5
"""Seconds after which a server that is unavailable is asked again."""


class Outages:
    """Lets a crawl wait while the server of its index is unavailable. Belongs to the event loop of the crawl.

    Args:
        is_stopping: returns whether the crawl was interrupted, so that nothing waits any more.

    Attributes:
        seconds: how long an outage may last. 0: nothing waits, as for an index in a directory.
    """

    def __init__(self, seconds: float, monitor: Monitor, is_stopping: Callable[[], bool]) -> None:
        self.seconds = seconds
        self._monitor = monitor
        self._is_stopping = is_stopping
        self._began = 0.0  # when the present outage was noticed, a time of time.monotonic; 0: there is none
        self._has_lasted_too_long = False

    def open(self, open_index: Callable[[], _T]) -> _T:
        """Return the result of *open_index*, which is called repeatedly while the server is unavailable.

        The event loop waits too: Scrapy makes the components of a crawl one after the other, and only an error of a
        component keeps the crawl from starting.

        Raises:
            ConnectionLost: the outage has lasted for too long, or the process was interrupted.
        """
        if not self.seconds:
            return open_index()
        handler = signal.getsignal(signal.SIGINT)
        while True:
            asked = time.monotonic()
            try:
                opened = open_index()
            except ConnectionLost as error:
                deadline = self._record_failure(error)
                was_interrupted = signal.getsignal(signal.SIGINT) != handler  # at Ctrl-C, Scrapy installs another one
                if time.monotonic() >= deadline or was_interrupted:
                    raise
                time.sleep(_PAUSE)
            else:
                self._record_answer(asked)
                return opened

    async def ask(self, question: Callable[[], Awaitable[_T]], before_retry: Callable[[], object], *, pages: int) -> _T:
        """Return the answer to *question*, which is asked repeatedly while the server is unavailable.

        Args:
            before_retry: called before *question* is asked again.
            pages: how many pages wait for the answer.

        Raises:
            ConnectionLost, TimeoutError: the outage has lasted for too long, or the crawl was interrupted.
        """
        deadline = 0.0
        while True:
            asked = time.monotonic()
            try:
                answer = await question()
            except (TimeoutError, ConnectionLost) as error:
                until = self._record_failure(error)
                begins_to_wait, deadline = not deadline, deadline or until
                if time.monotonic() >= deadline:  # until then it waits, also if another outage has begun meanwhile
                    raise
                if begins_to_wait:
                    self._monitor.count("outages/waited", pages)
                await asyncio.sleep(_PAUSE)
                if self._is_stopping():
                    raise
                before_retry()
            except Exception:
                self._record_answer(asked)
                raise
            else:
                self._record_answer(asked)
                return answer

    def _record_failure(self, error: Exception) -> float:
        """Log the beginning of an outage, or that it has lasted for too long. Return the time until which to wait."""
        now = time.monotonic()
        if not self._began:
            self._began, self._has_lasted_too_long = now, False
            self._monitor.count("outages")
            reason = str(error) or "It does not answer."
            message = "The crawl waits for its index, for up to %g seconds. %s"
            self._monitor.warn(message, self.seconds, reason)
        deadline = self._began + self.seconds
        if now >= deadline and not self._has_lasted_too_long:
            self._has_lasted_too_long = True
            message = "The crawl no longer waits for its index, which has been unavailable for %.0f seconds"
            self._monitor.warn(message, now - self._began)
        return deadline

    def _record_answer(self, asked: float) -> None:
        """Log the end of an outage, if the question was *asked* after its beginning."""
        if not self._began or asked < self._began:
            return
        lasted, self._began = time.monotonic() - self._began, 0.0
        if not self._has_lasted_too_long:
            message = "The index answers again after %.0f seconds"
            self._monitor.log_throttled("end of outage", logging.INFO, message, lasted)
