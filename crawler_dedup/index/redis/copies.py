"""The copies of an index: on the replicas of its server, and on the disk of the server.

A server answers before its replicas have a change, and with ``appendfsync everysec`` before the change is on disk. If the
server is lost at that moment, so is the change. For most changes this means at worst that a page is stored twice. A change
that takes something back must wait for the copies.
"""

from __future__ import annotations

import re
from time import monotonic

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index.redis.connection import ServerConnection

_WAIT_SECONDS = 2.0
_PAUSE_SECONDS = 30.0
"""Seconds after a wait in vain during which :meth:`Copies.confirm` fails at once: waiting holds up all other jobs."""
_MISSED_SECONDS = 600.0
"""Seconds for which a replica that has disappeared is still required to have what is written."""
_LOOK_SECONDS = 60.0
"""Seconds after which the replicas are counted again."""
_ONLINE = re.compile(r"(^|,)state=online(,|$)")


class Copies:
    """Waits until all copies of an index have what was written through a connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._replicas = 0
        self._missed: list[float] = []  # when each of the missing replicas was first missed
        self._look_at = 0.0
        self._failed = 0.0

    def look_from_time_to_time(self) -> None:
        """Count the replicas, unless this was done in the last minute."""
        if monotonic() >= self._look_at:
            self.look()

    def look(self) -> None:
        """Count the replicas. A replica that has disappeared is still counted for ten minutes: it may take over."""
        facts = self._connection.info("replication").items()
        online = sum(name.startswith("slave") and _ONLINE.search(value) is not None for name, value in facts)
        now = monotonic()
        still = [moment for moment in self._missed if now - moment <= _MISSED_SECONDS]
        self._replicas = max(online, self._replicas - len(self._missed) + len(still))
        missing = self._replicas - online
        self._missed = (
            still[len(still) - missing :] if missing <= len(still) else [*still, *[now] * (missing - len(still))]
        )
        self._look_at = now + _LOOK_SECONDS

    def confirm(self) -> None:
        """Wait until what was written is on all replicas and on the disk of the server.

        Raises:
            IndexUnusable: this takes longer than a few seconds, or did so a moment ago.
        """
        if monotonic() < self._failed + _PAUSE_SECONDS and self._failed:
            raise self._complain("an earlier change was not on all copies a moment ago")
        self.look()
        timeout = round(1000 * _WAIT_SECONDS)
        have = self._connection.call(b"WAIT", self._replicas, timeout) if self._replicas else 0
        if have < self._replicas:
            self._failed = monotonic()
            raise self._complain(f"{have} of {self._replicas} replicas have it")
        if self._is_written_to_disk() and self._connection.call(b"WAITAOF", 1, 0, timeout)[0] < 1:
            self._failed = monotonic()
            raise self._complain("it is not on the disk of the server")
        self._failed = 0.0

    def _is_written_to_disk(self) -> bool:
        """Return whether the server can report that a change is on its disk. It may be another server than before."""
        if self._connection.info("persistence").get("aof_enabled") != "1":
            return False
        try:
            self._connection.call(b"WAITAOF", 0, 0, 0)
        except ConnectionLost:
            raise
        except IndexUnusable:  # Redis before 7.2, or the user may not ask
            return False
        try:
            policy = self._connection.call(b"CONFIG", b"GET", b"appendfsync")
        except ConnectionLost:
            raise
        except IndexUnusable:  # the user may not ask, as on many hosted servers, which write to disk
            return True
        return bool(policy[1:] != [b"no"])

    def _complain(self, what: str) -> IndexUnusable:
        return IndexUnusable(
            f"A change that takes pages back in the index in {self._connection.address} may be lost with its server: {what}."
        )
