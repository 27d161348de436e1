"""A connection to a server, which runs commands and raises clear errors."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
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
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.index")

_OLDEST = (6, 2)
ANSWER_SECONDS = 5.0
"""Maximum time to wait for an answer, in seconds."""
_LOST = ServerGone, ServerSilent, OSError, ReadOnlyError, MasterDownError
Command = Sequence["bytes | str | int"]


class ServerConnection:
    """One connection to a server. It is made with the first command, and anew after it was lost. Thread-safe."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self._process = os.getpid()
        self._using = threading.RLock()
        try:
            self._pool = redis.ConnectionPool.from_url(
                address.url,
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
                protocol=2,
                max_connections=1 << 31,  # redis-py counts all connections that were ever made
            )
        except (ValueError, RedisError) as error:
            raise IndexUnusable(self._describe(error)) from None
        self._connection: Any = None

    def call(self, *words: bytes | str | int) -> Any:
        """Run a command outside of a transaction and return its answer. Raises as :meth:`run`."""
        return self.run(words, begins=True)[0]

    def run(self, *commands: Command, begins: bool = False) -> list[Any]:
        """Run commands, which are sent together, and return their answers.

        Args:
            begins: whether no transaction has begun: another connection is made if the other end has closed this one.

        Raises:
            ConnectionLost: the server is gone, does not answer, or is a replica now.
            IndexUnusable: the server refuses a command, or this process is a fork of the one that made the connection.
        """
        if os.getpid() != self._process:
            raise IndexUnusable(
                f"The index in {self.address} was opened before this process was forked: open it only after the fork."
            )
        with self._using:
            try:
                if begins and self._connection is not None and not _is_open(self._connection):
                    self.close()
                self._connection = connection = self._connection or self._pool.make_connection()
                connection.send_packed_command([b"".join(map(pack_command, map(tuple, commands)))], check_health=False)
                answers = [_read_answer(connection) for _ in commands]
                for answer in chain(answers, *(answer for answer in answers if isinstance(answer, list))):
                    if isinstance(answer, ResponseError):
                        raise answer
            except (RedisError, OSError) as error:
                is_lost = isinstance(error, _LOST) or str(error).startswith("BUSY ")
                if is_lost or not isinstance(error, ResponseError):
                    self.close()
                is_lost = is_lost and not isinstance(error, AuthenticationError)  # redis-py derives it from ServerGone
                raise (ConnectionLost if is_lost else IndexUnusable)(self._describe(error)) from None
        return answers

    def info(self, section: str) -> dict[str, str]:
        """Return a section of the server's information about itself, as name → value."""
        text = self.run((b"INFO", section))[0].decode("utf-8", "replace")
        return dict(re.findall(r"^(\w+):(.*?)\r?$", text, re.MULTILINE))

    def close(self) -> None:
        """Close the connection; the next command makes another one."""
        if os.getpid() == self._process:
            with self._using:
                if self._connection is not None:
                    self._connection.disconnect()
                self._connection = None

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


def _is_open(connection: Any) -> bool:
    """Return whether a connection on which no answer is awaited is still open: otherwise its end can be read."""
    with suppress(RedisError, OSError):
        return not connection.can_read(0)
    return False


def require_server(connection: ServerConnection) -> None:
    """Check that a server can hold an index; log a warning if it does not store that on a disk.

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
        fault = f"removes data when its memory is full (maxmemory-policy {policy}). An index needs `noeviction`."
    if fault:
        raise IndexUnusable(f"The server of the index in {connection.address} {fault}")
    with suppress(IndexUnusable):  # the user may not ask, as on many hosted servers, which store to disk
        if info.get("aof_enabled") != "1" and not all(connection.call(b"CONFIG", b"GET", b"save")):
            logger.warning(
                "The server of the index in %s stores nothing on disk: the index is lost when it stops. `appendonly yes`"
                " keeps it.",
                connection.address,
            )


def read_time(connection: ServerConnection) -> float:
    """Return the time of the server, in seconds since 1970."""
    seconds, microseconds = connection.call(b"TIME")
    return int(seconds) + int(microseconds) / 1e6
