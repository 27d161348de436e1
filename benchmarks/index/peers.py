"""The peers of the signature index: the same signatures and look-ups in other software, in memory."""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import faiss
import numpy as np
import simhash

from benchmarks.index.data import Truths, neighbours
from benchmarks.index.probe import rss_anon
from benchmarks.index.signatureindex import SignatureIndex
from crawler_dedup.hashes import Numbers

_SLICE = 1 << 22
_ROUND_SECONDS = 2.0
_SIMHASH_MOST = 1_000_000
_FLAT_MOST = 20_000_000


@dataclass(frozen=True)
class Peer:
    """An index to compare with.

    Attributes:
        ask: does one look-up; :attr:`read` turns the result into signatures.
        seconds: time that it took to build the index.
        memory: bytes by which the process has grown.
    """

    name: str
    ask: Callable[[int], Any]
    read: Callable[[Any], set[int]]
    seconds: float
    memory: int


@dataclass(frozen=True)
class Compared:
    """A peer compared with this index, in microseconds a look-up: medians of alternate rounds. ``found`` of ``expected``."""

    name: str
    seconds: float
    memory: int
    theirs: float
    ours: float
    found: int
    expected: int


def builders(stored: Numbers, k: int, *, large: bool) -> Iterator[Callable[[], Peer]]:
    """Yield a function that builds each peer: only one is in memory at a time. *large*: also peers that take long."""
    faiss.omp_set_num_threads(1)
    yield lambda: _faiss("faiss IndexBinaryMultiHash 4 × 16", _multi_hash(k), stored, k)
    if large or len(stored) <= _FLAT_MOST:
        yield lambda: _faiss("faiss IndexBinaryFlat", faiss.IndexBinaryFlat(64), stored, k)
    yield lambda: Peer("numpy brute force", lambda asked: neighbours(stored, asked, k), set, 0.0, stored.nbytes)
    if large or len(stored) <= _SIMHASH_MOST:
        yield lambda: _simhash(stored, k)


def _multi_hash(k: int) -> Any:
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.nflip = k // 4  # one of four blocks differs in k // 4 bits at most, so nothing is missed
    return index


def _faiss(name: str, index: Any, stored: Numbers, k: int) -> Peer:
    before, start = rss_anon(), time.perf_counter()
    for at in range(0, len(stored), _SLICE):
        index.add(_codes(stored[at : at + _SLICE]))

    def ask(signature: int) -> Any:
        return index.range_search(
            _codes(np.array([signature], dtype=np.uint64)), k + 1
        )  # faiss excludes the radius itself

    def read(answer: Any) -> set[int]:
        return set(stored[answer[2]].tolist())

    seconds = time.perf_counter() - start
    return Peer(name, ask, read, seconds, rss_anon() - before)


def _codes(signatures: Numbers) -> Any:
    return signatures.view(np.uint8).reshape(-1, 8)


def _simhash(stored: Numbers, k: int) -> Peer:
    logging.getLogger("simhash").setLevel(logging.ERROR)  # it warns of each large bucket
    before, start = rss_anon(), time.perf_counter()
    index = simhash.SimhashIndex([(str(signature), simhash.Simhash(signature)) for signature in stored.tolist()], k=k)
    return Peer(
        f"PyPI simhash {version('simhash')} SimhashIndex",
        lambda asked: index.get_near_dups(simhash.Simhash(asked)),
        lambda answer: set(map(int, answer)),
        time.perf_counter() - start,
        rss_anon() - before,
    )


def compare(index: SignatureIndex, peer: Peer, asked: list[int], truths: Truths, k: int, rounds: int) -> Compared:
    """Time *peer* and *index* in turn on *asked*, and compare the peer's answers with *truths*."""
    covered = expected = 0
    start = time.perf_counter()
    for signature, truth in truths.items():
        near = {neighbour for neighbour, distance in truth.items() if distance <= k}
        covered += len(near & peer.read(peer.ask(signature)))
        expected += len(near)
    slow = (time.perf_counter() - start) / len(truths)
    few = asked[: max(8, min(len(asked), int(_ROUND_SECONDS / slow)))]
    theirs, ours = [], []
    for _ in range(rounds + 1):
        ours.append(_median_us(lambda signature: index.query(signature, k), asked))
        theirs.append(_median_us(peer.ask, few))
    return Compared(
        peer.name,
        peer.seconds,
        peer.memory,
        _settled(theirs),
        _settled(ours),
        covered,
        expected,
    )


def _settled(rounds: list[float]) -> float:
    """Return the median without the first round, which warms the caches."""
    return statistics.median(rounds[1:])


def _median_us(ask: Callable[[int], object], asked: list[int]) -> float:
    times = []
    for signature in asked:
        start = time.perf_counter_ns()
        ask(signature)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1000
