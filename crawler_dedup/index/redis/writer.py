"""The thread that changes an index on a server: jobs that wait share one transaction.

Transactions are optimistic. A transaction reads and decides, and then one script makes its changes, unless anything that it
has read was changed meanwhile. If so, its jobs run again, with the new contents. So it must be possible to run a job
several times.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.storage import ServerStorage
from crawler_dedup.index.storage import SharedState
from crawler_dedup.index.tables import Tables

_T = TypeVar("_T")
_Job = Callable[[Tables], Any]


class _Waiting(NamedTuple):
    """A job, the future of its result, and the approximate number of pages that it is about."""

    job: _Job
    future: Future[Any]
    size: int


_PATIENCE = 0.1
"""Seconds for which a job that is not urgent waits for others at most."""
_AWAKE_SECONDS = 1.0
"""Seconds after a transaction in which the thread looks for jobs by itself: those that are not urgent need not wake it."""
MOST_JOBS = 64
"""Maximum number of jobs of a transaction: a longer transaction is outdated more often when it ends."""
MOST_PAGES = 250
"""Maximum number of pages of a transaction of several jobs: the server does nothing else while it runs the script."""
_MOST_ATTEMPTS = 200
_RETRY_SECONDS = 0.5
"""Seconds for which jobs fail at once after the server was found to be away."""


class Writer:
    """Runs jobs in a thread, in the order in which they were submitted.

    Args:
        client: the client, which only this thread uses from now on.
        begin: returns a new transaction of a client.
        make_tables: returns the tables in a transaction.
    """

    def __init__(
        self,
        client: Client,
        begin: Callable[[Client], ServerStorage],
        make_tables: Callable[[ServerStorage, SharedState], Tables],
    ) -> None:
        self._client = client
        self._begin = begin
        self._make_tables = make_tables
        self._shared = SharedState()
        self._process = os.getpid()
        self._waiting: deque[_Waiting] = deque()
        self._most_pages = MOST_PAGES  # fewer while others often change the cells that are read
        self._due = math.inf
        self._looks_at = -math.inf  # when the thread looks for jobs, unless it is woken before
        self._using = threading.Lock()  # protects the attributes about waiting jobs
        self._awoken = threading.Lock()  # released to wake the thread
        self._awoken.acquire()
        self._closing = False
        self._away_until = 0.0
        self._why_away = ConnectionLost()
        # A daemon: the process can end even while a server does not answer.
        self._thread = threading.Thread(target=self._run, name="crawler-dedup-server", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[Tables], _T], *, urgent: bool = True, size: int = 1) -> Future[_T]:
        """Run *job*, which is about *size* pages, in a transaction; its future is done once the changes are stored.

        Raises:
            IndexUnusable: the index is closed.
        """
        if self._process != os.getpid():
            raise IndexUnusable("The index was opened by a process of which this is a fork.")
        future: Future[_T] = Future()
        with self._using:
            if self._closing:
                raise IndexUnusable("The index is closed.")
            self._waiting.append(_Waiting(job, future, size))
            due = time.monotonic() + (0 if urgent else _PATIENCE)
            self._due = min(self._due, due)
            if due < self._looks_at:
                self._wake_up()
        return future

    def _wake_up(self) -> None:
        self._looks_at = -math.inf
        if self._awoken.locked():
            self._awoken.release()

    def close(self, timeout: float) -> None:
        """Finish the waiting jobs and end the thread; wait for this for at most *timeout* seconds."""
        if self._process != os.getpid():
            return
        with self._using:
            self._closing = True
            self._wake_up()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            if not self._wait():
                break
            jobs = self._take()
            if jobs:
                self._commit(jobs)
        self._client.close()

    def _wait(self) -> bool:
        """Wait until jobs are due or the index is closed; return whether there are any jobs."""
        awake_until = time.monotonic() + _AWAKE_SECONDS
        while True:
            with self._using:
                now = time.monotonic()
                if self._closing or now >= self._due:
                    self._looks_at = -math.inf
                    return bool(self._waiting)
                self._looks_at = looks_at = min(self._due, now + _PATIENCE) if now < awake_until else self._due
            self._awoken.acquire(timeout=-1 if looks_at == math.inf else looks_at - now)

    def _take(self) -> list[_Waiting]:
        with self._using:
            jobs = [self._waiting.popleft() for _ in range(_count_first(self._waiting, self._most_pages))]
            self._due = 0 if self._waiting else math.inf
        return [waiting for waiting in jobs if waiting.future.set_running_or_notify_cancel()]

    def _commit(self, jobs: list[_Waiting]) -> None:
        """Run *jobs* in transactions and set the results of their futures. If a job fails, run them one by one."""
        while jobs:
            try:
                results = self._attempt(jobs)
            except ConnectionLost as error:
                if time.monotonic() >= self._away_until:
                    self._away_until, self._why_away = time.monotonic() + _RETRY_SECONDS, error
                for waiting in jobs:
                    waiting.future.set_exception(error)
                return
            except Exception as error:
                if len(jobs) == 1:
                    jobs[0].future.set_exception(error)
                    return
                for single in jobs:
                    self._commit([single])
                return
            for waiting, result in zip(jobs, results, strict=False):
                waiting.future.set_result(result)
            jobs = jobs[len(results) :]

    def _attempt(self, jobs: list[_Waiting]) -> list[Any]:
        """Run the first of *jobs* until nothing that they have read was changed meanwhile; return their results.

        If others change it again and again, fewer jobs are taken at a time: a transaction about many pages might never end
        before the next change.
        """
        if time.monotonic() < self._away_until:
            raise self._why_away
        for attempt in range(_MOST_ATTEMPTS):
            self._client.prepare()
            self._shared.begin()
            storage = self._begin(self._client)
            storage.most_pages = self._most_pages
            tables = self._make_tables(storage, self._shared)
            first = jobs[: _count_first(jobs, self._most_pages)]
            try:
                results = [waiting.job(tables) for waiting in first]
                self._shared.finish()
            except ConnectionLost:
                raise
            except Exception:
                if self._client.commit(storage.what_was_read()):
                    raise  # the cells are of one state, so the error is not due to a change between two reads
                continue
            if self._client.commit(storage.collect()):
                self._most_pages = min(2 * self._most_pages, MOST_PAGES)
                return results
            if attempt:
                size = sum(waiting.size for waiting in first)
                self._most_pages = max(min(self._most_pages, size) // 2, 1)
        raise IndexUnusable(f"The index changed {_MOST_ATTEMPTS} times while a page was looked at.")


def _count_first(jobs: Iterable[_Waiting], most_pages: int) -> int:
    """Return how many of *jobs* are run in one transaction: at least one, if there are any."""
    number = pages = 0
    for waiting in islice(jobs, MOST_JOBS):
        pages += waiting.size
        if number and pages > most_pages:
            break
        number += 1
    return number
