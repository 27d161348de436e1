"""A connection to a server, which runs commands and raises clear errors."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from typing import Any

import redis
from hiredis import pack_command
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, MasterDownError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import ConnectionError as ServerGone
from redis.exceptions import TimeoutError as ServerSilent
from redis.retry import Retry

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index.location import ServerAddress

_OLDEST = (6, 2)
ANSWER_SECONDS = 5.0
"""Maximum time to wait for an answer, in seconds."""
Command = Sequence["bytes | str | int"]


class ServerConnection:
    """One connection to a server. It is made with the first command, and anew after it was lost. Thread-safe.

    Args:
        seconds: maximum time to wait for an answer.
    """

    def __init__(self, address: ServerAddress, seconds: float = ANSWER_SECONDS) -> None:
        self.address = address
        self._process = os.getpid()
        self._using = threading.RLock()
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
            raise IndexUnusable(self._describe(error)) from None
        self._connection: Any = None

    def call(self, *words: bytes | str | int) -> Any:
        """Run a command and return its answer. Raises as :meth:`run`."""
        return self.run(words)[0]

    def run(self, *commands: Command) -> list[Any]:
        """Run commands, which are sent together, and return their answers.

        Raises:
            ConnectionLost: the server is gone, does not answer, or is a replica now.
            IndexUnusable: the server refuses a command, or this process is a fork of the one that made the connection.
        """
        if not commands:
            return []
        if os.getpid() != self._process:
            raise IndexUnusable(
                f"The index in {self.address} was opened before this process was forked: open it only after the fork."
            )
        try:
            with self._using:
                connection = self._connection or self._connect()
                connection.send_packed_command([b"".join(map(pack_command, map(tuple, commands)))], check_health=False)
                answers = [_read_answer(connection) for _ in commands]
        except AuthenticationError as error:  # redis-py counts it as a lost connection
            self.close()
            raise IndexUnusable(self._describe(error)) from None
        except (ServerGone, ServerSilent, OSError) as error:
            self.close()
            raise ConnectionLost(self._describe(error)) from None
        except RedisError as error:
            self.close()
            raise IndexUnusable(self._describe(error)) from None
        for answer in answers + (answers[-1] if isinstance(answers[-1], list) else []):  # also of ``EXEC``
            if isinstance(answer, ResponseError):
                raise self._refusal(answer)
        return answers

    def _refusal(self, error: ResponseError) -> IndexUnusable:
        """Return the error to raise if the server has refused a command with *error*."""
        if isinstance(error, (ReadOnlyError, MasterDownError)) or str(error).startswith("BUSY "):
            self.close()
            return ConnectionLost(self._describe(error))
        return IndexUnusable(self._describe(error))

    def info(self, section: str) -> dict[str, str]:
        """Return a section of the server's information about itself, as name → value."""
        lines = self.call(b"INFO", section).decode("utf-8", "replace").splitlines()
        return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}

    def ensure(self) -> None:
        """Connect if there is no connection, or if the other end has closed it. Raises :class:`ConnectionLost`."""
        with self._using:
            if self._connection is not None and _is_closed(self._connection):
                self.close()
            if self._connection is None:
                self.call(b"PING")

    def close(self) -> None:
        """Close the connection; the next command makes another one."""
        if os.getpid() != self._process:
            return
        with self._using:
            if self._connection is not None:
                self._connection.disconnect()
            self._connection = None

    def _connect(self) -> Any:
        connection = self._pool.make_connection()
        connection.connect()
        self._connection = connection
        return connection

    def _describe(self, error: Exception) -> str:
        text = " ".join(str(error).split()).rstrip(".")
        if self.address.password:
            text = text.replace(self.address.password, "***")
        if self.address.user:
            text = re.sub(rf"\b{re.escape(self.address.user)}(?!\w)", "***", text)
        return f"The index in {self.address} cannot be used: {text or type(error).__name__}."


def _read_answer(connection: Any) -> Any:
    """Return the next answer, or the error by which the server refuses the command."""
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _is_closed(connection: Any) -> bool:
    """Return whether the other end has closed a connection on which no answer is awaited."""
    try:
        return bool(connection.can_read(0))
    except (RedisError, OSError):
        return True


def require_server(connection: ServerConnection) -> str:
    """Check that a server can hold an index; return a warning, or ``""``.

    Raises:
        IndexUnusable: the server is too old, belongs to a cluster, or may remove what is stored; and as
            :meth:`ServerConnection.run`.
    """
    info = connection.info("default")
    version, policy = info.get("redis_version", "0.0"), info.get("maxmemory_policy", "noeviction")
    fault = ""
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST:
        fault = f"has version {version}; the oldest that can be used is 6.2."
    elif info.get("cluster_enabled") == "1":
        fault = "belongs to a cluster. An index needs a single server."
    elif policy != "noeviction":
        fault = (
            f"removes what is stored when its memory is full (maxmemory-policy {policy}). An index needs `noeviction`."
        )
    if fault:
        raise IndexUnusable(f"The server of the index in {connection.address} {fault}")
    if info.get("aof_enabled") == "1" or _saves(connection):
        return ""
    return (
        f"The server of the index in {connection.address} stores nothing on disk: the index is lost when it stops."
        " `appendonly yes` keeps it."
    )


def _saves(connection: ServerConnection) -> bool:
    try:
        saving = connection.call(b"CONFIG", b"GET", b"save")
    except IndexUnusable:  # the user may not ask, as on many hosted servers, which store to disk
        return True
    return bool(saving[1:] and saving[1])


def read_time(connection: ServerConnection) -> float:
    """Return the time of the server, in seconds since 1970."""
    seconds, microseconds = connection.call(b"TIME")
    return int(seconds) + int(microseconds) / 1e6
