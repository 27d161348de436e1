"""What several processes have committed is what one process would decide in that order: with the same decisions, and the
same knowledge of sites, byte for byte.

Real processes work on one index, in a directory or on a server, and some of them are killed. Each event is recorded in the
transaction that commits it. Afterwards one process does the same on a new index in a directory, event by event.
"""

import itertools
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_dedup import Config, Decision, SignedPage, Verdict
from crawler_dedup.index import runs
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.location import Location, ServerAddress
from crawler_dedup.index.opening import open_to_write
from crawler_dedup.index.profiles import StoredSite
from crawler_dedup.index.records import Record
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.filelocks import ProcessLock
from tests.support.crawling import article
from tests.support.examples import examples
from tests.support.indexing import FILING
from tests.support.places import Places
from tests.support.recording import Event, read_events
from tests.support.servers import end_signs_of_life
from tests.support.verification import verify
from tests.support.workers import Nothing, Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked and spoken to as on Linux")

GRACE = 5
DATABASES = ("tables", "runs", "sites")
COUNTED: Counter[str] = Counter()
"""Counts of events in all examples."""

# Pages

_HOSTS = ("http://a.example", "https://www.a.example", "http://b.example")
_CONTENTS = 24


@cache
def signed(content: int, host: int, copy: int) -> SignedPage:
    """Return an article; a copy has other bytes and lacks what the site writes into its titles."""
    body = article(content, count=60, frame=f"copy {copy}", links=["/", "/about", f"/{content}"])
    if not copy:
        body = body.replace("</title>", " | Tea House</title>")
    page, _ = _signer().sign(
        f"{_HOSTS[host]}/{content}/{copy}", body.encode(), encoding=None, key=None, scope=f"{content % 2}" * (host == 2)
    )
    return msgspec.structs.replace(page, links_followed=copy == 2)


@cache
def _signer() -> Signer:
    return Signer(Config(tokenizer="bigrams"))


# Histories

_PAGES = st.builds(
    signed, st.integers(0, _CONTENTS - 1), st.sampled_from([0, 0, 1, 2]), st.sampled_from([0, 0, 0, 1, 2])
)
_OFFERS = st.tuples(st.just("offer"), st.tuples(st.lists(_PAGES, min_size=1, max_size=4), st.booleans()))
_ENDS = st.tuples(st.sampled_from(["settle", "settle", "release"]), st.integers(0, 9))
_WORK = st.lists(_OFFERS | _ENDS, min_size=1, max_size=12)
_SLOTS = st.integers(0, 2)
_DELAYS = st.sampled_from([0.0, 0.2, 0.5, 1.0, 2.0])
"""Milliseconds from a command to the kill: as long as it takes to do what it says."""
_STEPS = st.one_of(
    st.tuples(st.just("work"), _SLOTS, _WORK),
    st.tuples(st.just("work"), _SLOTS, _WORK),
    st.tuples(st.just("together"), st.permutations(range(3)), st.tuples(_WORK, _WORK)),
    st.tuples(st.just("kill"), st.permutations(range(3)), st.tuples(_WORK, _WORK, _DELAYS)),
    st.tuples(st.just("forget"), _SLOTS, _PAGES),
    st.tuples(st.just("close"), _SLOTS, st.booleans()),
    st.tuples(st.just("pass"), st.sampled_from([0.7, 3.0, 6.0]), st.sampled_from([0.0, 0.0, 2.0])),
)
_BEGINNING = [("offer", ([signed(content, 0, 0)], False)) for content in range(6)]


