"""The one thread beside the event loop, for what takes more than a few milliseconds; and threads for what takes minutes.

One, not a pool: extraction holds the interpreter lock for most of its time, and several threads that compete for it
stall the event loop for longer than one does. A daemon: a page that takes for ever must not keep the process alive.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Worker:
    """A thread that calls what stands in its queue, until it finds ``None`` there."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="crawler-dedup", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


_worker: _Worker | None = None
_lock = threading.Lock()


async def run(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call *function* in the thread and await its result; what waits is served in order.

    If the caller gives up while *function* runs, the thread is left to it, and a new one serves the others.
    """
    global _worker  # noqa: PLW0603
    future: Future[_T] = Future()
    with _lock:
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
        if _worker is busy:
            _worker = _Worker()
            try:
                while True:
                    _worker.jobs.put(busy.jobs.get_nowait())
            except Empty:
                busy.jobs.put(None)


def _after_fork() -> None:
    global _worker, _lock
    _worker, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
