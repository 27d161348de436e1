"""A process that changes an index on command, at times given by the commands, for tests that kill it."""

from __future__ import annotations

from multiprocessing.connection import Connection

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index import runs
from tests.support.workers import Clocks, work


def _execute_command(connection: Connection) -> None:
    """Open an index on command, and execute commands on it at the times that they contain."""
    clocks = Clocks()
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
    """Execute the commands from the socket that is the standard input of this process."""
    work(_execute_command)
