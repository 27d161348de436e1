"""The one thread beside the event loop, for what takes more than a few milliseconds.

One, not a pool: extraction holds the interpreter lock for most of its time, and several threads that compete for it
stall the event loop for longer than one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="crawler-dedup")


async def run(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call *function* in the thread and await its result; what waits is served in order."""
    return await asyncio.wrap_future(_thread.submit(function, *args, **kwargs))
