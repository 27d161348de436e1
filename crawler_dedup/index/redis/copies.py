"""Copies of an index: its replicas, and what the server has written to its disk.

A server answers before its replicas have a change, and with ``appendfsync everysec`` before it is on disk. When it is lost
then, the change is. For most changes that means at worst that a page is stored twice. What takes something back waits here.
"""

from __future__ import annotations

import re
from time import monotonic

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.redis.connection import ConnectionLost, ServerConnection

_WAIT_SECONDS = 2.0
_PAUSE_SECONDS = 30.0
"""Seconds for which nothing is waited for after it was waited for in vain: that holds up all others."""
_MISSED_SECONDS = 600.0
"""Seconds for which a replica that is not there any more is expected to have what is written."""
_LOOK_SECONDS = 60.0
"""Seconds after which the replicas are counted again."""
_ONLINE = re.compile(r"(^|,)state=online(,|$)")


class Copies:
    """Waits until all copies of an index have what was written through a connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._replicas = 0
        self._missed: list[float] = []  # when each replica that is not there any more was first missed
        self._look_at = 0.0
        self._failed = 0.0

    def look_from_time_to_time(self) -> None:
        """Count the replicas, unless that was done a moment ago."""
        if monotonic() >= self._look_at:
            self.look()

    def look(self) -> None:
        """Count the replicas. One that was there at an earlier look still counts for minutes: it may take over."""
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
        """Wait until all replicas have what was written, and it is on the disk of the server.

        Raises:
            IndexUnusable: it is not within seconds.
        """
        if monotonic() < self._failed + _PAUSE_SECONDS and self._failed:
            raise self._complain("a moment ago, they had not what was written")
        self.look()
        timeout = round(1000 * _WAIT_SECONDS)
        have = self._connection.call(b"WAIT", self._replicas, timeout) if self._replicas else 0
        if have < self._replicas:
            self._failed = monotonic()
            raise self._complain(f"{have} of {self._replicas} replicas have what was written")
        if self._is_written_to_disk() and self._connection.call(b"WAITAOF", 1, 0, timeout)[0] < 1:
            self._failed = monotonic()
            raise self._complain("what was written is not on the disk of the server")
        self._failed = 0.0

    def _is_written_to_disk(self) -> bool:
        """Return whether the server can tell when something is on its disk. Another one may have taken its place."""
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
        except IndexUnusable:  # the user may not ask, as with many hosted servers, which write it
            return True
        return bool(policy[1:] != [b"no"])

    def _complain(self, what: str) -> IndexUnusable:
        return IndexUnusable(
            f"What takes pages back in the index in {self._connection.address} may be lost with its server: {what}."
        )
