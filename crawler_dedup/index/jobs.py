"""The thread that writes an index: jobs that wait share one transaction."""

from __future__ import annotations

import math
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index.storage import NO_NEEDS, Needs

_T = TypeVar("_T")

WRITE_SECONDS = 30.0
"""Seconds for which a change waits for its transaction."""
_SHARING_SECONDS = 0.1
"""Seconds that a job waits for others at most if it is not urgent."""
_MANY = 1000
"""Number of waiting jobs from which on withdrawn jobs are removed from the queue."""


class Job(NamedTuple):
    """A function to call with a transaction; the future of its result; what it will read."""

    run: Callable[[Any], Any]
    future: Future[Any]
    needs: Needs = NO_NEEDS


def wait_for(future: Future[_T], seconds: float, name: object) -> _T:
    """Return the result of a job on the index *name*; withdraw it if its transaction has not begun after some *seconds*.

    Raises:
        IndexUnusable: it was withdrawn.
    """
    try:
        return future.result(seconds)
    except FutureTimeout:
        if future.cancel():
            raise IndexUnusable(
                f"The index in {name} is being written by another process, or by a long transaction of this one, or its"
                " server does not answer: try again later."
            ) from None
        return future.result()


class JobThread(ABC):
    """A thread that runs write jobs in the order in which they were submitted.

    A job can be withdrawn (``Future.cancel``) until it is taken. Subclasses start the thread once they are complete.

    Args:
        name: name of the thread.
        explain: converts an error to the one that futures get.
    """

    _together = 1 << 30
    """Maximum number of jobs in one transaction."""

    def __init__(self, name: str, explain: Callable[[Exception], Exception] = lambda error: error) -> None:
        self._explain = explain
        self._process = os.getpid()
        self._waiting: deque[Job] = deque()
        self._taken: Sequence[Job] | None = None
        self._clear_at = _MANY
        self._due = math.inf  # when the next transaction begins
        self._using = threading.Condition()  # protects the attributes about waiting jobs, and wakes the thread
        self._is_closing = False
        # A daemon thread: the process can end even while another one holds the write lock, or a server does not answer.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _attempt(self) -> list[Any]:
        """Lock the index, run :meth:`_jobs` in one transaction, and return their results."""

    def _end(self) -> None:  # noqa: B027  (most have nothing to release)
        """Release what only the thread uses. Called when it ends."""

    def submit(self, job: Callable[[Any], Any], *, urgent: bool = True, needs: Needs = NO_NEEDS) -> Future[Any]:
        """Run *job*, which has *needs*, in a transaction; its future is done once its changes are stored.

        A job that is not *urgent* waits a moment, to share the transaction of other jobs.

        Raises:
            IndexUnusable: the index is closed.
        """
        if self._process != os.getpid():
            raise IndexUnusable("The index was opened before this process was forked: open it only after the fork.")
        future: Future[Any] = Future()
        with self._using:
            if self._is_closing:
                raise IndexUnusable("The index is closed.")
            if len(self._waiting) >= self._clear_at:
                self._clear_withdrawn()
            self._waiting.append(Job(job, future, needs))
            due = time.monotonic() + (0 if urgent else _SHARING_SECONDS)
            if due < self._due:
                self._due = due
                self._using.notify()
        return future

    def _clear_withdrawn(self) -> None:
        """Remove withdrawn jobs from the queue: while a disk hangs, each page leaves a job there, with its data."""
        self._waiting = deque(job for job in self._waiting if not job.future.cancelled())
        self._clear_at = max(_MANY, 2 * len(self._waiting))

    def close(self, timeout: float) -> bool:
        """Finish the waiting jobs and end the thread.

        Returns:
            Whether the thread has ended; it has not if it still waits after *timeout* seconds.
        """
        if self._process != os.getpid():
            return True
        with self._using:
            self._is_closing = True
            self._using.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._wait():
            self._commit(None)
        self._end()

    def _commit(self, jobs: Sequence[Job] | None) -> None:
        """Commit *jobs* (``None``: those that wait once the index is locked), and set the results of the futures."""
        self._taken = jobs
        try:
            results = self._attempt()
        except Exception as error:
            with suppress(Exception):  # whatever happens, the futures must get an answer
                error = self._explain(error)
            self._fail(self._jobs(), error)
        else:
            for job, result in zip(self._jobs(), results, strict=True):
                job.future.set_result(result)

    def _wait(self) -> bool:
        """Wait until jobs are due or the index is closed; return whether there are any jobs."""
        with self._using:
            while not self._is_closing and (seconds := self._due - time.monotonic()) > 0:
                self._using.wait(None if seconds == math.inf else seconds)
            return bool(self._waiting)

    def _jobs(self) -> Sequence[Job]:
        """Return the jobs of the transaction. The first call takes those that wait, without those that were withdrawn."""
        if self._taken is None:
            with self._using:
                taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._together))]
                self._clear_at = _MANY
                self._due = 0 if self._waiting else math.inf
            self._taken = [job for job in taken if job.future.set_running_or_notify_cancel()]
        return self._taken

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        """Fail a single job, or all if the server is gone; commit others one by one: a bad job does not fail the rest."""
        for job in jobs:
            if len(jobs) == 1 or isinstance(error, ConnectionLost):
                job.future.set_exception(error)
            else:
                self._commit([job])
