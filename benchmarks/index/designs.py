"""Comparison of the designs of permuted tables on the same signatures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.index.lookups import warm
from crawler_dedup import PermutedIndex
from crawler_dedup.hamming import DESIGNS, Numbers


@dataclass(frozen=True)
class Measured:
    """Figures of a design: µs to load a signature, µs of a look-up at distance 3, and bytes a signature in used pages."""

    tables: int
    load: float
    look_up: float
    size: float


def measured(folder: Path, stored: Numbers, asked: list[int], rounds: int) -> Iterator[Measured]:
    """Load *stored* into an index of each design, and look up *asked*."""
    for tables in DESIGNS:
        directory = folder / f"tables-{tables}"
        with PermutedIndex.open(directory, tables=tables) as index:
            start = time.perf_counter()
            index.insert(stored)
            load = (time.perf_counter() - start) / len(stored) * 1e6
            figures = index.environment.measure()
        size = figures.used_pages * figures.page_bytes / len(stored)
        yield Measured(tables, load, warm(directory, 3, asked, rounds).p50, size)