class _Crowd:
    """Up to three processes on one index, and the time."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._workers: list[Worker | None] = [None] * 3
        self._runs = [0] * 3
        self._now = (1_700_000_000.7, 0.0)
        self.work(0, _BEGINNING)

    def _worker(self, slot: int) -> Worker:
        worker = self._workers[slot]
        if worker is None:
            worker = self._workers[slot] = Worker("tests.support.recording")
            worker.send("open", self._now, (self._location, GRACE))
            self._runs[slot] = worker.answer()
            self._show_life()
        return worker

    def _show_life(self) -> None:
        """Let all processes show that they live: the one that has just begun does not know which of them do."""
        for worker in self._workers:
            if worker is not None:
                worker.send("show_life", self._now, None)
                assert worker.answer()

    def work(self, slot: int, steps: list[Any]) -> None:
        self._worker(slot).send("work", self._now, steps)
        COUNTED["decisions"] += self._worker(slot).answer()

    def together(self, slots: list[int], work: tuple[list[Any], list[Any]]) -> None:
        workers = [self._worker(slot) for slot in slots[:2]]
        for worker, steps in zip(workers, work, strict=True):
            worker.send("work", self._now, steps)
        for worker in workers:
            COUNTED["decisions"] += worker.answer()

    def kill(self, slots: list[int], work: tuple[list[Any], list[Any], float]) -> None:
        """Kill a process while another one may wait for its transaction; on a server that one could give up."""
        killed, steps, delay = self._worker(slots[0]), work[:2], work[2]
        waiting = [] if isinstance(self._location, ServerAddress) else [self._worker(slots[1])]
        for worker, given_steps in zip([killed, *waiting], steps, strict=False):
            worker.send("work", self._now, given_steps)
        time.sleep(delay / 1000)
        COUNTED["kills in the middle"] += killed.kill() is Nothing
        self._workers[slots[0]] = None
        for worker in waiting:
            COUNTED["decisions"] += worker.answer()
        if isinstance(self._location, ServerAddress):  # otherwise the system reports that it is dead
            end_signs_of_life(self._location, self._runs[slots[0]])

    def forget(self, slot: int, page: SignedPage) -> None:
        self._worker(slot).send("forget", self._now, page.url)
        COUNTED["forgotten"] += self._worker(slot).answer()

    def close(self, slot: int, finished: bool) -> None:
        worker, self._workers[slot] = self._workers[slot], None
        if worker is not None:
            worker.send("close", self._now, finished)
            worker.answer()
            worker.leave()

    def pass_(self, seconds: float, behind: float) -> None:
        self._now = self._now[0] + seconds, self._now[1] + behind

    def kill_all(self) -> None:
        for slot, worker in enumerate(self._workers):
            if worker is not None:
                worker.kill()
                self._workers[slot] = None


# Replay


class _Replay:
    """One process that does what several have done."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._matcher = RuleMatcher(_signer().config, _signer().scheme)
        self._stores: dict[int, DirectoryIndex] = {}
        self._locks: dict[int, ProcessLock] = {}
        self._wall = 0.0
        monkeypatch.setattr(runs, "time", lambda: self._wall)
        self.store = self._store(0)

    def apply(self, event: Event) -> Any:
        """Do what *event* was, and return what comes out."""
        self._wall = event.wall
        if event.run not in self._locks:
            self._locks[event.run] = ProcessLock(self._directory / f"run-{event.run:08x}.lock")
        for number in event.dead & self._locks.keys():
            self._locks[number].release()
        store, context = self._store(event.run), RunContext(event.run, GRACE, clock=lambda: event.now)
        match event.kind:
            case "offer":
                pages, claim = event.arguments
                claims = iter([decision.claim for decision in event.result if decision.claim])
                claiming = RunContext(event.run, GRACE, lambda: next(claims), clock=lambda: event.now)
                return store.offer(pages, self._matcher, claiming if claim else context).result()
            case "end_claim":
                decision, settled = event.arguments
                return store.end_claim(decision, self._matcher, context, settled=settled, urgent=True).result()
            case "forget":
                store.forget(lambda record: record.page.url == event.arguments, FILING)
            case "close":
                store.end_run(context, finished=event.arguments)
                self._locks[event.run].release()
        return event.result

    def _store(self, run: int) -> DirectoryIndex:
        if run not in self._stores:
            signer = _signer()
            self._stores[run] = DirectoryIndex.open(
                self._directory, signer.spec, signer.libraries, map_size=1 << 30, fresh=False
            )
        return self._stores[run]

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        for lock in self._locks.values():
            lock.release()


