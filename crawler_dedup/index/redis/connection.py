"""A connection to a server, which runs commands and scripts and raises clear errors."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from hashlib import sha1
from time import monotonic
from typing import Any

import redis
from hiredis import pack_command
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    MasterDownError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as ServerGone
from redis.exceptions import TimeoutError as ServerSilent
from redis.retry import Retry

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index.location import ServerAddress

_OLDEST = (6, 2)
ANSWER_SECONDS = 5.0
"""Maximum time to wait for an answer, in seconds."""
_IDLE_SECONDS = 0.5
"""Seconds without a command after which it is checked whether the other end has closed the connection."""


class ServerReadOnly(ConnectionLost):
    """The server is a replica now, which takes no changes: the last command was not run."""


class ServerConnection:
    """One connection to a server. It is made with the first command, and anew after it was lost. Thread-safe.

    Args:
        seconds: maximum time to wait for an answer.

    Attributes:
        opened: number of times that the connection was made. Data that was read before the last time may be outdated.
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
            "max_connections": 1 << 31,  # redis-py counts all connections that were ever made
            "decode_responses": False,
        }
        try:
            self._pool = redis.ConnectionPool.from_url(address.url, **options)
        except (ValueError, RedisError) as error:
            raise self._explain(error) from None
        self._connection: Any = None
        self._used = 0.0  # when the server answered last
        self._digests: dict[str, bytes] = {}

    def __enter__(self) -> ServerConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def call(self, *words: bytes | str | int) -> Any:
        """Run a command and return its answer.

        Raises:
            ConnectionLost: the server is gone, or does not answer.
            ServerReadOnly: the server is a replica now. The next command makes a new connection.
            IndexUnusable: the server refuses the command, or this process is a fork of the one that made the connection.
        """
        if os.getpid() != self._process:
            raise IndexUnusable(
                f"The index in {self.address} was opened before this process was forked: open it only after the fork."
            )
        try:
            with self._using:
                answer = self._ask(self._open_connection() or self._connect(), *words)
                self._used = monotonic()
                return answer
        except AuthenticationError as error:  # redis-py counts it as a lost connection
            self.drop()
            raise self._explain(error) from None
        except (ServerGone, ServerSilent, OSError) as error:
            self.drop()
            raise ConnectionLost(self._describe(error)) from None
        except NoScriptError:
            raise
        except ResponseError as error:
            # The server is a replica now, and its data may have changed. Redis 6.2 reports this in the message of a script.
            if isinstance(error, ReadOnlyError) or "-READONLY" in str(error):
                self.drop()
                raise ServerReadOnly(self._describe(error)) from None
            if isinstance(error, MasterDownError) or str(error).startswith("BUSY "):
                self.drop()
                raise ConnectionLost(self._describe(error)) from None
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
        """Return a section of the server's information about itself, as name → value."""
        lines = self.call(b"INFO", section).decode("utf-8", "replace").splitlines()
        return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}

    def ensure(self) -> None:
        """Connect if there is no connection. Raises :class:`ConnectionLost`."""
        with self._using:
            connection = self._open_connection()
        if connection is None:
            self.call(b"PING")

    def drop(self) -> None:
        """Close the connection; the next command makes another one."""
        if self._connection is not None and os.getpid() == self._process:
            self._connection.disconnect()
        self._connection = None

    def _open_connection(self) -> Any:
        """Return the connection; ``None`` if there is none, or if the other end has closed it while it was idle."""
        connection = self._connection
        if connection is not None and monotonic() > self._used + _IDLE_SECONDS and _is_closed(connection):
            self.drop()
        return self._connection

    def _connect(self) -> Any:
        connection = self._pool.make_connection()
        connection.connect()
        self._connection = connection
        self.opened += 1
        return connection

    @staticmethod
    def _ask(connection: Any, *words: bytes | str | int) -> Any:
        connection.send_packed_command([pack_command(words)], check_health=False)
        return connection.read_response()

    def _explain(self, error: Exception) -> IndexUnusable:
        return IndexUnusable(self._describe(error))

    def _describe(self, error: Exception) -> str:
        text = " ".join(str(error).split()).rstrip(".")
        if self.address.password:
            text = text.replace(self.address.password, "***")
        if self.address.user:
            text = re.sub(rf"\b{re.escape(self.address.user)}(?!\w)", "***", text)
        return f"The index in {self.address} cannot be used: {text or type(error).__name__}."


def _is_closed(connection: Any) -> bool:
    """Return whether the other end has closed a connection on which no answer is awaited."""
    try:
        return bool(connection.can_read(0))
    except (RedisError, OSError):
        return True


def require_server(connection: ServerConnection) -> list[str]:
    """Check that a server can hold an index; return warnings, a sentence each.

    Raises:
        IndexUnusable: the server is too old, belongs to a cluster, or may remove what is stored; and as
            :meth:`ServerConnection.call`.
    """
    address = connection.address
    version = connection.info("server").get("redis_version", "0.0")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST:
        raise IndexUnusable(
            f"The server of the index in {address} has version {version}; the oldest that can be used is 6.2."
        )
    if connection.info("cluster").get("cluster_enabled") == "1":
        raise IndexUnusable(
            f"The server of the index in {address} belongs to a cluster. An index needs a single server."
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
            f"The server of the index in {address} stores nothing on disk: the index is lost when it stops. `appendonly yes`"
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
    except IndexUnusable:  # the user may not ask, as on many hosted servers, which store to disk
        return True
    return bool(saving[1:] and saving[1])
