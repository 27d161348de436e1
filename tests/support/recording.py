"""A process that changes an index on command, and records in the index itself its committed events, in their order.

The record of an event is written in the transaction of the event. A process may be killed at any instant, and still the
recorded events are exactly the committed events.
"""

import io
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import lmdb

from crawler_dedup import Config, Decision, Deduplicator, SignedPage
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.lmdb.storage import DirectoryStorage
from crawler_dedup.index.location import Location, ServerAddress
from crawler_dedup.index.opening import open_to_write
from crawler_dedup.system.extras import has_extra
from tests.support.indexing import FILING
from tests.support.workers import Clocks, work

EVENTS = b"events"


class Event(NamedTuple):
    """A committed call.

    Attributes:
        kind: ``offer``, ``end_claim``, ``forget`` or ``close``.
        run: number of the run that made the call.
        now: the time by the clock of the run.
        wall: the time by the clock of the system.
        arguments: the arguments of the call.
        dead: runs that were found to be dead in the transaction.
        result: the result of the call.
    """

    kind: str
    run: int
    now: int
    wall: float
    arguments: Any
    dead: frozenset[int] = frozenset()
    result: Any = None


def read_events(location: Location) -> list[Event]:
    """Return all events of an index in the order in which they were committed."""
    if isinstance(location, ServerAddress):
        from crawler_dedup.index.redis.connection import ServerConnection

        with closing(ServerConnection(location)) as connection:
            contents = io.BytesIO(connection.call(b"GET", _events_key(location)) or b"")
        return list(iter(lambda: pickle.load(contents) if contents.tell() < len(contents.getvalue()) else None, None))
    store = DirectoryIndex.attach(location)
    try:
        database = store.environment.make_databases(lambda env, txn: env.open_db(EVENTS, txn))
        with store.environment.read() as txn, txn.cursor(db=database) as cursor:
            return [pickle.loads(bytes(content)) for _, content in cursor]
    finally:
        store.close()


def _events_key(address: ServerAddress) -> bytes:
    from crawler_dedup.index.redis.keys import Keys

    return Keys(address).meta + EVENTS


class _Recorder:
    """Records the current event in the job that writes it."""

    def __init__(self) -> None:
        self._event: Event | None = None
        self._dead: set[int] = set()

    def install(self, store: Any) -> None:
        """Record from now on the changes that this process makes to the index that is open as *store*."""
        if isinstance(store, DirectoryIndex):
            self._install_in_directory(store.environment)
        else:
            self._install_on_server(store._connection.address)

    @contextmanager
    def event(self, event: Event) -> Iterator[None]:
        """Record the job that is submitted within the block as *event*."""
        self._event = event
        yield
        self._event = None

    def _install_in_directory(self, environment: Environment) -> None:
        database = environment.make_databases(lambda env, txn: env.open_db(EVENTS, txn))

        def record(txn: lmdb.Transaction, content: bytes) -> None:
            with txn.cursor(db=database) as cursor:
                number = int.from_bytes(cursor.key(), "big") + 1 if cursor.last() else 1
                cursor.put(number.to_bytes(8, "big"), content)

        self._record_jobs(Environment, record)
        self._note_deaths(DirectoryStorage)

    def _install_on_server(self, address: ServerAddress) -> None:
        from crawler_dedup.index.redis.storage import ServerStorage
        from crawler_dedup.index.redis.writer import Writer

        def record(tables: Any, content: bytes) -> None:
            added = tables._storage._added
            cell = (_events_key(address),)
            added[cell] = added.get(cell, b"") + content

        self._record_jobs(Writer, record)
        self._note_deaths(ServerStorage)

    def _record_jobs(self, writer: Any, record: Callable[[Any, bytes], None]) -> None:
        """Let each job of *writer* that belongs to an event write the event in its transaction."""
        submit = writer.submit

        def submit_recorded(self_: Any, job: Callable[[Any], Any], **options: Any) -> Future[Any]:
            recorded = self._recorded(job, self._event, record) if self._event else job
            future: Future[Any] = submit(self_, recorded, **options)
            return future

        writer.submit = submit_recorded

    def _note_deaths(self, storage: Any) -> None:
        ask = storage.is_alive

        def lives(self_: Any, number: int) -> bool | None:
            answer: bool | None = ask(self_, number)
            if answer is False:
                self._dead.add(number)
            return answer

        storage.is_alive = lives

    def _recorded(
        self, job: Callable[[Any], Any], event: Event, record: Callable[[Any, bytes], None]
    ) -> Callable[[Any], Any]:
        def run(txn: Any) -> Any:
            self._dead.clear()
            result = job(txn)
            record(txn, pickle.dumps(event._replace(dead=frozenset(self._dead), result=result)))
            return result

        return run


class _Process:
    """The index that a process has open, and the decisions whose pages it has not handled yet."""

    def __init__(self, clocks: Clocks, location: Location, grace: int) -> None:
        if has_extra("redis"):
            from crawler_dedup.index.redis import index as server_index
            from crawler_dedup.index.redis import runs as server_runs

            for module in (server_runs, server_index):
                server_runs.RENEWAL_SECONDS = 0
                setattr(module, "read_time", lambda _: clocks.time())  # noqa: B010  (a name that the module has imported)
        self._clocks = clocks
        self._recorder = _Recorder()
        self._deduplicator = Deduplicator.open(location, Config(tokenizer="bigrams", grace=grace))
        self._store = open_to_write(location)
        self._open: list[Decision] = []
        self._recorder.install(self._store)
        self.run = self._deduplicator.run

    def work(self, steps: list[tuple[str, Any]]) -> int:
        """Do all *steps* at once, so that they share transactions; return the number of decisions."""
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

    def show_life(self, _: None) -> bool:
        """Show that the run is alive, as a thread does every second if the index is on a server."""
        run: Any = self._deduplicator._run
        if hasattr(run, "show_life"):
            run.show_life()
        return True

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
        now = self._deduplicator._context.clock()
        return self._recorder.event(Event(kind, self._deduplicator.run, now, self._clocks.time(), arguments))


def main() -> None:
    """Execute the commands from the socket that is the standard input of this process."""
    work(_Process)