def _without_addresses(result: Any) -> Any:
    """Return decisions without addresses of duplicates: each process stores those of many decisions together."""
    if not isinstance(result, list):
        return result
    return [replace(item, also_at=()) if isinstance(item, Decision) else item for item in result]


def contents(backend: Index) -> tuple[list[Record], list[StoredSite]]:
    """Return what an index has filed, without addresses of duplicates, and what it knows of sites."""
    records = [msgspec.structs.replace(record, also_at=()) for record in backend.records()]
    return sorted(records, key=lambda record: (record.page.scope, record.page.key)), sorted(
        backend.sites(), key=lambda site: site.key
    )


def rows(environment: Environment) -> dict[str, dict[bytes, bytes]]:
    """Return the buckets, runs and sites of an index in a directory, as they stand there."""
    return {name: _rows_of(environment, name.encode()) for name in DATABASES}


def _rows_of(environment: Environment, name: bytes) -> dict[bytes, bytes]:
    database = environment.make_databases(lambda env, txn: env.open_db(name, txn))
    with environment.read() as txn, txn.cursor(db=database) as cursor:
        return {bytes(key): bytes(content) for key, content in cursor}


def replay_and_compare(folder: Path, location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    original = open_to_write(location)
    replay = _Replay(folder / "replay", monkeypatch)
    try:
        events = read_events(location)
        for number, event in enumerate(events):
            history = "\n".join(map(str, events[: number + 1]))
            assert _without_addresses(replay.apply(event)) == _without_addresses(event.result), history
            _count(event)
        assert contents(replay.store) == contents(original)
        assert verify(original, FILING) == []
        if isinstance(original, DirectoryIndex):
            assert rows(replay.store.environment) == rows(original.environment)
    finally:
        replay.close()
        original.close()


def _count(event: Event) -> None:
    COUNTED[event.kind] += 1
    COUNTED["deaths seen"] += bool(event.dead)
    if event.kind == "offer":
        decisions: list[Decision] = event.result
        COUNTED["by a snapshot"] += sum(decision.snapshot > 0 for decision in decisions)
        COUNTED["drops"] += sum(decision.verdict is Verdict.DUPLICATE for decision in decisions)


_EVENTS = ("kills in the middle", "deaths seen", "drops", "by a snapshot", "forgotten", "close")
_ROUNDS = 6


@pytest.mark.parametrize(("count", "steps"), [(examples(20), 20), pytest.param(300, 60, marks=pytest.mark.slow)])
def test_one_process_in_a_directory_decides_as_several_have_decided_there_or_on_a_server(
    count: int, steps: int, places: Places, tmp_path: Path
) -> None:
    COUNTED.clear()
    names = itertools.count()

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
    @given(st.lists(_STEPS, min_size=steps // 2, max_size=steps))
    def replay(history: list[tuple[str, Any, Any]]) -> None:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        location = folder / "index" if places.server is None else places(str(next(names)))
        crowd = _Crowd(location)
        try:
            for kind, slot, argument in history:
                getattr(crowd, "pass_" if kind == "pass" else kind)(slot, argument)
            crowd.kill_all()
            with pytest.MonkeyPatch.context() as monkeypatch:
                replay_and_compare(folder, location, monkeypatch)
        finally:
            crowd.kill_all()
            shutil.rmtree(folder)

    for _ in range(_ROUNDS):  # random steps may lack an event
        replay()
        if all(COUNTED[name] for name in _EVENTS):
            break
    print("\n" + ", ".join(f"{count} {name}" for name, count in COUNTED.items()))
    for name in _EVENTS:
        assert COUNTED[name] > 0, name
