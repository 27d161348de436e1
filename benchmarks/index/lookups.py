"""Look-ups: warm, from the disk, and compared with brute force."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.index.data import Truths
from benchmarks.index.probe import probe, timed
from benchmarks.index.signatureindex import SignatureIndex
from crawler_dedup.permutedtables import MAX_DISTANCE

_DROPS = ("fadvise", "drop_caches")  # "drop_caches" empties the cache of the whole machine, and needs root


@dataclass(frozen=True)
class Warm:
    """Microseconds a look-up, medians of rounds."""

    p50: float
    p99: float


@dataclass(frozen=True)
class Cold:
    """Microseconds a look-up with nothing in the cache, KB that a look-up reads, and how the cache was dropped."""

    p50: float
    p99: float
    kilobytes: float
    drop: str


@dataclass(frozen=True)
class Recall:
    """How many of the ``expected`` neighbours were ``found``."""

    k: int
    found: int
    expected: int


def warm(directory: Path, k: int, asked: list[int], rounds: int) -> Warm:
    """Look up *asked* in several rounds; the first round is not measured."""
    with SignatureIndex.open(directory) as index:
        timed(index, asked, k)
        times = [timed(index, asked, k) for _ in range(rounds)]
    return Warm(
        statistics.median(quantile(times_of_round, 0.5) for times_of_round in times),
        statistics.median(quantile(times_of_round, 0.99) for times_of_round in times),
    )


def cold(directory: Path, k: int, asked: list[int]) -> Cold | None:
    """Look up *asked* in a new process, with the file dropped from the cache. ``None``: it cannot be dropped."""
    for drop in _DROPS if os.geteuid() == 0 else _DROPS[:1]:
        done = probe(directory, k, asked, drop)
        if done["read"] >= 4096 * len(asked):  # otherwise they were read from the cache
            times = done["times"]
            return Cold(quantile(times, 0.5), quantile(times, 0.99), done["read"] / len(asked) / 1024, drop)
    return None


def quantile(nanoseconds: list[int], share: float) -> float:
    """Return the quantile of *times* at *share*, in µs."""
    return sorted(nanoseconds)[int(share * (len(nanoseconds) - 1))] / 1000


def recalls(index: SignatureIndex, truths: Truths) -> Iterator[Recall]:
    """Yield for each distance how many neighbours *index* finds."""
    for k in range(MAX_DISTANCE + 1):
        found = expected = 0
        for asked, truth in truths.items():
            near = {neighbour for neighbour, distance in truth.items() if distance <= k}
            found += len(near & set(index.query(asked, k)))
            expected += len(near)
        yield Recall(k, found, expected)
