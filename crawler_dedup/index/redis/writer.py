"""The thread that changes an index on a server: jobs that wait share one transaction.

Transactions are optimistic. A transaction reads and decides, and then one script makes its changes, unless anything that it
has read was changed meanwhile. If so, its jobs run again, with the new contents. So it must be possible to run a job
several times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index.jobs import Job, JobThread
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.storage import ServerStorage
from crawler_dedup.index.runs import Alive
from crawler_dedup.index.transaction import Transaction

MOST_JOBS = 64
"""Maximum number of jobs of a transaction: a longer transaction is outdated more often when it ends."""
MOST_PAGES = 250
"""Maximum number of pages of a transaction of several jobs: the server does nothing else while it runs the script."""
_MOST_ATTEMPTS = 200
_RETRY_SECONDS = 0.5
"""Seconds for which jobs fail at once after the server was found to be unavailable."""


class Writer(JobThread):
    """The thread that changes an index on a server.

    Args:
        client: the client, which only this thread uses from now on.
        begin: returns a new transaction of a client.
        make_transaction: returns a transaction on a storage.
    """

    def __init__(
        self,
        client: Client,
        begin: Callable[[Client], ServerStorage],
        make_transaction: Callable[[ServerStorage, Alive], Transaction],
    ) -> None:
        super().__init__("crawler-dedup-server")
        self._client = client
        self._begin = begin
        self._make_transaction = make_transaction
        self._alive: Alive = {}
        self._most_pages = MOST_PAGES  # fewer while others often change the cells that are read
        self._away_until = 0.0
        self._why_away = ConnectionLost()
        self._start()

    def _end(self) -> None:
        self._client.close()

    def _write(self) -> None:
        self._commit(self._take(lambda waiting: _count_first(waiting, self._most_pages)))

    def _commit(self, jobs: Sequence[Job]) -> None:
        while jobs:
            try:
                results = self._attempt(jobs)
            except ConnectionLost as error:
                if time.monotonic() >= self._away_until:
                    self._away_until, self._why_away = time.monotonic() + _RETRY_SECONDS, error
                for job in jobs:
                    job.future.set_exception(error)
                return
            except msgspec.DecodeError as error:
                self._fail(jobs, self._client.damaged_error(error))
                return
            except Exception as error:
                self._fail(jobs, error)
                return
            for job, result in zip(jobs, results, strict=False):
                job.future.set_result(result)
            jobs = jobs[len(results) :]

    def _attempt(self, jobs: Sequence[Job]) -> list[Any]:
        """Run the first of *jobs* until nothing that they have read was changed meanwhile; return their results.

        If others change it again and again, fewer jobs are taken at a time: a transaction about many pages might never end
        before the next change.
        """
        if time.monotonic() < self._away_until:
            raise self._why_away
        for attempt in range(_MOST_ATTEMPTS):
            self._client.prepare()
            self._alive.clear()
            storage = self._begin(self._client)
            storage.most_pages = self._most_pages
            txn = self._make_transaction(storage, self._alive)
            first = jobs[: _count_first(jobs, self._most_pages)]
            try:
                results = [job.run(txn) for job in first]
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
                size = sum(job.size for job in first)
                self._most_pages = max(min(self._most_pages, size) // 2, 1)
        raise IndexUnusable(f"The index changed {_MOST_ATTEMPTS} times while a page was being decided.")


def _count_first(jobs: Iterable[Job], most_pages: int) -> int:
    """Return how many of *jobs* are run in one transaction: at least one, if there are any."""
    number = pages = 0
    for job in islice(jobs, MOST_JOBS):
        pages += job.size
        if number and pages > most_pages:
            break
        number += 1
    return number
