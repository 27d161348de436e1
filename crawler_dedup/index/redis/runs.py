"""A run of an index on a server, and its signs of life.

The sign of life of a run is a key that expires after a minute and that a thread renews every five seconds. A missing key
does not make a run dead: another run must declare it dead, which it does in one atomic step if the key is missing on a
server that was available all the time. A run that could not reach the server for long assumes that others could not either,
and gives them time. A run that was stopped for long, or was cut off alone, learns with its next page that it counts as dead.

A crawl that was killed and started again at once finds the key of the killed run. Therefore a client takes a run for alive
only if its key was renewed after the client began (:meth:`~crawler_dedup.index.redis.client.Client.has_shown_life`).
A run renews its key at once when its client learns that another run has begun.
"""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import suppress
from time import monotonic

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.header import Header
from crawler_dedup.index.layout import RUN_NAME_BYTES
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.client import read_epoch
from crawler_dedup.index.redis.connection import ServerConnection, read_time
from crawler_dedup.index.redis.keys import Keys
from crawler_dedup.index.runs import Run

LIFE_SECONDS = 60
"""Seconds after which a sign of life expires."""
BEAT_SECONDS = 5.0
"""Seconds between two signs of life: after at most this time, a new client knows that a run is alive."""
_held: set[ServerRun] = set()


class ServerRun(Run):
    """A new run, with a thread that gives its signs of life.

    Args:
        connection: the connection, which only this run uses from now on.
        header: the header of the index.
        number: number of a run that several processes share, each of which keeps it alive; 0: a new run.

    Raises:
        IndexUnusable: the server cannot be reached.
    """

    def __init__(self, connection: ServerConnection, header: Header, number: int = 0) -> None:
        super().__init__(number or secrets.randbits(32) or 1, read_time(connection) - monotonic())
        self._name = self.number.to_bytes(RUN_NAME_BYTES, "big")
        self._connection = connection
        self._header = header
        self._follow()
        self._process = os.getpid()
        self._released = threading.Event()
        self._awoken = threading.Event()
        self._shown = monotonic()
        self._beat()
        _held.add(self)
        threading.Thread(target=self._show_life, name="crawler-dedup-life", daemon=True).start()

    @property
    def is_held(self) -> bool:
        return not self._released.is_set() and os.getpid() == self._process

    def show_life(self) -> bool:
        if not self.is_held:
            return False
        try:
            return self._beat() == b"lives"
        except IndexUnusable:
            return False

    def release(self) -> None:
        if not self.is_held:
            return
        self._released.set()
        self._awoken.set()
        _held.discard(self)
        with suppress(IndexUnusable):  # if the server is not told, the sign of life expires
            arguments = [self._epoch, self._keys.prefix, self._name]
            self._connection.evaluate(scripts.RELEASE, [self._keys.meta], arguments)
            self._connection.drop()

    def _show_life(self) -> None:
        while True:
            self._awoken.wait(BEAT_SECONDS)
            self._awoken.clear()
            if self._released.is_set():
                return
            with suppress(IndexUnusable):  # a later sign of life may succeed
                self._beat()

    def show_life_soon(self) -> None:
        """Give a sign of life now, in the thread of the run."""
        self._awoken.set()

    def _beat(self) -> bytes:
        """Give a sign of life, and declare dead the runs that gave none. Return ``lives``, ``dead`` or ``gone``."""
        server = self._connection.info("server").get("run_id", "")
        answer = self._beat_once(server)
        if answer == b"gone":  # the index was emptied
            self._follow()
            answer = self._beat_once(server)
        return answer

    def _beat_once(self, server: str) -> bytes:
        was_away = monotonic() - self._shown > LIFE_SECONDS / 2
        arguments: list[bytes | str | int] = [
            self._epoch,
            self._keys.prefix,
            self._name,
            LIFE_SECONDS,
            server,
            was_away * 1,
        ]
        answer: bytes = self._connection.evaluate(scripts.BEAT, [self._keys.meta], arguments)
        self._shown = monotonic()
        return answer

    def _follow(self) -> None:
        """Read the epoch of the index."""
        self._epoch = read_epoch(self._connection, self._header)
        self._keys = Keys(self._connection.address, self._epoch)


def show_life_soon() -> None:
    """Give signs of life of all runs that this process holds, because a new client waits for them."""
    for run in tuple(_held):
        run.show_life_soon()


def is_held_here(number: int) -> bool:
    """Return whether this process holds the run with *number*."""
    return any(run.number == number for run in tuple(_held))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_held.clear)
