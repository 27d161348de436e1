"""The workers of a crawl (:mod:`crawler_dedup.worker.main`): they sign its pages, and decide about them.

If a worker dies, another one gets the jobs that it has not answered, except for a page on which two have died.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections import deque
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast
from weakref import WeakSet, proxy

from crawler_dedup.config import Config
from crawler_dedup.crawl import workerprocess
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.serveroutages import Outages
from crawler_dedup.crawl.supervision import ENDED, NotSigned, SupervisedWorker, Task
from crawler_dedup.crawl.workerprocess import ChildProcess, take_child
from crawler_dedup.decision import Decision
from crawler_dedup.errors import DedupError, IndexUnusable
from crawler_dedup.system.filelocks import ProcessLock, hold
from crawler_dedup.worker import messages

if TYPE_CHECKING:
    from crawler_dedup.crawl.localworker import LocalWorker

MAX_DEATHS = 5
DEATH_SECONDS = 60.0
"""``MAX_DEATHS`` deaths of workers within this time are too many: none is started for as long."""
_ADDRESS_SECONDS = 4.0
"""Seconds in which the further workers of a crawl finish their jobs, such as storing addresses of duplicates."""
_END_SECONDS = 16.0 + _ADDRESS_SECONDS
"""Seconds for the end of the run and the close. They take up to 15 while another process locks the index."""

_T = TypeVar("_T")
_running: WeakSet[Workers] = WeakSet()


class Workers:
    """The workers of one crawl. Belongs to its event loop.

    Args:
        location: the directory of the index, or the address of its server.
        is_preview: whether they only show what a crawl would decide, and change nothing.

    Attributes:
        monitor: reports what happens.
        run: number of the run of the crawl.
        ready: what the first worker says of the index.
        loop: the event loop of the crawl, once there is a job.
        silence_seconds: seconds without any answer after which a worker that has jobs is replaced.
        stored_until: until when settled pages are stored (:meth:`Deduplicator.set_stored_until`).

    Raises:
        DedupError: a worker cannot be started, or cannot open the index.
    """

    def __init__(
        self, location: str, config: Config, monitor: Monitor, outages: Outages, *, is_preview: bool = False
    ) -> None:
        self.location = location
        self._processes, self._count = config.processes, max(1, config.processes)
        self._is_preview = is_preview
        self.monitor: Monitor = proxy(monitor)  # which holds the crawl: its end must end the workers
        is_fresh = config.fresh and not any(workers.location == location for workers in find_running())
        self._settings = {name: getattr(config, name) for name in messages.SETTINGS} | {"fresh": is_fresh}
        self._numbers = count(1)
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)
        self._resumes = 0.0
        self._supervised: list[SupervisedWorker] = []
        self._lock: ProcessLock | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.silence_seconds = config.timeout + workerprocess.SILENCE_SECONDS
        self.stored_until: float | None = None
        self._begin_run()
        try:
            for number in range(1, self._count + 1):
                self._supervised.append(SupervisedWorker(self, self.start_worker(), number))
            self.ready = self._open(self._supervised[0], outages)
            self._hold_run()
            self._settings |= {"tokenizer": self.ready.tokenizer or config.tokenizer, "fresh": False}
            for worker in self._supervised[1:]:
                self._open(worker, outages)
        except OSError as error:
            self.kill()
            raise _unstartable(str(error)) from error
        except BaseException:
            self.kill()
            raise
        _running.add(self)

    def _begin_run(self) -> None:
        self.run = 0 if self._is_preview else secrets.randbits(32) or 1
        self._offset = time.time() - time.monotonic()

    def _hold_run(self) -> None:
        """Hold the lock by which other processes know that the run is alive, before anything is recorded in it."""
        if self.ready.lock_file:
            try:
                self._lock = hold(Path(self.ready.lock_file))
            except OSError as error:
                raise IndexUnusable(f"The index in {self.location} cannot be written: {error}.") from error

    def start_worker(self) -> ChildProcess | LocalWorker:
        """Start a worker. Raises :class:`OSError`."""
        if self._processes:
            return take_child()
        from crawler_dedup.crawl.localworker import LocalWorker  # noqa: PLC0415  (loads the whole core)

        return LocalWorker()

    def _open(self, worker: SupervisedWorker, outages: Outages) -> messages.Ready:
        child, start = worker.child, self.make_start(worker)
        assert child is not None
        try:
            return outages.open(lambda: child.wait_until_ready(start, self.monitor.log_line))
        except workerprocess.NotStarted as error:
            raise _unstartable(str(error)) from error

    def make_start(self, worker: SupervisedWorker) -> messages.Start:
        """Return the first message to a process that runs for *worker*."""
        number, worker.next_start = worker.next_start, worker.next_start + self._count
        level = logging.getLogger("crawler_dedup").getEffectiveLevel()
        return messages.Start(
            self._settings, os.fsencode(self.location), self.run, self._offset, number, os.getpid(), level
        )

    def ask(self, job: messages.Job[_T], body: bytes | memoryview = b"", claim: int = 0) -> asyncio.Future[_T]:
        """Send *job* to a worker. The future gets its result, or the exception that has prevented it.

        Args:
            claim: the claim of the page, if it has one; the worker that has made it gets the job.

        Raises:
            NotSigned, IndexUnusable: the workers have ended.
        """
        return self._send(job, body, self._worker_of(claim))

    def end_claim(self, decision: Decision, *, settled: bool) -> asyncio.Future[bool]:
        """End the claim of *decision* in the worker that has made it, or in the one that has replaced it.

        Raises :class:`IndexUnusable`.
        """
        job = messages.EndClaim(decision.scope, decision.key, decision.claim, settled)
        return self.ask(job, claim=decision.claim)

    def _worker_of(self, claim: int) -> SupervisedWorker | None:
        """Return the worker that has made *claim*, or that has replaced it; ``None``: any may be asked."""
        start = claim >> messages.CLAIM_BITS
        place = (start - 1) % self._count
        return self._supervised[place] if start and place < len(self._supervised) else None

    def release_abandoned(self, decision: Decision | messages.Failure) -> None:
        """Release the claim of a page that will not be handled, because nothing waits for its *decision*."""
        if isinstance(decision, Decision) and decision.claim and self._supervised:
            ended = self.end_claim(decision, settled=False)
            ended.add_done_callback(lambda ended: ended.exception())  # if it fails, the claim ends with the run

    def _send(
        self, job: messages.Job[_T], body: bytes | memoryview = b"", worker: SupervisedWorker | None = None
    ) -> asyncio.Future[_T]:
        if not self._supervised:
            raise NotSigned(ENDED) if body else IndexUnusable("The index is closed.")
        worker = worker or min(self._supervised, key=lambda worker: (worker.is_pausing, worker.waiting_bytes))
        self.loop = asyncio.get_running_loop()
        task = Task(cast("messages.AnyJob", job), body, self.loop.create_future())
        worker.add(next(self._numbers), task)
        return task.answer

    @property
    def is_pausing(self) -> bool:
        """Whether no worker is started, because several have died."""
        return time.monotonic() < self._resumes

    def count_death(self) -> None:
        """Count a death of a worker. If there are too many, none is started for a minute."""
        self._deaths.append(time.monotonic())
        is_often = len(self._deaths) == MAX_DEATHS and self._deaths[0] >= self._deaths[-1] - DEATH_SECONDS
        if is_often and not self.is_pausing:
            self._resumes = time.monotonic() + DEATH_SECONDS
            message = (
                "%d workers have died within a minute: for a minute none is started. Without one, pages pass unchecked"
            )
            self.monitor.log(logging.WARNING, message, MAX_DEATHS)

    async def close(self, *, finished: bool | None) -> None:
        """Finish the jobs, end the run, and close the index.

        Args:
            finished: whether the run came to its end; ``None``: it is not ended, and counts as dead.
        """
        try:
            async with asyncio.timeout(_END_SECONDS):
                if left := [task.answer for worker in self._supervised[1:] for task in worker.tasks.values()]:
                    await asyncio.wait(left)
                further = [worker for worker in self._supervised[1:] if worker.child is not None]
                answers = [self._send(messages.Close(None), worker=worker) for worker in further]
                written = asyncio.gather(*answers, return_exceptions=True)
                with suppress(TimeoutError):
                    await asyncio.wait_for(written, _ADDRESS_SECONDS)
                for worker in self._supervised[1:]:
                    worker.end(ENDED)
                del self._supervised[1:]
                await self.ask(messages.Close(finished))
        except (DedupError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            message = (
                "The end of the run could not be recorded: the next crawl may store this run's last pages again (%s)"
            )
            self.monitor.log(logging.WARNING, message, reason)
        finally:
            self.kill()

    def join_again(self) -> None:
        """Let other workers join another run, after the index on a server was emptied, or the run was declared dead."""
        # Otherwise another page has learned it at the same time.
        if not any(worker.is_starting for worker in self._supervised):
            self._begin_run()
            for worker in self._supervised:
                worker.replace()

    def kill(self) -> None:
        """End the workers; unless they were closed, the run counts as dead. Idempotent."""
        workers, self._supervised = self._supervised, []
        for worker in workers:
            worker.end(ENDED)
        if self._lock is not None:
            self._lock.release()
        _running.discard(self)


def _unstartable(reason: str) -> DedupError:
    return DedupError(
        f"No worker process can be started: {reason.rstrip('.')}. Remove the cause, or set DEDUP_PROCESSES = 0,"
        " which computes signatures on the event loop."
    )


def find_running() -> list[Workers]:
    """Return the workers of all crawls of this process."""
    return list(_running)


def find_workers() -> Workers | None:
    """Return the workers of a crawl of this event loop; ``None`` if there are none."""
    loop = asyncio.get_running_loop()
    return next((workers for workers in _running if workers.loop in (None, loop)), None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)
