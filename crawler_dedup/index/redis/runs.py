"""A run of an index on a server, and its signs of life.

The sign of life of a run is a key that expires after a minute and that a thread renews every second. A run whose key is
missing counts as dead, unless the server was started, or the connection to it was lost, a moment before, so that the run may
not have renewed it yet. A run that was stopped or cut off for long counts as dead meanwhile: what it has settled last may be
stored twice then.

A crawl that was killed and started again at once finds the key of the killed run. Therefore a client takes a run for alive
only if its key was renewed after the client began (:meth:`~crawler_dedup.index.redis.storage.Client.is_alive`).
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from time import monotonic

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.header import Header
from crawler_dedup.index.redis.connection import ServerConnection, read_time
from crawler_dedup.index.redis.keys import Keys, read_epoch
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
        connection: the connection, which only this run uses from now on.
        header: the header of the index.
        number: number of the run.

    Raises:
        IndexUnusable: the server cannot be reached.
    """

    def __init__(self, connection: ServerConnection, header: Header, number: int) -> None:
        super().__init__(number, read_time(connection) - monotonic())
        self._connection = connection
        self._header = header
        self._process = os.getpid()
        self._released = threading.Event()
        self._giving = threading.Lock()
        self._beat()
        _held.add(self)
        threading.Thread(target=self._show_life, name="crawler-dedup-life", daemon=True).start()

    @property
    def is_held(self) -> bool:
        return not self._released.is_set() and os.getpid() == self._process

    def show_life(self) -> bool:
        with suppress(IndexUnusable):
            return self.is_held and self._beat()
        return False

    def release(self) -> None:
        if self.is_held:
            self._released.set()
            _held.discard(self)
            with suppress(IndexUnusable):  # if the server is not told, the sign of life expires
                self._beat()
            self._connection.close()

    def _show_life(self) -> None:
        while not self._released.wait(BEAT_SECONDS):
            self.show_life()  # a later one may succeed

    def _beat(self) -> bool:
        """Give a sign of life, or end it once the run is released; return ``True``."""
        with self._giving:
            self._connection.ensure()
            keys = Keys(self._connection.address, read_epoch(self._connection, self._header))
            life, (seconds, fraction) = keys.life(run_name(self.number)), self._connection.call(b"TIME")
            give = (b"SET", life, b"%s.%06d" % (seconds, int(fraction)), b"EX", LIFE_SECONDS)
            self._connection.call(*((b"DEL", life) if self._released.is_set() else give))
            return True


def held_runs() -> set[int]:
    """Return the numbers of the runs that this process holds."""
    return {run.number for run in tuple(_held) if run.is_held}
