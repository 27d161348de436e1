"""Threads for calls that take long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


def call_in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
    """Call *function* in a new daemon thread, which does not keep the process alive."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()

    def call() -> None:
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, name="crawler-dedup", daemon=True).start()
    return future


async def run_in_own_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call *function* as :func:`call_in_thread`, and await the result."""
    return await asyncio.wrap_future(call_in_thread(function, *args, **kwargs))
