"""Processes that execute commands from a socket, and that can be killed at any time."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tests.support import processes


class Nothing:
    """The result if there is no answer."""


class Worker:
    """A process that executes commands, and has no index open at first.

    Args:
        module: the module whose ``main`` the process runs.
    """

    def __init__(self, module: str = "tests.support.worker") -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = ["-c", f"from {module} import main; main()"]
            self._process = processes.start(arguments, stdin=theirs.fileno(), stdout=None, stderr=None)
        self._connection = Connection(ours.detach())

    def send(self, command: str, now: tuple[float, float], argument: object = None) -> None:
        self._connection.send((command, now, argument))

    def answer(self) -> Any:
        assert self._connection.poll(30), "a process hangs"
        return self._checked(self._connection.recv())

    def kill(self) -> Any:
        """Kill the process; return its answer to the last command if that was not fetched, or else :class:`Nothing`."""
        self._process.kill()
        self._process.wait()
        try:
            return self._checked(self._connection.recv())
        except (EOFError, ConnectionResetError):
            return Nothing
        finally:
            self._connection.close()

    def leave(self) -> None:
        """Wait for the process to end by itself."""
        assert self._process.wait() == 0
        self._connection.close()

    @staticmethod
    def _checked(answer: Any) -> Any:
        assert not isinstance(answer, str), answer
        return answer


class Clocks:
    """The clocks of a process: the time that has passed, and by how much the clock of its system was set back."""

    passed = behind = 0.0

    def monotonic(self) -> float:
        return self.passed

    def time(self) -> float:
        return self.passed - self.behind


def work(execute_command: Callable[[Connection], None]) -> None:
    """Execute the commands from the socket that is the standard input of this process, and end the process."""
    with Connection(os.dup(0)) as connection:
        try:
            execute_command(connection)
        except EOFError:
            os._exit(0)
        except BaseException:
            connection.send(traceback.format_exc())
            os._exit(1)
    os._exit(0)
