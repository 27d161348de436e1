"""Processes that execute commands from a socket, and that can be killed at any time."""

import os
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from crawler_dedup import Config, Decision, Deduplicator, SignedPage
from crawler_dedup.index import runs
from tests.support import processes


class Nothing:
    """The result if there is no answer."""


class Worker:
    """A process that executes commands at the times that they contain, and has no index open at first.

    Args:
        module: the module whose ``main`` the process runs.
    """

    def __init__(self, module: str = "tests.support.workers") -> None:
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


class _Index:
    """An index, and the commands about it."""

    def __init__(self, _: Clocks, directory: Path, grace: int) -> None:
        self._opened = Deduplicator.open(directory, Config(tokenizer="bigrams", grace=grace))
        self.run = self._opened.run

    def offer(self, page: SignedPage) -> Decision:
        return self._opened.submit([page], claim=True).result()[0]

    def settle(self, decision: Decision) -> bool:
        return self._opened.settle(decision)

    def release(self, decision: Decision) -> bool:
        return self._opened.release(decision)

    def tidy(self, _: None) -> None:
        self._opened.tidy()

    def close(self, _: None) -> None:
        self._opened.close()


def main() -> None:
    """Execute the commands from the socket that is the standard input of this process."""
    work(_Index)


def work(open_index: Callable[..., Any]) -> None:
    """Execute the commands from the socket that is the standard input of this process, and end the process.

    The command ``open`` opens the index; each other one is a method of what that returns.
    """
    clocks = Clocks()
    runs.time, runs.monotonic = clocks.time, clocks.monotonic  # type: ignore[attr-defined]
    opened, command = None, ""
    with Connection(os.dup(0)) as connection:
        try:
            while command != "close":
                command, (clocks.passed, clocks.behind), argument = connection.recv()
                if command == "open":
                    opened = open_index(clocks, *argument)
                    connection.send(opened.run)
                else:
                    connection.send(getattr(opened, command)(argument))
        except EOFError:
            os._exit(0)
        except BaseException:
            connection.send(traceback.format_exc())
            os._exit(1)
    os._exit(0)
