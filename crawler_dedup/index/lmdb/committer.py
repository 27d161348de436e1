"""The writing thread of an environment, which commits all waiting jobs in one transaction.

LMDB makes a commit durable with one fsync, which is nearly the whole cost of a small commit. So the thread takes the
write lock first and the jobs after that: all jobs that arrive while another process writes or the disk is busy share the
next fsync. A job can be withdrawn (``Future.cancel``) until the thread has the lock. A job that is not urgent waits a
moment, to share the fsync of other jobs.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

import lmdb

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.storage import SharedState

_T = TypeVar("_T")
_READERS_INTERVAL = 60.0
_PATIENCE = 0.1
"""Seconds that a job waits if it is not urgent."""
_PROMPT = 0.01
"""If the lock was awaited for more than these seconds, the files are checked again before they are used."""
_STUCK = 5.0
"""Seconds for which another process may hold the write lock before urgent jobs are refused."""
_MANY = 1000
"""Number of waiting jobs from which on withdrawn jobs are removed from the queue."""
_Job = Callable[[lmdb.Transaction], Any]


class NoCommitter:
    """A committer that refuses all jobs, for an index that was opened to be read only."""

    def submit(self, job: Callable[[lmdb.Transaction], _T], *, urgent: bool = True) -> Future[_T]:  # noqa: ARG002
        """Raise :class:`IndexUnusable`."""
        raise IndexUnusable("The index is open to be read only.")

    def close(self, timeout: float) -> bool:  # noqa: ARG002
        """Return ``True``: nothing waits."""
        return True

    def refuse_in_child(self) -> None:
        """Do nothing: all jobs are refused."""


class Committer:
    """A thread that runs write jobs in the order in which they were submitted."""

    def __init__(
        self,
        env: lmdb.Environment,
        explain: Callable[[Exception], Exception] = lambda error: error,
        require: Callable[[], None] = lambda: None,
        follow_up: Callable[[], _Job | None] = lambda: None,
        shared: SharedState | None = None,
    ) -> None:
        """Start the thread.

        Args:
            explain: converts an error of LMDB to the error that futures get.
            require: raises an error if *env* must not be used; called before and in each transaction.
            follow_up: returns after each commit a job that must be done in a transaction of its own, or ``None``.
            shared: what the jobs of a transaction share.
        """
        self._env = env
        self._explain = explain
        self._require = require
        self._follow_up = follow_up
        self._shared = SharedState() if shared is None else shared
        self._readers_checked = time.monotonic()
        self._waiting: deque[tuple[_Job, Future[Any]]] = deque()
        self._clear_at = _MANY
        self._due = math.inf
        self._locked_out_since = math.inf
        self._changed = threading.Condition()
        self._closing = False
        # A daemon thread: this process can end even while another process holds the write lock.
        self._thread = threading.Thread(target=self._run, name="crawler-dedup-committer", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[lmdb.Transaction], _T], *, urgent: bool = True) -> Future[_T]:
        """Run *job* in the next transaction; the future is done once the transaction is on disk.

        Raises:
            IndexUnusable: the index is closed; or *job* is urgent and another process has held the write lock for long.
        """
        if urgent and time.monotonic() > self._locked_out_since + _STUCK:
            raise IndexUnusable("The index is locked by another process.")
        due = time.monotonic() + (0 if urgent else _PATIENCE)
        future: Future[_T] = Future()
        with self._changed:
            if self._closing:
                raise IndexUnusable("The index is closed, or was opened by a process of which this is a fork.")
            if len(self._waiting) >= self._clear_at:
                self._clear_withdrawn()
            self._waiting.append((job, future))
            if due < self._due:
                self._due = due
                self._changed.notify()
        return future

    def _clear_withdrawn(self) -> None:
        """Remove withdrawn jobs from the queue: while a disk hangs, each page leaves a job there, with its data."""
        self._waiting = deque((job, future) for job, future in self._waiting if not future.cancelled())
        self._clear_at = max(_MANY, 2 * len(self._waiting))

    def close(self, timeout: float) -> bool:
        """Finish the waiting jobs and end the thread.

        Returns:
            Whether the thread has ended; it has not if it still waits for the write lock after *timeout* seconds.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def refuse_in_child(self) -> None:
        """Refuse jobs in a forked child: the thread has stayed with the parent process."""
        self._changed = threading.Condition()
        self._closing = True

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closing and (seconds_left := self._due - time.monotonic()) > 0:
                    self._changed.wait(None if seconds_left == math.inf else seconds_left)
                if not self._waiting:
                    return
            self._commit(None)
            self._do_follow_up()
            self._clear_dead_readers()

    def _commit(self, jobs: list[tuple[_Job, Future[Any]]] | None) -> None:
        """Commit *jobs* (``None``: all that wait once the lock is held) and set the results of the futures."""
        results = []
        self._shared.begin()
        self._locked_out_since = time.monotonic()
        try:
            self._require()
            with self._env.begin(write=True, buffers=True) as txn:
                if time.monotonic() - self._locked_out_since > _PROMPT:
                    self._require()  # again, because the lock was awaited
                self._locked_out_since = math.inf
                if jobs is None:
                    jobs = self._take()
                results = [job(txn) for job, _ in jobs]
                self._shared.finish()
                self._require()
        except Exception as error:
            self._locked_out_since = math.inf
            self._handle_failure(jobs if jobs is not None else self._take(), error)
            return
        for (_, future), result in zip(jobs, results, strict=True):
            future.set_result(result)

    def _do_follow_up(self) -> None:
        with suppress(IndexUnusable, lmdb.Error):  # the next job gets the error
            job = self._follow_up()
            if job is not None:
                self._commit([(job, Future())])

    def _clear_dead_readers(self) -> None:
        """Clear the readers of killed processes: otherwise the pages that they read are never reused, and the file grows."""
        if time.monotonic() > self._readers_checked + _READERS_INTERVAL:
            self._readers_checked = time.monotonic()
            with suppress(IndexUnusable, lmdb.Error):
                self._require()
                self._env.reader_check()

    def _take(self) -> list[tuple[_Job, Future[Any]]]:
        with self._changed:
            jobs = list(self._waiting)
            self._waiting.clear()
            self._clear_at = _MANY
            self._due = math.inf
        return [(job, future) for job, future in jobs if future.set_running_or_notify_cancel()]

    def _handle_failure(self, jobs: list[tuple[_Job, Future[Any]]], error: Exception) -> None:
        """Fail a single job; commit several one by one, so that a bad job does not fail the others."""
        if len(jobs) == 1:
            with suppress(Exception):  # whatever happens, the future must get an answer
                error = self._explain(error)
            jobs[0][1].set_exception(error)
            return
        for single in jobs:
            self._commit([single])
