"""A process that does to an index what it is told, at the time it is told, for the tests that kill it."""

from __future__ import annotations

import os
import traceback
from multiprocessing.connection import Connection

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index import runs


class _Clocks:
    """What a process is told of the time: how much has passed, and how much its system's clock was set back."""

    passed = behind = 0.0

    def monotonic(self) -> float:
        return self.passed

    def time(self) -> float:
        return self.passed - self.behind


def _obey(connection: Connection) -> None:
    """A process: opens an index when it is told to, and does there what it is told to, at the time it is told."""
    clocks = _Clocks()
    opened: Deduplicator | None = None
    runs.time, runs.monotonic = clocks.time, clocks.monotonic  # type: ignore[attr-defined]
    while True:
        command, (clocks.passed, clocks.behind), argument = connection.recv()
        if command == "open":
            directory, grace = argument
            opened = Deduplicator.open(directory, Config(tokenizer="bigrams", grace=grace))
            connection.send(None)
            continue
        assert opened is not None
        if command == "offer":
            connection.send(opened.submit([argument], claim=True).result()[0])
        elif command == "settle":
            connection.send(opened.settle(argument))
        elif command == "release":
            connection.send(opened.release(argument))
        elif command == "tidy":
            opened.tidy()
            connection.send(None)
        else:
            opened.close()
            connection.send(None)
            return


def main() -> None:
    """Obey the commands that come through the socket that is this process's input, and answer them."""
    with Connection(os.dup(0)) as connection:
        try:
            _obey(connection)
        except EOFError:
            os._exit(0)
        except BaseException:
            connection.send(traceback.format_exc())
            os._exit(1)
    os._exit(0)
