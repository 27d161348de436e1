"""The queue of a signing process: what it has to answer, how long it may take, and what becomes of it if it dies."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from crawler_dedup.crawl.childprocess import PATIENCE, SIGNING, TRIED_AGAIN, ChildProcess
from crawler_dedup.errors import DedupError
from crawler_dedup.signing.messages import Answer

NOT_IN_TIME = "not signed in time"
DIED = "the signing process died"
PAUSED = "signing processes die too often"
ENDED = "the signing processes have ended"

_AHEAD_BYTES = 256 << 10
"""Bytes of pages that a process gets before it answers. A larger page is sent once the process has answered all others."""
_MAX_TRIES = 2
_ANSWERS = msgspec.msgpack.Decoder(Answer)


class NotSigned(DedupError):
    """A page was not signed: its process died or was killed, or none runs. The message is the reason, in a few words."""


class Owner(Protocol):
    """The owner of several queues, which counts the deaths of their processes.

    Attributes:
        start: the first message to each process.
    """

    start: bytes

    @property
    def is_pausing(self) -> bool:
        """Whether no process is started, because several have died."""

    def note_death(self) -> None:
        """Count a process that has died or was killed."""

    def report_death(self, pid: int, page: Task | None, status: int | None) -> None:
        """Report that a process has died, and what happens with the page that it had (:func:`describe_death`)."""

    def note_restart(self) -> None:
        """Count a process that replaces another one."""


@dataclass(eq=False)
class Task:
    """A job for a process, with the body of its page, and the answer to come.

    Attributes:
        url: address of the page.
        loss: what happens with the page if the job is not done.
        seconds: how long the process may work on it.
        added: when it was added, a time of the event loop.
        began: when a process began with it; 0: none works on it.
        tries: how many processes have begun with it.
        is_late: whether its time ran out before all of it was sent, so that it was given the same time again.
    """

    message: bytes
    body: bytes
    url: str
    loss: str
    seconds: float
    answer: asyncio.Future[Answer]
    added: float
    began: float = 0.0
    tries: int = 0
    is_late: bool = False

    @property
    def size(self) -> int:
        return len(self.message) + len(self.body)

    @property
    def outcome(self) -> str:
        """What happens with the page after the death of its process."""
        has_failed = self.answer.done() and not self.answer.cancelled() and self.answer.exception()
        return self.loss if has_failed else TRIED_AGAIN

    def fail(self, reason: str) -> None:
        if not (self.answer.done() or self.answer.get_loop().is_closed()):
            self.answer.set_exception(NotSigned(reason))


class Queue:
    """The tasks of a process, in order, and of the processes that replace it. The first tasks are sent already.

    Attributes:
        size: bytes of all tasks.
    """

    def __init__(self, owner: Owner, child: ChildProcess) -> None:
        self._owner = owner
        self._tasks: deque[Task] = deque()
        self.size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._was_late = False  # whether the last process did not start in time
        self._use(child, is_ready=True)

    def _use(self, child: ChildProcess | None, *, is_ready: bool = False) -> None:
        self.child = child
        self._is_ready = is_ready
        self._sent = self._sent_bytes = 0

    def add(self, task: Task) -> None:
        if self._is_closed:
            task.fail(ENDED)
            return
        loop = asyncio.get_running_loop()
        if self._loop is None and self.child is not None:
            self.child.attach(self._receive, self._died)
        elif self._loop is not loop:  # that of a crawl that was interrupted, and has left its tasks behind
            self.end()
            self._tasks.clear()
            self.size = 0
        self._loop = loop
        self._tasks.append(task)
        self.size += task.size
        self._restart()
        self._advance()

    def _advance(self) -> None:
        """Send further tasks, and let the time of the first one begin."""
        if self.child is None:
            return
        while self._sent < len(self._tasks):
            task = self._tasks[self._sent]
            if self._sent and self._sent_bytes + task.size > _AHEAD_BYTES:
                break
            self._sent += 1
            self._sent_bytes += task.size
            self.child.send(task.message, task.body)
        if self._is_ready and self._tasks and not self._tasks[0].began:
            self._tasks[0].began = asyncio.get_running_loop().time()
            self._tasks[0].tries += 1
            self._set_timer(self._tasks[0].seconds)

    def _set_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._stop_first)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _take_first(self) -> Task:
        self._stop_timer()
        task = self._tasks.popleft()
        self.size -= task.size
        self._sent -= 1
        self._sent_bytes -= task.size
        return task

    def _fail_all(self, reason: str) -> None:
        for task in self._tasks:
            task.fail(reason)
        self._tasks.clear()
        self.size = 0

    def _receive(self, message: bytes) -> None:
        if message:
            answer = _ANSWERS.decode(message)
            if not self._is_ready or not self._sent:  # an error at its start, or more answers than tasks
                raise msgspec.DecodeError
            task = self._take_first()
            if not task.answer.done():
                task.answer.set_result(answer)
        elif self._is_ready and self._sent:  # it loads a dictionary
            self._set_timer(PATIENCE + self._tasks[0].seconds)
        else:
            self._is_ready = True
            self._was_late = False
            self._stop_timer()
        self._advance()

    def _stop_first(self) -> None:
        """Replace a process that takes too long, with its first page or to start."""
        first = self._tasks[0]
        if self._is_ready and self.child is not None and self.child.is_sending and not first.is_late:
            first.is_late = True  # the event loop was blocked: the process cannot have begun
            self._set_timer(first.seconds)
            return
        if self._is_ready:
            self._take_first().fail(NOT_IN_TIME)
        elif self._was_late:
            self._fail_all(NOT_IN_TIME)
        else:
            self._was_late = True
        self._replace()

    def _died(self) -> None:
        first = self._tasks[0] if self._tasks and self._tasks[0].began else None
        if first is not None:
            first.began = 0.0
            if first.tries == _MAX_TRIES:
                self._take_first().fail(DIED)
        assert self.child is not None
        self._replace(partial(self._owner.report_death, self.child.pid, first))

    def _replace(self, report: Callable[[int | None], object] | None = None) -> None:
        self.end(report)
        self._owner.note_death()
        self._restart()
        self._advance()

    def _restart(self) -> None:
        """Start a process, if there are tasks. While processes die too often, all tasks fail."""
        while self._tasks and self.child is None:
            if self._owner.is_pausing:
                self._fail_all(PAUSED)
                return
            try:
                child = ChildProcess(SIGNING)
            except OSError:
                self._owner.note_death()
                continue
            self._use(child)
            child.attach(self._receive, self._died)
            child.send(self._owner.start)
            self._owner.note_restart()
            self._set_timer(PATIENCE)

    def close(self) -> None:
        """End the process, and sign no page any more."""
        self._is_closed = True
        self.end()
        self._fail_all(ENDED)

    def end(self, report: Callable[[int | None], object] | None = None) -> None:
        """End the process. *report*: :meth:`ChildProcess.kill`."""
        self._stop_timer()
        if self.child is not None:
            self.child.kill(report)
        self._use(None)
