"""Sign pages in signing processes (:mod:`crawler_dedup.signing.process`), so that no page holds up or ends the crawl.

A process works in order, and gets the next pages in advance, so that it need not wait for the event loop. If it dies or is
killed, another process gets the pages that it has not answered.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakSet, finalize

from crawler_dedup.config import Config
from crawler_dedup.config.settings import SIGNING_SETTINGS
from crawler_dedup.crawl.childprocess import (
    DEATH_SECONDS,
    MAX_DEATHS,
    SIGNING,
    UNCHECKED,
    ChildProcess,
    Deaths,
    describe_death,
    take_child,
)
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.crawl.signingqueue import Queue, Task
from crawler_dedup.errors import DedupError
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.forms import CrawlSigner
from crawler_dedup.signing.messages import Answer, Job, SignJob, Start, TextJob
from crawler_dedup.signing.owntext import OwnText, OwnTextJob
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.channel import Failure, pack

_NO_TEXT = "has no text"
_PLACES = 1_000  # addresses of pages, with the queues in which they were signed


class SigningError(DedupError):
    """An exception in the signing process.

    Attributes:
        name: its class.
        trace: its traceback.
    """

    def __init__(self, failure: Failure | None) -> None:
        assert failure is not None
        super().__init__(failure.message)
        self.name, self.trace = failure.error, failure.trace


class Signed(NamedTuple):
    """A signed page, its forms, and the seconds for which it waited in a queue."""

    page: SignedPage
    forms: Sequence[bytes] = ()
    waited: float = 0.0


class Signers:
    """The signing processes that crawls with the same settings for signing share. Belongs to one event loop.

    Args:
        start: the first message to each process.
        count: number of processes.

    Attributes:
        users: the monitors of the crawls that use the processes, as long as they exist.

    Raises:
        DedupError: a process cannot be started.
    """

    def __init__(self, start: bytes, count: int) -> None:
        self.start = start
        self.users: WeakSet[Monitor] = WeakSet()
        self._deaths = Deaths()
        self._resumes = 0.0
        children: list[ChildProcess] = []
        try:
            for _ in range(count):
                children.append(take_child(SIGNING))  # noqa: PERF401  (those that were started have to be ended)
            for child in children:
                child.wait_until_ready(start)
        except (DedupError, OSError) as error:
            for child in children:
                child.kill()
            raise DedupError(
                f"No signing process can be started: {str(error).rstrip('.')}. Remove the cause, or set DEDUP_PROCESSES = 0,"
                " which signs pages on the event loop."
            ) from error
        self._queues = [Queue(self, child) for child in children]
        self._places: OrderedDict[str, Queue] = OrderedDict()

    async def sign(self, job: SignJob, body: bytes, seconds: float) -> Signed:
        """Sign a page.

        Args:
            seconds: how long its process may work on it.

        Raises:
            NotSigned: the process has worked for longer, or has died.
            SigningError: signing has raised an exception.
        """
        queue = self._places[job.url] = self._shortest_queue()
        if len(self._places) > _PLACES:
            self._places.popitem(last=False)
        task, answer = await self._answer(job, job.url, body, seconds, queue)
        if answer.page is None:
            raise SigningError(answer.failure)
        return Signed(answer.page, answer.forms, task.began - task.added)

    async def extract_text(self, job: TextJob, url: str, body: bytes, seconds: float) -> str:
        """Extract the text of the page at *url*. Other arguments and exceptions as for :meth:`sign`."""
        _, answer = await self._answer(job, url, body, seconds, self._shortest_queue())
        if answer.failure is not None:
            raise SigningError(answer.failure)
        return answer.text

    async def make_own_text(self, job: OwnTextJob, url: str, body: bytes, seconds: float) -> OwnText:
        """Make the own text of the page at *url*, in the process that has signed it. Exceptions as for :meth:`sign`."""
        _, answer = await self._answer(job, url, body, seconds, self._places.get(url) or self._shortest_queue())
        if answer.own_text is None:
            raise SigningError(answer.failure)
        return answer.own_text

    def _shortest_queue(self) -> Queue:
        return min(self._queues, key=lambda queue: queue.size)

    async def _answer(self, job: Job, url: str, body: bytes, seconds: float, queue: Queue) -> tuple[Task, Answer]:
        loop = asyncio.get_running_loop()
        loss = UNCHECKED if isinstance(job, SignJob) else _NO_TEXT
        task = Task(pack(job, len(body)), body, url, loss, seconds, loop.create_future(), loop.time())
        queue.add(task)
        return task, await task.answer

    @property
    def is_pausing(self) -> bool:
        """Whether no process is started, because several have died."""
        return time.monotonic() < self._resumes

    def note_death(self) -> None:
        """Count a death of a process. If there are too many, none is started for a minute."""
        if not self._deaths.note() or self.is_pausing:
            return
        self._resumes = time.monotonic() + DEATH_SECONDS
        for monitor in self.users:
            monitor.log(
                logging.WARNING,
                "%d signing processes have died within a minute: pages pass unchecked for a minute",
                MAX_DEATHS,
            )

    def report_death(self, pid: int, page: Task | None, status: int | None) -> None:
        """Log that a process has died, and what happens with the page that it had."""
        death = describe_death(SIGNING, pid, status, [] if page is None else [(page.url, page.outcome)])
        for monitor in self.users:
            monitor.log_throttled(SIGNING, logging.WARNING, "%s", death)

    def note_restart(self) -> None:
        """Count a process that replaces another one."""
        for monitor in self.users:
            monitor.count("signing/restarts")

    def release(self, monitor: Monitor) -> None:
        """Note that a crawl no longer uses the processes; the last crawl ends them. Idempotent."""
        self.users.discard(monitor)
        self._end_if_unused()

    def _end_if_unused(self) -> None:
        if list(self.users):
            return
        for key in [key for key, signers in _shared.items() if signers is self]:
            del _shared[key]
        for queue in self._queues:
            queue.close()

    def add_user(self, monitor: Monitor) -> None:
        """Note that a crawl uses the processes."""
        self.users.add(monitor)
        # In case they are never released, because another component fails before the crawl begins.
        finalize(monitor, self._end_if_unused).atexit = False


class LoopSigner:
    """Signs pages on the event loop: all with ``DEDUP_PROCESSES = 0``, else those that are too large, which it refuses."""

    def __init__(self, signer: Signer) -> None:
        self._signer = CrawlSigner(signer)

    async def sign(self, job: SignJob, body: bytes, seconds: float) -> Signed:  # noqa: ARG002
        """Sign a page, however many *seconds* it takes."""
        answer = self._signer.sign(job, body)
        assert answer.page is not None
        return Signed(answer.page, answer.forms)

    def release(self, monitor: Monitor) -> None:
        """Do nothing."""


_shared: dict[tuple[int, int, bytes], Signers] = {}
"""Keyed by thread (each has its own event loop), number of processes, and first message."""


def share_signers(config: Config, monitor: Monitor) -> Signers:
    """Return the signing processes for *config*; start them, if no other crawl of this thread uses such processes.

    They have to be released (:meth:`Signers.release`). Raises as :class:`Signers`.
    """
    start = pack(Start({name: getattr(config, name) for name in SIGNING_SETTINGS}, os.getpid()))
    key = (threading.get_ident(), config.processes, start)
    if key not in _shared:
        _shared[key] = Signers(start, config.processes)
    _shared[key].add_user(monitor)
    return _shared[key]


def find_signers() -> Signers | None:
    """Return signing processes that a crawl of this thread uses; ``None`` if there are none."""
    return next((signers for key, signers in _shared.items() if key[0] == threading.get_ident()), None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.clear)
