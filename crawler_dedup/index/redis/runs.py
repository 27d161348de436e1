"""A run of an index on a server, and its signs of life.

The sign of life of a run is a key that expires after a minute and that each process of the run renews every second, in a
thread. A run whose key is missing counts as dead, unless the server was started, or did not answer, a moment before, so that
the run may not have renewed it yet. A run that was stopped or cut off for long counts as dead meanwhile: what it has settled
last may be stored twice then.

A crawl that was killed and started again at once finds the key of the killed run. Therefore an index that was opened to
write takes a run for alive only if its key was renewed since.
"""

from __future__ import annotations

import math
import os
import threading
from contextlib import suppress
from time import monotonic

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.connection import ServerConnection, read_time
from crawler_dedup.index.redis.keys import Keys
from crawler_dedup.index.runs import Run, run_name

LIFE_SECONDS = 60
"""Seconds after which a sign of life expires."""
BEAT_SECONDS = 1.0
"""Seconds between two signs of life: after at most this time, a new client knows that a run is alive."""
RENEWAL_SECONDS = 20
"""Seconds within which each living run has renewed its sign of life once the server answers again."""
_held: set[ServerRun] = set()


class ServerRun(Run):
    """A run, with a thread that gives its signs of life, in each process that shares it.

    Args:
        connection: the connection, by which no transaction is made.
        number: number of the run.

    Raises:
        IndexUnusable: the server cannot be reached.
    """

    def __init__(self, connection: ServerConnection, number: int) -> None:
        super().__init__(number, read_time(connection) - monotonic())
        self._connection = connection
        self._is_shared = True
        self._process = os.getpid()
        self._life = Keys(connection.address).life(run_name(self.number))
        self._released = threading.Event()
        self._giving = threading.Lock()
        self._shown = monotonic()
        self._steady_since = -math.inf
        self.show_life()
        _held.add(self)
        threading.Thread(target=self._show_life, name="crawler-dedup-life", daemon=True).start()

    @property
    def is_held(self) -> bool:
        return not self._released.is_set() and os.getpid() == self._process

    def hold(self) -> None:
        self._is_shared = False

    def show_life(self) -> None:
        """Give a sign of life. Raises :class:`IndexUnusable`."""
        with self._giving:
            if self.is_held:
                self._connection.call(b"SET", self._life, b"", b"EX", LIFE_SECONDS)
                now = monotonic()
                if now > self._shown + RENEWAL_SECONDS:
                    self._steady_since = now
                self._shown = now

    def release(self, *, is_over: bool = True) -> None:
        if self.is_held:
            self._released.set()
            _held.discard(self)
            if is_over or not self._is_shared:
                with self._giving, suppress(IndexUnusable):  # if the server is not told, the sign of life expires
                    self._connection.call(b"DEL", self._life)
            self._connection.close()

    def _show_life(self) -> None:
        while not self._released.wait(BEAT_SECONDS):
            with suppress(IndexUnusable):  # a later one may succeed
                self.show_life()

    def count_steady_seconds(self) -> float:
        """Return for how long the server has answered at short intervals."""
        now = monotonic()
        return 0.0 if now > self._shown + RENEWAL_SECONDS else now - self._steady_since


def held_runs(address: ServerAddress) -> dict[int, ServerRun]:
    """Return the runs of an index that this process holds, by their numbers."""
    return {run.number: run for run in tuple(_held) if run.is_held and run._connection.address == address}


def is_run_alive(connection: ServerConnection, run: int, opened: float) -> bool | None:
    """Return whether a run is alive; ``None``: it may have died before *opened*, or has not given its sign of life yet.

    Args:
        opened: the time of :func:`time.monotonic` since which a living run has given a sign of life.
    """
    held = held_runs(connection.address)
    if run in held:
        return True
    asked = monotonic()
    (left,) = connection.run((b"PTTL", Keys(connection.address).life(run_name(run))))
    if left >= 0:
        return True if 0 <= LIFE_SECONDS - left / 1000 < asked - opened else None  # the server's clock may be set back
    server_seconds = float(connection.info("server").get("uptime_in_seconds", 0))
    steady = min([server_seconds, *(other.count_steady_seconds() for other in held.values())])
    return False if steady >= RENEWAL_SECONDS else None
