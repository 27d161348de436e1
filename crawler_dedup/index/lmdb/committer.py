"""The writing thread of an environment, which commits all waiting jobs in one transaction.

LMDB makes a commit durable with one fsync, which is nearly the whole cost of a small commit. So the thread takes the
write lock first and the jobs after that: all jobs that arrive while another process writes or the disk is busy share the
next fsync. A job can be withdrawn (``Future.cancel``) until the thread has the lock. A job that is not urgent waits a
moment, to share the fsync of other jobs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import lmdb

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.jobs import JobThread
from crawler_dedup.index.storage import NO_NEEDS, Needs

_READERS_INTERVAL = 60.0
_PROMPT = 0.01
"""If the lock was awaited for more than these seconds, the files are checked again before they are used."""
_STUCK = 5.0
"""Seconds for which another process may hold the write lock before urgent jobs are refused."""
_Run = Callable[[lmdb.Transaction], Any]


class Committer(JobThread):
    """The writing thread of an environment."""

    def __init__(
        self,
        env: lmdb.Environment,
        explain: Callable[[Exception], Exception] = lambda error: error,
        require: Callable[[], None] = lambda: None,
        complete: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the thread.

        Args:
            explain: converts an error of LMDB to the error that futures get.
            require: raises an error if *env* must not be used; called before and in each transaction.
            complete: makes the file as long as the last transaction says; called at the beginning of each transaction.
        """
        super().__init__("crawler-dedup-committer", explain)
        self._env = env
        self._require = require
        self._complete = complete
        self._readers_checked = time.monotonic()
        self._locked_out_since = math.inf
        self._thread.start()

    def submit(self, job: _Run, *, urgent: bool = True, needs: Needs = NO_NEEDS) -> Future[Any]:
        """Run *job* in the next transaction; the future is done once the transaction is on disk.

        Raises:
            IndexUnusable: the index is closed; or *job* is urgent and another process has held the write lock for long.
        """
        if urgent and time.monotonic() > self._locked_out_since + _STUCK:
            raise IndexUnusable(
                "Another process has been writing to the index for too long: wait until it has ended, or end it."
            )
        return super().submit(job, urgent=urgent, needs=needs)

    def _attempt(self) -> list[Any]:
        self._clear_dead_readers()
        self._locked_out_since = time.monotonic()
        try:
            self._require()
            with self._env.begin(write=True, buffers=True) as txn:
                if time.monotonic() - self._locked_out_since > _PROMPT:
                    self._require()  # again, because the lock was awaited
                self._locked_out_since = math.inf
                self._complete()
                results = [job.run(txn) for job in self._jobs()]
                self._require()
        finally:
            self._locked_out_since = math.inf
        return results

    def _end(self) -> None:
        with suppress(lmdb.Error):  # the disk fails: nobody waits for an answer
            self._env.sync(True)  # the oldest versions take no keyword

    def _clear_dead_readers(self) -> None:
        """Clear the readers of killed processes: otherwise the pages that they read are never reused, and the file grows."""
        if time.monotonic() > self._readers_checked + _READERS_INTERVAL:
            self._readers_checked = time.monotonic()
            with suppress(IndexUnusable, lmdb.Error):
                self._require()
                self._env.reader_check()
