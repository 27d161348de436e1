"""A connection to a server: commands, scripts, and what goes wrong as a clear error."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from hashlib import sha1
from typing import Any

import redis
from hiredis import pack_command
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ServerGone
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.exceptions import TimeoutError as ServerSilent
from redis.retry import Retry

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.location import ServerAddress

_OLDEST = (6, 2)
ANSWER_SECONDS = 5.0
"""Seconds for which an answer is waited for."""


class ConnectionLost(IndexUnusable):
    """The server is gone, or does not answer: whether it has run the last command is not known."""


class ServerConnection:
    """One connection to a server. It is made with the first command, and anew after it was lost. Thread-safe.

    Args:
        seconds: how long an answer is waited for.

    Attributes:
        opened: how many times the connection was made. What was read before the last time may be outdated.
    """

    def __init__(self, address: ServerAddress, seconds: float = ANSWER_SECONDS) -> None:
        self.address = address
        self.opened = 0
        self._process = os.getpid()
        self._using = threading.Lock()
        options: dict[str, Any] = {
            "socket_timeout": seconds,
            "socket_connect_timeout": seconds,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            "decode_responses": False,
        }
        try:
            self._pool = redis.ConnectionPool.from_url(address.url, **options)
        except (ValueError, RedisError) as error:
            raise self._explain(error) from None
        self._connection: Any = None
        self._digests: dict[str, bytes] = {}

    def call(self, *words: bytes | str | int) -> Any:
        """Run a command and return its answer.

        Raises:
            ConnectionLost: the server is gone, or does not answer.
            IndexUnusable: it refuses the command.
        """
        if os.getpid() != self._process:
            raise IndexUnusable(f"The index in {self.address} was opened by a process of which this is a fork.")
        try:
            with self._using:
                connection = self._connection or self._connect()
                connection.send_packed_command([pack_command(words)], check_health=False)
                return connection.read_response()
        except (ServerGone, ServerSilent, OSError) as error:
            self.drop()
            raise ConnectionLost(self._describe(error)) from None
        except NoScriptError:
            raise
        except ResponseError as error:
            raise self._explain(error) from None
        except RedisError as error:
            self.drop()
            raise self._explain(error) from None

    def evaluate(self, script: str, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Any:
        """Run *script* and return its answer. Raises as :meth:`call`."""
        digest = self._digests.get(script)
        if digest is None:
            digest = self._digests[script] = sha1(script.encode(), usedforsecurity=False).hexdigest().encode()
        try:
            return self.call(b"EVALSHA", digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return self.call(b"EVAL", script, len(keys), *keys, *arguments)

    def info(self, section: str) -> dict[str, str]:
        """Return what the server says of itself."""
        lines = self.call(b"INFO", section).decode("utf-8", "replace").splitlines()
        return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}

    def ensure(self) -> None:
        """Make the connection, if there is none. Raises :class:`ConnectionLost`."""
        if self._connection is None:
            self.call(b"PING")

    def drop(self) -> None:
        """Close the connection; the next command makes another one."""
        if self._connection is not None and os.getpid() == self._process:
            self._connection.disconnect()
        self._connection = None

    def _connect(self) -> Any:
        connection = self._pool.make_connection()
        connection.connect()
        self._connection = connection
        self.opened += 1
        return connection

    def _explain(self, error: Exception) -> IndexUnusable:
        return IndexUnusable(self._describe(error))

    def _describe(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        if self.address.password:
            text = text.replace(self.address.password, "***")
        if self.address.user:
            text = re.sub(rf"\b{re.escape(self.address.user)}(?!\w)", "***", text)
        return f"The index in {self.address} cannot be used: {text or type(error).__name__}."


def require_server(connection: ServerConnection) -> list[str]:
    """Check that a server can hold an index; return warnings, a sentence each.

    Raises:
        IndexUnusable: it is too old, or may remove what is stored; and as :meth:`ServerConnection.call`.
    """
    address = connection.address
    version = connection.info("server").get("redis_version", "0.0")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST:
        raise IndexUnusable(
            f"The server of the index in {address} has version {version}; 6.2 is the oldest that serves."
        )
    policy = connection.info("memory").get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise IndexUnusable(
            f"The server of the index in {address} removes what is stored when its memory is full (maxmemory-policy"
            f" {policy}). An index needs `maxmemory-policy noeviction`."
        )
    return (
        []
        if _is_persistent(connection)
        else [
            f"The server of the index in {address} stores nothing on disk: the index is lost with it. `appendonly yes`"
            " keeps it."
        ]
    )


def read_time(connection: ServerConnection) -> float:
    """Return the time of the server, in seconds since 1970."""
    seconds, microseconds = connection.call(b"TIME")
    return int(seconds) + int(microseconds) / 1e6


def _is_persistent(connection: ServerConnection) -> bool:
    if connection.info("persistence").get("aof_enabled") == "1":
        return True
    try:
        saving = connection.call(b"CONFIG", b"GET", b"save")
    except IndexUnusable:  # the user may not ask, as with many hosted servers, which store
        return True
    return bool(saving[1:] and saving[1])
