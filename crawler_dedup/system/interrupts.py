"""Keeping Ctrl-C from the processes that a program starts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


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
