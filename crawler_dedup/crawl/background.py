"""The signing thread, for calls of more than a few milliseconds, and threads of their own for calls of minutes.

There is one signing thread for all crawls of a process, not a pool: extraction holds the interpreter lock for most of its
time, and several threads that compete for it stall the event loop for longer than a single one. The threads are daemons: a
page that takes for ever must not keep the process alive.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from crawler_dedup.errors import ThreadsBusy

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Job = tuple["Future[Any]", Callable[[], Any]]

MAX_LEFT_BEHIND = 4
"""Maximum number of threads whose result is no longer awaited. They take memory, and time from the event loop."""


class _Worker:
    """A thread that runs the jobs in its queue until it takes ``None`` from it, and then calls *ended*."""

    def __init__(self, ended: Callable[[_Worker], None] = lambda _: None) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._ended = ended
        threading.Thread(target=self._work, name="crawler-dedup", daemon=True).start()

    def _work(self) -> None:
        try:
            self._call_all()
        finally:
            self._ended(self)

    def _call_all(self) -> None:
        while (job := self.jobs.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)

    def waiting_jobs(self) -> Iterator[_Job | None]:
        """Remove the waiting jobs from the queue, and yield them."""
        with suppress(Empty):
            while True:
                yield self.jobs.get_nowait()


class SigningThread:
    """Calls functions in one thread, in order. A call that takes too long is left behind with its thread."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all threads. Called in a forked child, in which no thread of its parent runs."""
        self._worker: _Worker | None = None
        self._left_behind: set[_Worker] = set()
        self._lock = threading.Lock()

    @property
    def left_behind(self) -> int:
        """Number of threads that are still busy, but whose result is no longer awaited."""
        return len(self._left_behind)

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call *function* in the thread and await its result.

        If the caller gives up while *function* runs, its thread is left behind, and a new thread serves the other callers.

        Raises:
            ThreadsBusy: :data:`MAX_LEFT_BEHIND` threads were left behind and are still busy.
        """
        future: Future[_T] = Future()
        with self._lock:
            if self._worker is None and len(self._left_behind) >= MAX_LEFT_BEHIND:
                raise _busy()
            worker = self._worker = self._worker or _Worker(self._forget)
            worker.jobs.put((future, partial(function, *args, **kwargs)))
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if future.running():
                self._leave_behind(worker)
            raise

    def _leave_behind(self, busy: _Worker) -> None:
        with self._lock:
            if self._worker is not busy:
                return
            waiting = list(busy.waiting_jobs())
            self._left_behind.add(busy)
            busy.jobs.put(None)
            self._worker = None if len(self._left_behind) >= MAX_LEFT_BEHIND else _Worker(self._forget)
            for job in waiting:
                if self._worker is not None:
                    self._worker.jobs.put(job)
                elif job is not None and job[0].set_running_or_notify_cancel():
                    job[0].set_exception(_busy())

    def _forget(self, worker: _Worker) -> None:
        with self._lock:
            self._left_behind.discard(worker)


signing_thread = SigningThread()
"""The signing thread of this process, shared by its crawls and by :func:`crawler_dedup.main_text`, which knows no crawl."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=signing_thread.reset)


async def run_in_own_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call *function* in a daemon thread of its own, and await its result."""
    future: Future[_T] = Future()
    jobs = _Worker().jobs
    jobs.put((future, partial(function, *args, **kwargs)))
    jobs.put(None)
    return await asyncio.wrap_future(future)


def _busy() -> ThreadsBusy:
    return ThreadsBusy(f"{MAX_LEFT_BEHIND} threads are still busy with pages that have taken too long.")
