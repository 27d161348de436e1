"""The one thread beside the event loop, for what takes more than a few milliseconds; and threads for what takes minutes.

One, not a pool: extraction holds the interpreter lock for most of its time, and several threads that compete for it
stall the event loop for longer than one does. A daemon: a page that takes for ever must not keep the process alive.
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

MAX_LEFT_BEHIND = 4
"""Threads that may be busy with what nobody waits for any more. They take memory, and time from the event loop."""


class _Worker:
    """A thread that calls what stands in its queue, until it finds ``None`` there."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="crawler-dedup", daemon=True).start()

    def _work(self) -> None:
        try:
            self._call_all()
        finally:
            with _lock:
                _left_behind.discard(self)

    def _call_all(self) -> None:
        while (job := self.jobs.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


_worker: _Worker | None = None
_left_behind: set[_Worker] = set()
_lock = threading.Lock()


async def run(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call *function* in the thread and await its result; what waits is served in order.

    If the caller gives up while *function* runs, the thread is left to it, and a new one serves the others.

    Raises:
        ThreadsBusy: :data:`MAX_LEFT_BEHIND` threads were left like that and are still busy.
    """
    global _worker  # noqa: PLW0603
    future: Future[_T] = Future()
    with _lock:
        if _worker is None and len(_left_behind) >= MAX_LEFT_BEHIND:
            raise _busy()
        worker = _worker = _worker or _Worker()
        worker.jobs.put((future, partial(function, *args, **kwargs)))
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        if future.running():
            _leave_behind(worker)
        raise


async def run_apart(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """As :func:`run`, in a thread of its own, which nobody waits for and the end of the process neither."""
    future: Future[_T] = Future()
    jobs = _Worker().jobs
    jobs.put((future, partial(function, *args, **kwargs)))
    jobs.put(None)
    return await asyncio.wrap_future(future)


def _leave_behind(busy: _Worker) -> None:
    global _worker  # noqa: PLW0603
    with _lock:
        if _worker is not busy:
            return
        waiting = list(_taken(busy))
        _left_behind.add(busy)
        busy.jobs.put(None)
        _worker = None if len(_left_behind) >= MAX_LEFT_BEHIND else _Worker()
        for job in waiting:
            if _worker is not None:
                _worker.jobs.put(job)
            elif job is not None and job[0].set_running_or_notify_cancel():
                job[0].set_exception(_busy())


def _taken(worker: _Worker) -> Iterator[tuple[Future[Any], Callable[[], Any]] | None]:
    with suppress(Empty):
        while True:
            yield worker.jobs.get_nowait()


def _busy() -> ThreadsBusy:
    return ThreadsBusy(f"{MAX_LEFT_BEHIND} threads are still busy with pages that have taken too long.")


def _after_fork() -> None:
    global _worker, _lock
    _worker, _lock = None, threading.Lock()
    _left_behind.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
