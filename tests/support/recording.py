"""A process that does to an index what it is told, and records in the index itself what it has committed, in its order.

What is recorded of an event is written in the transaction of the event: a process may be killed at any instant, and the
events that are recorded are those that were committed.
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import lmdb

from crawler_dedup import Config, Decision, Deduplicator, SignedPage
from crawler_dedup.index import runs
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.runtable import Runs
from crawler_dedup.index.lmdb.store import Store
from tests.support.indexing import FILING

EVENTS = b"events"


class Event(NamedTuple):
    """Something that was committed.

    Attributes:
        kind: ``offer``, ``end_claim``, ``forget`` or ``close``.
        run: number of the run that has done it.
        now: the time by the clock of the run.
        wall: the time by the clock of the system.
        arguments: with which it was called.
        dead: runs that were seen to be dead in the transaction.
        result: what came out.
    """

    kind: str
    run: int
    now: int
    wall: float
    arguments: Any
    dead: frozenset[int] = frozenset()
    result: Any = None


def read_events(environment: Environment) -> list[Event]:
    """Return all events of an index in the order in which they were committed."""
    database = environment.make_databases(lambda env, txn: env.open_db(EVENTS, txn))
    with environment.read() as txn, txn.cursor(db=database) as cursor:
        return [pickle.loads(bytes(content)) for _, content in cursor]


class _Clocks:
    """What a process is told of the time: how much has passed, and how much its system's clock was set back."""

    passed = behind = 0.0

    def monotonic(self) -> float:
        return self.passed

    def time(self) -> float:
        return self.passed - self.behind


class _Recorder:
    """Records the event under way with the job by which it is written."""

    def __init__(self) -> None:
        self._event: Event | None = None
        self._dead: set[int] = set()
        self._database: Any = None
        self._submit = Environment.submit
        self._lives = Runs._lives

    def install(self) -> None:
        """Record from now on, for this process."""
        recorder = self

        def submit(environment: Environment, job: Callable[[Any], Any], *, urgent: bool = True) -> Future[Any]:
            recorded = recorder._recorded(job, recorder._event) if recorder._event else job
            return recorder._submit(environment, recorded, urgent=urgent)

        def lives(known: Runs, number: int) -> bool | None:
            answer = recorder._lives(known, number)
            if answer is False:
                recorder._dead.add(number)
            return answer

        Environment.submit = submit  # type: ignore[method-assign,assignment]
        Runs._lives = lives  # type: ignore[method-assign,assignment]

    def open(self, environment: Environment) -> None:
        """Record in this index."""
        self._database = environment.make_databases(lambda env, txn: env.open_db(EVENTS, txn))

    @contextmanager
    def event(self, event: Event) -> Iterator[None]:
        """Record the job that is submitted within as *event*."""
        self._event = event
        yield
        self._event = None

    def _recorded(self, job: Callable[[lmdb.Transaction], Any], event: Event) -> Callable[[lmdb.Transaction], Any]:
        def run(txn: lmdb.Transaction) -> Any:
            self._dead.clear()
            result = job(txn)
            recorded = event._replace(dead=frozenset(self._dead), result=result)
            with txn.cursor(db=self._database) as cursor:
                number = int.from_bytes(cursor.key(), "big") + 1 if cursor.last() else 1
                cursor.put(number.to_bytes(8, "big"), pickle.dumps(recorded))
            return result

        return run


class _Process:
    """What a process has open, and the decisions whose pages it has not handled yet."""

    def __init__(self, clocks: _Clocks, recorder: _Recorder, directory: Path, grace: int) -> None:
        self._clocks = clocks
        self._recorder = recorder
        self._deduplicator = Deduplicator.open(directory, Config(tokenizer="bigrams", grace=grace))
        self._store = Store.attach(directory)
        self._open: list[Decision] = []
        recorder.open(self._store.environment)

    def work(self, steps: list[tuple[str, Any]]) -> int:
        """Do all *steps* at once, so that they share transactions; returns how many decisions there were."""
        offered, ended = [], []
        for kind, argument in steps:
            if kind == "offer":
                offered.append(self._offer(*argument))
            elif self._open:
                decision = self._open.pop(argument % len(self._open))
                with self._event("end_claim", (decision, kind == "settle")):
                    ended.append(self._deduplicator.end_claim(decision, settled=kind == "settle"))
        decisions = [decision for future in offered for decision in future.result()]
        self._open.extend(decision for decision in decisions if decision.claim)
        for future in ended:
            future.result()
        return len(decisions)

    def _offer(self, pages: list[SignedPage], claim: bool) -> Future[list[Decision]]:
        with self._event("offer", (pages, claim)):
            return self._deduplicator.submit(pages, claim=claim)

    def forget(self, url: str) -> int:
        """Forget a page."""
        with self._event("forget", url):
            return self._store.forget(lambda record: record.page.url == url, FILING)

    def close(self, finished: bool) -> None:
        """End the run."""
        self._store.close()
        with self._event("close", finished):
            self._deduplicator.close(finished=finished)

    def _event(self, kind: str, arguments: Any) -> Any:
        now = self._deduplicator._opened.terms.clock()
        return self._recorder.event(Event(kind, self._deduplicator.run, now, self._clocks.time(), arguments))


def _obey(connection: Connection) -> None:
    clocks, recorder = _Clocks(), _Recorder()
    runs.time, runs.monotonic = clocks.time, clocks.monotonic  # type: ignore[attr-defined]
    recorder.install()
    opened: _Process | None = None
    while True:
        command, (clocks.passed, clocks.behind), argument = connection.recv()
        if command == "open":
            opened = _Process(clocks, recorder, *argument)
            connection.send(opened._deduplicator.run)
            continue
        assert opened is not None
        connection.send(getattr(opened, command)(argument))
        if command == "close":
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
