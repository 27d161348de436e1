"""Supervision of one worker of a crawl: what it has to answer, what its death costs, and the worker that replaces it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from crawler_dedup.crawl import workerprocess
from crawler_dedup.errors import DedupError, IndexUnusable
from crawler_dedup.worker import messages

if TYPE_CHECKING:
    from crawler_dedup.crawl.localworker import LocalWorker
    from crawler_dedup.crawl.workers import Workers

NOT_IN_TIME = "not signed within DEDUP_TIMEOUT"
DIED = "its worker process ended"
PAUSED = "worker processes end too often"
ENDED = "the worker processes were ended"
TRIED_AGAIN, UNCHECKED = "tried again", "passes unchecked"
"""What happens with a page of a process that has died."""

STOPPED_SECONDS = 15.0
"""Seconds without any answer after which a worker that has jobs is replaced if it is stopped."""
_LOOK_SECONDS = 1.0
"""Seconds between two checks whether a worker that has jobs still answers."""
_MAX_TRIES = 2
_REOPEN_SECONDS = 2.0
"""Seconds between two attempts to start a worker that could not open the index."""


class NotSigned(DedupError):
    """A page was not signed: its worker died or was ended, or none runs. The message is the reason, in a few words."""


@dataclass(eq=False)
class Task:
    """A job that is not answered, with the body of its page, and how many workers have died because of it."""

    job: messages.AnyJob
    body: bytes | memoryview
    answer: asyncio.Future[Any]
    deaths: int = 0

    @property
    def url(self) -> str:
        """Address of its page; ``""``: it is about none."""
        return self.job.page.url if isinstance(self.job, messages.DecideAgain) else getattr(self.job, "url", "")

    def fail(self, error: Exception | str) -> None:
        """Answer with an error, or with one that gives a reason in a few words."""
        if self.answer.done() or self.answer.get_loop().is_closed():
            return
        if isinstance(error, str):
            error = NotSigned(error) if self.url else IndexUnusable(f"No answer: {error}.")
        self.answer.set_exception(error)


class SupervisedWorker:
    """One of the workers of a crawl, and those that replace it.

    Attributes:
        tasks: what it has to answer, by number.
        next_start: number of the next start, by which claims tell their worker.
    """

    def __init__(self, workers: Workers, child: workerprocess.ChildProcess | LocalWorker, number: int) -> None:
        self.next_start = number
        self._workers = workers
        self.child: workerprocess.ChildProcess | LocalWorker | None = child
        self.tasks: dict[int, Task] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._heard = self._opens_again = 0.0
        self._is_ready = True
        self._only_ends = False
        self._failure: messages.Failure | None = None

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the pages that it has to sign."""
        return sum([len(task.body) for task in self.tasks.values()])

    @property
    def is_pausing(self) -> bool:
        """Whether no worker may be started for pages, and none runs that was started before workers died too often."""
        return (self.child is None or self._only_ends) and self._workers.is_pausing

    def add(self, number: int, task: Task) -> None:
        """Send a job; start a worker if there is none. While workers die too often, one is started for an end only."""
        is_end = isinstance(task.job, (messages.Close, messages.EndClaim))
        if self.is_pausing and not is_end:
            task.fail(PAUSED)
            return
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:  # that of a crawl that was interrupted, and has left its tasks behind
                self.end()
                self.tasks.clear()
            elif self.child is not None:
                self._attach(self.child)
            self._loop = loop
        if not self.tasks:
            self._heard = loop.time()
        self.tasks[number] = task
        if self.child is None:
            self._start_replacement(for_end=is_end)
        else:
            self._send(number, task)
        if self._timer is None:
            self._timer = loop.call_later(_LOOK_SECONDS, self._end_silent)

    def _attach(self, child: workerprocess.ChildProcess | LocalWorker) -> None:
        child.attach(self._receive, partial(self._handle_death, child))

    def _send(self, number: int, task: Task) -> None:
        if self.child is not None:
            self.child.send(messages.Message(number, self._workers.stored_until, task.job), task.body)

    @property
    def is_starting(self) -> bool:
        """Whether its worker has not opened the index yet. An idle one that was ended is not starting."""
        return self.child is not None and not self._is_ready

    def replace(self) -> None:
        """Replace the worker, once there are jobs."""
        self.end()
        if self.tasks:
            self._start_replacement()

    def _start_replacement(self, *, for_end: bool = False) -> None:
        """Start a worker, which gets all jobs. While workers die too often, the jobs fail, unless one is *for_end*."""
        assert self._loop is not None
        if self._failure is not None and self._loop.time() < self._opens_again:
            self._fail_all(self._failure.to_error())
        while self.tasks and self.child is None:
            self._only_ends = self._workers.is_pausing
            if self._only_ends and not for_end:
                self._fail_all(PAUSED)
                return
            for_end = False  # it is tried once
            try:
                self.child = self._workers.start_worker()
                self._workers.monitor.count("worker/restarts")
            except OSError:
                self._workers.count_death()
        if self.child is not None:
            self._is_ready, self._failure = False, None
            self._heard = self._loop.time()
            self._attach(self.child)
            self.child.send(self._workers.make_start(self))
            for number, task in list(self.tasks.items()):
                self._send(number, task)

    def _receive(self, message: workerprocess.Received) -> None:
        assert self._loop is not None
        self._heard = self._loop.time()
        if isinstance(message, messages.LogLine):
            self._workers.monitor.log_line(message)
        elif isinstance(message, messages.Ready):
            self._is_ready = True
        elif isinstance(message, messages.Failure):  # it cannot open the index
            self._workers.monitor.warn("The index cannot be opened: %s", message.message)
            self._failure, self._opens_again = message, self._loop.time() + _REOPEN_SECONDS
            self.end()
            self._fail_all(message.to_error())
        elif (task := self.tasks.pop(message.number, None)) is not None:
            result = message.result
            if isinstance(result, messages.Failure):
                task.fail(result.to_error())
            elif not task.answer.done():
                task.answer.set_result(result)
            elif isinstance(result, messages.Checked):
                self._workers.release_abandoned(result.decision)

    def _end_silent(self) -> None:
        """End a worker that has not answered for too long, as if it had died: it is stopped, or waits for ever."""
        assert self._loop is not None
        self._timer = None
        if not self.tasks:
            return
        silent, child = self._loop.time() - self._heard, self.child
        if child is not None and (
            silent >= self._workers.silence_seconds or (silent >= STOPPED_SECONDS and child.is_stopped)
        ):
            child.end_and_report()
            self._heard = self._loop.time()
        self._timer = self._loop.call_later(_LOOK_SECONDS, self._end_silent)

    def _handle_death(self, child: workerprocess.ChildProcess | LocalWorker, status: int | None, number: int) -> None:
        """Let another worker do the jobs of one that has died, except for a page that has taken too long or has ended two.

        Args:
            number: the job on which it worked; 0: it signed no page.
        """
        if child is not self.child:
            return
        pid, self.child = child.pid, None
        blamed = {number} if number in self.tasks else set(self.tasks) if status is None else set()
        is_late = status == workerprocess.TOO_LATE or not self._is_ready
        pages = []
        # The page that it worked on is named first.
        for each in sorted(self.tasks, key=lambda each: each not in blamed):
            task = self.tasks[each]
            task.deaths += each in blamed
            if each in blamed and (is_late or task.deaths == _MAX_TRIES):
                del self.tasks[each]
                task.fail(NOT_IN_TIME if is_late else DIED)
            if task.url:
                pages.append((task.url, TRIED_AGAIN if each in self.tasks else UNCHECKED))
        if status != workerprocess.TOO_LATE or not blamed:  # otherwise it is the fault of the page, of which it is said
            description = describe_death(pid, status, pages)
            self._workers.monitor.log_throttled("worker", logging.WARNING, "%s", description)
            self._workers.count_death()
        self._start_replacement()

    def _fail_all(self, error: Exception | str) -> None:
        tasks, self.tasks = self.tasks, {}
        for task in tasks.values():
            # The process of the crawl then makes the texts, except for a page that may end it, too.
            is_text = isinstance(task.job, (messages.ExtractText, messages.MakeOwnText))
            task.fail(DIED if is_text and task.deaths and isinstance(error, Exception) else error)

    def end(self, reason: str = "") -> None:
        """End the worker. Idempotent. *reason*: why its jobs fail; ``""``: another worker gets them."""
        if self.child is not None:
            self.child.kill()
        self.child = None
        if reason:
            if self._timer is not None:
                self._timer.cancel()
            self._fail_all(reason)


def describe_death(pid: int, status: int | None, pages: Iterable[tuple[str, str]]) -> str:
    """Say which worker has died, why, and what happens with the pages that it had.

    Args:
        status: as :meth:`ChildProcess.attach` says.
        pages: the address of each page, and what happens with it.
    """
    if status is None:
        cause = "no longer answers"
    elif status >= 0:
        cause = f"has ended with exit status {status}"
    else:
        names = {number.value: number.name for number in signal.Signals}
        cause = f"was ended by {names.get(-status, f'signal {-status}')}"
        if status == -signal.SIGKILL:
            cause += ", probably by the out-of-memory killer of the kernel, because memory was short"
    addresses: dict[str, list[str]] = {}
    for address, outcome in pages:
        addresses.setdefault(outcome, []).append(address)
    had = [
        f"{first}{f' and {len(others)} more' * bool(others)} ({outcome})"
        for outcome, (first, *others) in addresses.items()
    ]
    return f"The worker process {pid} {cause}; pages that it had: {', '.join(had) or 'none'}"
