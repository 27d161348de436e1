"""The index by itself: ``python -m benchmarks.index [--n 1e6] [--k 3] [--peers] [--directory DIR [--skip-load]]``.

Look-ups (warm and from the disk), recall, sizes, and pages that are decided; with ``--peers`` the same look-ups in
other indexes. All signatures come from a seed. Times are medians: one machine differs from the next, and
from itself an hour later, so compare what was measured in one run.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.index import durable
from benchmarks.index.data import clustered, fresh, neighbours, pages, questions
from benchmarks.index.lookups import Cold, cold, recalls, warm
from benchmarks.index.peers import Compared, builders, compare
from benchmarks.index.report import Report
from benchmarks.index.signatureindex import SignatureIndex
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.lmdb.engine import DATA_FILE
from crawler_dedup.permutedtables import MAX_DISTANCE

_LARGE = 20_000_000
_PAGES = 200_000
_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What the benchmark measures, in which directory, and how often."""

    folder: Path
    n: int
    k: int
    seed: int
    rounds: int
    skip_load: bool
    skip_pages: bool
    peers: bool
    slow_peers: bool
    warm: int = 4000
    cold: int = 200
    single: int = 500
    grouped: int = 10_000

    @property
    def signatures(self) -> Path:
        """Return where the index of signatures is."""
        return self.folder / "signatures"

    @property
    def ks(self) -> list[int]:
        """Return the distances of look-ups."""
        return sorted({self.k, 3, 6})

    @property
    def recalled(self) -> int:
        """Return how many look-ups are compared with brute force."""
        return 200 if self.n <= _LARGE else 50


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=lambda text: int(float(text)), default=1_000_000, help="signatures")
    parser.add_argument("--k", type=int, default=3, help="distance of look-ups, besides 3 and 6; that of peers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--skip-pages", action="store_true", help="measure signatures only")
    parser.add_argument("--peers", action="store_true", help="compare with other indexes")
    parser.add_argument("--slow-peers", action="store_true", help="also with those that take minutes at this n")
    parser.add_argument("--directory", type=Path, help="keep the indexes there")
    parser.add_argument("--skip-load", action="store_true", help="measure what --directory has from an earlier run")
    given = vars(parser.parse_args())
    with _folder(given.pop("directory")) as folder:
        plan = Plan(folder, **given)
        if plan.signatures.exists() != plan.skip_load:
            sys.exit(f"{plan.signatures}: --skip-load is for an index that exists, and only for one.")
        report = Report()
        _header(plan, report)
        _of_signatures(plan, report)
        if not plan.skip_pages:
            _of_pages(plan, report)
        report.print_summary()


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
    else:
        given.mkdir(parents=True, exist_ok=True)
        yield given


def _header(plan: Plan, report: Report) -> None:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "lmdb"))
    rows = [
        ("signatures", f"{plan.n:,}"),
        ("seed, rounds", f"{plan.seed}, {plan.rounds}"),
        ("cores", str(os.cpu_count())),
        ("versions", f"Python {platform.python_version()}, {libraries}"),
        ("4 KB pwrite + fdatasync here, median", f"{statistics.median(_fsyncs(plan.folder / 'fsync')):,.0f} µs"),
    ]
    report.table(f"crawler-dedup, index by itself, {time.strftime('%Y-%m-%d %H:%M')}", ("", ""), rows)


