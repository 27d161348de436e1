"""Decisions about pages: one at a time, and 64 at a time, which share an fsync."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import lmdb

from benchmarks.index.data import pages
from crawler_dedup import Config, Decision, Deduplicator, SignedPage

WAITING = 64
_CONFIG = Config(tokenizer="bigrams")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Way(Generic[_T]):
    """A way to carry out operations; a round has *count* operations."""

    name: str
    run: Callable[[Iterable[_T]], None]
    count: int


def rates(ways: Iterable[Way[_T]], supply: Iterator[_T], rounds: int) -> dict[str, list[float]]:
    """Measure the operations per second of each way in turn."""
    done: dict[str, list[float]] = {way.name: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            items = list(islice(supply, way.count))
            start = time.perf_counter()
            way.run(items)
            done[way.name].append(len(items) / (time.perf_counter() - start))
    return done


def one_by_one(do: Callable[[_T], object], items: Iterable[_T]) -> None:
    """Do each operation after the previous one has ended."""
    for item in items:
        do(item)


def in_flight(start: Callable[[_T], Future[Any]], items: Iterable[_T]) -> None:
    """Keep 64 operations in flight from one thread, to measure the index and not the switching of threads."""
    waiting: deque[Future[Any]] = deque()
    for item in items:
        if len(waiting) == WAITING:
            waiting.popleft().result()
        waiting.append(start(item))
    for future in waiting:
        future.result()


def in_threads(do: Callable[[_T], object], items: Iterable[_T]) -> None:
    """Do the operations in 64 threads; each thread waits for its own operation."""
    with ThreadPoolExecutor(WAITING) as pool:
        deque(pool.map(do, items), maxlen=0)


def page_ways(deduplicator: Deduplicator, single: int, grouped: int) -> list[Way[SignedPage]]:
    """Return the ways to decide, file and settle pages. A page that is settled with the next page shares its fsync."""

    def do(page: SignedPage) -> None:
        deduplicator.settle(deduplicator.submit([page], claim=True).result()[0])

    return [
        Way("one at a time", partial(one_by_one, do), single),
        Way("one at a time, settled with the next", partial(_settle_with_next, deduplicator), single),
        Way("64 in flight", partial(in_flight, partial(_start_page, deduplicator)), grouped),
        Way("64 threads", partial(in_threads, do), grouped),
    ]


def _settle_with_next(deduplicator: Deduplicator, pages: Iterable[SignedPage]) -> None:
    """Wait for each decision, and end its claim in the transaction of the next decision."""
    ends: list[Future[bool]] = []
    for page in pages:
        [decision] = deduplicator.submit([page], claim=True).result()
        ends.append(deduplicator.end_claim(decision, settled=True))
    for end in ends:
        end.result()


def _start_page(deduplicator: Deduplicator, page: SignedPage) -> Future[bool]:
    """Return a future that is done once the page is settled."""
    settled: Future[bool] = Future()

    def decided(future: Future[list[Decision]]) -> None:
        try:
            [decision] = future.result()
            # This runs in the writing thread, which must not wait, so Deduplicator.settle cannot be used.
            settling = deduplicator.end_claim(decision, settled=True)
        except Exception as error:
            settled.set_exception(error)
        else:
            settling.add_done_callback(lambda done: settled.set_result(done.result()))

    deduplicator.submit([page], claim=True).add_done_callback(decided)
    return settled


def open_index(directory: Path) -> Deduplicator:
    """Return the index of pages in *directory*."""
    return Deduplicator.open(directory, _CONFIG)


def file_pages(directory: Path, signatures: Iterable[int], seed: int) -> None:
    """File a page for each signature in a new index, 64 in a transaction."""
    supply = pages(signatures, seed)
    with open_index(directory) as deduplicator:
        while batch := list(islice(supply, WAITING)):
            deduplicator.decide(batch)


def database_bytes(directory: Path) -> dict[str, int]:
    """Return the size of each LMDB database in *directory*. The index must not be open in this process."""
    with lmdb.open(str(directory), readonly=True, max_dbs=16) as env, env.begin() as txn:
        names = [bytes(name) for name, _ in txn.cursor()]
        stats = {name.decode(): txn.stat(env.open_db(name, txn, create=False)) for name in names}
    return {
        name: stat["psize"] * (stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"])
        for name, stat in stats.items()
    }
