"""The one thread beside the event loop, for what takes more than a few milliseconds.

One, not a pool: extraction holds the interpreter lock for most of its time, and several threads that compete for it
stall the event loop for longer than one does. A daemon: a page that takes for ever must not keep the process alive.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

_Job = tuple["Future[Any]", Callable[[], Any]]


async def run(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call *function* in the thread and await its result; what waits is served in order."""
    future: Future[_T] = Future()
    _jobs().put((future, partial(function, *args, **kwargs)))
    return await asyncio.wrap_future(future)


@cache
def _jobs() -> SimpleQueue[_Job]:
    jobs: SimpleQueue[_Job] = SimpleQueue()
    threading.Thread(target=_work, args=(jobs,), name="crawler-dedup", daemon=True).start()
    return jobs


def _work(jobs: SimpleQueue[_Job]) -> None:
    while True:
        future, call = jobs.get()
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