def _fsyncs(file: Path, count: int = 200) -> Iterator[float]:
    """Return the microseconds of each fsync."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT)
    try:
        for number in range(count):
            start = time.perf_counter()
            os.pwrite(handle, os.urandom(4096), 4096 * number)
            os.fdatasync(handle)
            yield (time.perf_counter() - start) * 1e6
    finally:
        os.close(handle)
        file.unlink()


def _of_signatures(plan: Plan, report: Report) -> None:
    signatures = clustered(plan.n, plan.seed)
    if not plan.skip_load:
        with SignatureIndex.open(plan.signatures) as index:
            for at in range(0, plan.n, _AT_ONCE):
                index.insert(signatures[at : at + _AT_ONCE].tolist())
    stored = np.unique(signatures)
    del signatures  # 800 MB for 100 million; the peers need the memory
    asked = questions(stored, plan.warm, plan.seed + 1)
    _size(plan, len(stored), report)
    _lookups(plan, asked, report)
    _against_truth(plan, stored, asked, report)


def _lookups(plan: Plan, asked: list[int], report: Report) -> None:
    rows = []
    for k in plan.ks:
        first = cold(plan.signatures, k, asked[: plan.cold])
        measured = warm(plan.signatures, k, asked, plan.rounds)
        rows.append((str(k), f"{measured.p50:.1f}", f"{measured.p99:.1f}", *_cold_row(first)))
        report.note(f"warm look-up, k = {k}, p50 µs", f"{measured.p50:.1f}")
    columns = ("k", "warm p50 µs", "p99", "cold p50 µs", "p99", "KB read each", "cache dropped by")
    report.table(f"Look-ups: {plan.warm:,} warm, {plan.cold} cold", columns, rows)


def _cold_row(measurement: Cold | None) -> tuple[str, ...]:
    if measurement is None:
        return ("not possible", "", "", "")
    return (f"{measurement.p50:,.0f}", f"{measurement.p99:,.0f}", f"{measurement.kilobytes:.0f}", measurement.drop)


def _against_truth(plan: Plan, stored: Numbers, asked: list[int], report: Report) -> None:
    truths = {signature: neighbours(stored, signature, MAX_DISTANCE) for signature in asked[: plan.recalled]}
    with SignatureIndex.open(plan.signatures) as index:
        measured_recalls = list(recalls(index, truths))
        rows = [
            (
                str(recall.k),
                f"{recall.found:,}",
                f"{recall.expected:,}",
                f"{recall.found / recall.expected:.2%}",
            )
            for recall in measured_recalls
        ]
        columns = ("k", "found", "expected", "recall")
        report.table(f"Recall: {len(truths)} look-ups against numpy brute force", columns, rows)
        report.note(
            f"least recall, k = 0 to {MAX_DISTANCE}",
            f"{min(recall.found / recall.expected for recall in measured_recalls):.2%}",
        )
        if plan.peers:
            peers = builders(stored, plan.k, large=plan.slow_peers)
            done = [compare(index, build(), asked, truths, plan.k, plan.rounds) for build in peers]
            _show_peers(done, plan, len(stored), report)


def _show_peers(done: list[Compared], plan: Plan, stored: int, report: Report) -> None:
    rows = [
        (
            comparison.name,
            f"{comparison.theirs:,.1f}",
            f"{comparison.ours:.1f}",
            f"{comparison.theirs / comparison.ours:,.1f}",
            f"{comparison.memory / stored:.0f}",
            f"{comparison.seconds:.1f}",
            f"{comparison.found:,} of {comparison.expected:,}",
        )
        for comparison in done
    ]
    columns = ("", "µs each", "ours", "ratio", "bytes each", "s to build", "found")
    report.table(f"Peers in memory, k = {plan.k}: look-ups, warm p50, rounds in turn with ours", columns, rows)
    for comparison in done:
        report.note(
            f"look-up, k = {plan.k}: {comparison.name} : crawler-dedup", f"{comparison.theirs / comparison.ours:.1f}"
        )


def _show_rates(title: str, done: dict[str, list[float]], report: Report) -> None:
    """Report rates beside the first way, which is one at a time."""
    medians = {name: statistics.median(rates) for name, rates in done.items()}
    single = next(iter(medians.values()))
    rows = [
        (name, f"{medians[name]:,.0f}", f"{min(rates):,.0f}", f"{max(rates):,.0f}", f"{medians[name] / single:.1f}")
        for name, rates in done.items()
    ]
    report.table(title, ("", "median a second", "least", "most", "times one at a time"), rows)
    for name, rate in medians.items():
        report.note(f"{title}, {name}", f"{rate:,.0f} a second, {rate / single:.1f} times")


def _size(plan: Plan, count: int, report: Report) -> None:
    size = (plan.signatures / DATA_FILE).stat().st_blocks * 512
    row = (f"{count:,}", f"{size / 1e6:,.1f}", f"{size / count:.1f}")
    report.table("Size", ("signatures", "MB on disk", "bytes each"), [row])
    report.note("bytes on disk for a signature", f"{size / count:.1f}")


def _of_pages(plan: Plan, report: Report) -> None:
    """Measure the whole index of pages: records, settling."""
    directory = plan.folder / "pages"
    if not directory.exists():
        durable.file_pages(directory, islice(fresh(plan.seed, 0), min(plan.n, _PAGES)), plan.seed)
        _page_size(directory, report)
    with durable.open_index(directory) as deduplicator:
        filed = len(deduplicator)
        supply = pages(fresh(plan.seed, filed), filed)  # not those that an earlier run has filed
        ways = durable.page_ways(deduplicator, plan.single, plan.grouped // 2)
        _show_rates("Pages decided, filed and settled", durable.rates(ways, supply, plan.rounds), report)


def _page_size(directory: Path, report: Report) -> None:
    with durable.open_index(directory) as deduplicator:
        count = len(deduplicator)
    sizes = durable.database_bytes(directory)
    sizes["all databases"] = sum(sizes.values())
    sizes["on disk"] = (directory / "data.mdb").stat().st_blocks * 512
    rows = [(name, f"{size / count:.1f}") for name, size in sizes.items()]
    report.table(f"Size of an index of {count:,} pages, filed 64 at a time", ("database", "bytes a page"), rows)
    report.note(f"bytes on disk for a page, {count:,} pages", f"{sizes['on disk'] / count:.0f}")


if __name__ == "__main__":
    main()
