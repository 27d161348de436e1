"""Calling a function in several processes, and keeping Ctrl-C from them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.synchronize import Event
from typing import TypeVar

from crawler_dedup.errors import DedupError
from crawler_dedup.system.callbacks import Advance


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Make processes that are started in this context ignore Ctrl-C, which a terminal sends to all processes.

    The program that has started them ends them when it is interrupted itself. Windows cannot do this: there, the processes
    print where they were interrupted.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Start the tracker now: started with the first of these processes, it would unblock the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_CHUNK = 8  # arguments that a process takes at a time: few, so that all processes end together


class ProcessDied(DedupError):
    """A process died in the middle of its work."""


_In = TypeVar("_In")
_Out = TypeVar("_Out")
_stop: Event | None = None
"""In a process that calls the function: set when its results are no longer wanted."""


def map_in_processes(
    function: Callable[[_In], _Out], arguments: Sequence[_In], jobs: int, advance: Advance, *, chunk_size: int = _CHUNK
) -> Iterator[_Out]:
    """Call *function* with each of *arguments* in *jobs* processes; yield the results in order.

    A function that takes long should call :func:`raise_if_stopped` now and then.

    Args:
        chunk_size: how many arguments a process takes at a time.

    Raises:
        ProcessDied: a process died.
    """
    # `spawn`, the default of Windows and macOS: a forked child of a process with threads can hang.
    context = get_context("spawn")
    stop = context.Event()
    executor = None
    if jobs > 1:
        executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(stop,))
    try:
        results: Iterable[_Out] = map(function, arguments)
        if executor is not None:
            with interrupts_blocked():
                results = _submit_all(executor, function, arguments, chunk_size)
        for result in results:
            yield result
            advance(1)
    except BrokenProcessPool:
        raise ProcessDied(
            "A worker process was ended from outside, perhaps for lack of memory: use fewer of them (--jobs)."
        ) from None
    finally:
        stop.set()
        if executor is not None:
            executor.shutdown(cancel_futures=True)  # after an interrupt: running calls end, no other call begins


def _submit_all(
    executor: ProcessPoolExecutor, function: Callable[[_In], _Out], arguments: Sequence[_In], chunk_size: int
) -> Iterator[_Out]:
    """Submit the calls of *function* with each of *arguments*; return the results in order."""
    try:
        return executor.map(function, arguments, chunksize=chunk_size)
    except OSError:
        # A process that dies meanwhile breaks the pool, which closes the pipes that the next process would get.
        executor.submit(int)  # raises BrokenProcessPool then
        raise


def raise_if_stopped() -> None:
    """Raise :class:`KeyboardInterrupt` if the parent process has gone away, or was interrupted."""
    if _stop is not None and _stop.is_set():
        raise KeyboardInterrupt


def _begin(stop: Event) -> None:
    """Begin a process that calls the function."""
    global _stop  # noqa: PLW0603  (a process calls functions for one program)
    _stop = stop
    threading.Thread(target=_end_with_parent, name="crawler-dedup parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the program that has started it is killed: otherwise it would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
