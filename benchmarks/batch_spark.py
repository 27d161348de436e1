"""The CPU time of a search for near-duplicates on Spark: of the JVM, of the Python workers and of the driver.

The collections are synthetic, as in :mod:`benchmarks.batch`. They are searched in one process first, with the same result,
and then in several rounds in one Spark session, of which only the first starts workers and compiles.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from benchmarks.batch import make_signatures, write_collection
from benchmarks.index.report import Report
from crawler_dedup.batch.clusters import CLUSTERS
from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.find import find_duplicates
from crawler_dedup.batch.neighbours import find_neighbours
from crawler_dedup.batch.output import KEPT
from crawler_dedup.batch.spark.files import ShardRows, find_on_spark
from crawler_dedup.batch.spark.search import Search
from crawler_dedup.batch.spark.session import open_session
from crawler_dedup.config import Config
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.signing.signer import Signer, config_from_spec
from tests.support.collections import start, table

_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = 4 << 30
CONFIG = Config(tokenizer="bigrams", max_distance=3)
COLUMNS = ("", "seconds", "JVM", "Python workers", "driver", "CPU seconds", "million/s and core")


def cpu_by_program() -> dict[str, float]:
    """Return the CPU seconds of this process and of all processes that it has started, by program."""
    parents: dict[int, int] = {}
    seconds: dict[int, tuple[str, float]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:  # the process has ended
            continue
        fields = rest.split()
        parents[int(entry.name)] = int(fields[1])
        seconds[int(entry.name)] = name, sum(map(int, fields[11:15])) / _TICKS  # with children that have ended
    spent: dict[str, float] = defaultdict(float)
    for process, (name, taken) in seconds.items():
        ancestor = process
        while ancestor not in (0, os.getpid()):
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            spent["driver" if process == os.getpid() else "JVM" if name == "java" else "Python workers"] += taken
    return spent


def measure_groups(report: Report, session: SparkSession, folder: Path, signatures: Numbers, rounds: int) -> None:
    """Print the CPU time of finding the pages that are near other pages."""
    count = len(signatures)
    find_neighbours(signatures[:300_000], 3)  # numba compiles now
    began = time.process_time()
    near = np.flatnonzero(find_neighbours(signatures, 3))
    join = time.process_time() - began
    rows = [["one process, signatures alone", "", "", "", "", f"{join:.1f}", f"{count / join / 1e6:.2f}"]]
    collection = Collection.open(folder)
    receipts = [receipt for shard in collection.shards if (receipt := shard.read_receipt()) is not None]
    matcher = RememberingMatcher(Signer(config_from_spec(collection.header.spec, CONFIG)))
    search = Search(ShardRows.of(session, collection.shards, receipts), matcher, FrozenProfiles({}))
    for number in range(rounds):
        before, began = cpu_by_program(), time.monotonic()
        groups = search.find_groups()
        rows.append(_row(f"Spark, round {number + 1}", count, before, began))
        assert set(near.tolist()) <= set(groups.rows.tolist()), "it finds too few neighbours"
    report.table(f"Which of {count:,} pages are near others, k = 3", COLUMNS, rows)


def measure_find(report: Report, session: SparkSession, folder: Path, count: int, rounds: int) -> None:
    """Print the CPU time of the whole step ``find``."""
    before, began = cpu_by_program(), time.monotonic()
    local = find_duplicates(folder, folder / "local", CONFIG, start, memory=_MEMORY)
    rows = [_row("one process", count, before, began)]
    for number in range(rounds):
        before, began = cpu_by_program(), time.monotonic()
        result = find_on_spark(session, folder, folder / "out", CONFIG, start, memory=_MEMORY)
        rows.append(_row(f"Spark, round {number + 1}", count, before, began))
    assert result.candidates == local.candidates
    for name in (KEPT, CLUSTERS):
        assert table(folder / "out" / name) == table(folder / "local" / name)
    report.table(f"find, {count:,} pages, of which {local.candidates:,} are near others", COLUMNS, rows)
    for name, seconds in (("one process", local.seconds), ("Spark", result.seconds)):
        report.console.print(f"{name}: {', '.join(f'{step} {taken:.0f}' for step, taken in seconds.items())} seconds")


def _row(name: str, count: int, before: dict[str, float], began: float) -> list[str]:
    after = cpu_by_program()
    spent = {program: after[program] - before[program] for program in ("JVM", "Python workers", "driver")}
    total = sum(spent.values())
    parts = [f"{seconds:.1f}" for seconds in spent.values()]
    return [name, f"{time.monotonic() - began:.1f}", *parts, f"{total:.1f}", f"{count / total / 1e6:.2f}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3 * 10**6, help="in which near ones are searched")
    parser.add_argument("--find", type=int, default=3 * 10**5, help="pages that are also decided")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--copies", type=float, default=0.1, help="share of the pages that are copies of others")
    given = parser.parse_args()
    report = Report()
    report.console.print(f"Load of the machine: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as temporary:
        large, small = Path(temporary) / "large", Path(temporary) / "small"
        for folder, count in ((large, given.pages), (small, given.find)):
            write_collection(folder, count, max(1, count // 100), given.copies)
        with open_session(f"local[{given.cores}]") as session:
            if given.pages:
                signatures = make_signatures(given.pages, given.copies)
                measure_groups(report, session, large, signatures, given.rounds)
            if given.find:
                measure_find(report, session, small, given.find, given.rounds)


if __name__ == "__main__":
    main()
