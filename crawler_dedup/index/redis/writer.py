"""The thread that changes an index on a server: everything that waits goes into one transaction.

A transaction is optimistic. It reads, decides, and one script then makes its changes if what it has read is still so; if
not, its jobs run again, with what has changed. So a job must be fit to run several times.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.connection import ConnectionLost, ConnectionMoved
from crawler_dedup.index.redis.pages import PagesOnServer

_T = TypeVar("_T")
_Job = Callable[[PagesOnServer], Any]


class _Waiting(NamedTuple):
    """A job, the future of its result, and about how many pages it is."""

    job: _Job
    future: Future[Any]
    size: int


_PATIENCE = 0.1
"""Seconds that a job waits that is not urgent."""
_AWAKE_SECONDS = 1.0
"""Seconds after a transaction in which the thread looks for jobs by itself: one that is not urgent need not wake it then."""
MOST_JOBS = 64
"""Jobs of one transaction: one that takes long is outdated more often when it ends."""
MOST_PAGES = 250
"""Pages of one transaction, unless they are those of a single job: the server does nothing else while it runs the script."""
_MOST_ATTEMPTS = 200
_MOST_MOVES = 5
"""Times that a transaction follows its shard from one node of a cluster to another."""
_CONFIRM_SECONDS = 0.5
"""Seconds after which copies of the index are waited for, even if other jobs wait."""
_RETRY_SECONDS = 0.5
"""Seconds for which jobs are refused after the server was found to be away."""


class _Outcome(NamedTuple):
    """What a job has returned, and whether all copies of the index must have its changes before that is answered."""

    result: Any
    needs_copies: bool


class Writer:
    """Runs jobs in a thread, in the order in which they came.

    Args:
        client: which this thread alone uses from now on.
        begin: makes a transaction.
    """

    def __init__(self, client: Client, begin: Callable[[Client], PagesOnServer]) -> None:
        self._client = client
        self._begin = begin
        self._process = os.getpid()
        self._waiting: deque[_Waiting] = deque()
        self._most_pages = MOST_PAGES  # fewer while others often change what is read
        self._due = math.inf
        self._looks_at = -math.inf  # when the thread looks for jobs, unless it is woken before
        self._using = threading.Lock()  # of what is noted of jobs
        self._awoken = threading.Lock()  # released to wake the thread
        self._awoken.acquire()
        self._closing = False
        self._unconfirmed: list[tuple[Future[Any], Any]] = []
        self._confirm_at = math.inf
        self._away_until = 0.0
        self._why_away = ConnectionLost()
        # A daemon: the process can end even while a server does not answer.
        self._thread = threading.Thread(target=self._run, name="crawler-dedup-server", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[PagesOnServer], _T], *, urgent: bool = True, size: int = 1) -> Future[_T]:
        """Run *job*, which is about *size* pages, in the next transaction; its future is done once that is stored.

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
        """Finish what waits, then end the thread, unless that takes longer than *timeout*."""
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
            if self._unconfirmed and (not self._waiting or time.monotonic() > self._confirm_at):
                self._confirm()
        self._client.close()

    def _wait(self) -> bool:
        """Wait until jobs are due; return whether there are any. There are none when the index was closed."""
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
        """Make transactions of *jobs* and tell the futures. Where a job fails, run them one by one."""
        while jobs:
            try:
                outcomes = self._attempt_anywhere(jobs)
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
            for waiting, outcome in zip(jobs, outcomes, strict=False):
                self._answer(waiting.future, outcome)
            jobs = jobs[len(outcomes) :]
            if time.monotonic() > self._confirm_at:
                self._confirm()

    def _answer(self, future: Future[Any], outcome: _Outcome) -> None:
        if outcome.needs_copies:
            self._confirm_at = min(self._confirm_at, time.monotonic() + _CONFIRM_SECONDS)
            self._unconfirmed.append((future, outcome.result))
        else:
            future.set_result(outcome.result)

    def _confirm(self) -> None:
        """Answer what was held back until all copies of the index have it."""
        answers, self._unconfirmed, self._confirm_at = self._unconfirmed, [], math.inf
        try:
            self._client.confirm()
        except IndexUnusable as error:
            for future, _ in answers:
                future.set_exception(error)
        else:
            for future, result in answers:
                future.set_result(result)

    def _attempt_anywhere(self, jobs: list[_Waiting]) -> list[_Outcome]:
        """As :meth:`_attempt`; follow the shard where another node of a cluster serves it."""
        for _ in range(_MOST_MOVES):
            with suppress(ConnectionMoved):
                return self._attempt(jobs)
        return self._attempt(jobs)

    def _attempt(self, jobs: list[_Waiting]) -> list[_Outcome]:
        """Run the first of *jobs* until nothing that they have read has changed meanwhile.

        Where others change it again and again, take fewer at once: who decides about many pages would never be as quick as
        they are.
        """
        if time.monotonic() < self._away_until:
            raise self._why_away
        for attempt in range(_MOST_ATTEMPTS):
            self._client.prepare()
            pages = self._begin(self._client)
            pages.most_pages = self._most_pages
            first = jobs[: _count_first(jobs, self._most_pages)]
            try:
                outcomes = [_run_job(waiting.job, pages) for waiting in first]
            except ConnectionLost:
                raise
            except Exception:
                if self._client.commit(pages.what_was_read()) is not None:
                    raise  # the error does not come from cells of which one was changed between two reads
                continue
            if self._client.commit(pages.collect()) is not None:
                self._most_pages = min(2 * self._most_pages, MOST_PAGES)
                return outcomes
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


def _run_job(job: _Job, pages: PagesOnServer) -> _Outcome:
    pages.has_required_copies = False
    result = job(pages)
    return _Outcome(result, pages.has_required_copies)
