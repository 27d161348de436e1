"""What a batch job costs: ``python -m benchmarks.batch [FOLDER] [--part join|greedy|stream|job|memory] ...``.

``join`` finds the signatures that have a neighbour: by this package, and by self-joins in DuckDB and Polars (extra
``bench``) on the same blocks. All must find the same signatures. ``greedy`` makes the same search in
collections of synthetic signed pages, with the decisions that follow. ``stream`` finds which of 10 million existing
signatures are near one of a million new signatures (Manku, Jain and Das Sarma 2007, §3.3). ``job`` signs, finds and
applies, from WARC files of the pages saved in FOLDER, in one process. ``memory`` measures the time and the peak memory of
``find`` on synthetic signed pages, in a separate process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.index.report import Report
from benchmarks.self_joins import join_in_duckdb, join_in_polars
from crawler_dedup.batch.apply import apply_decisions
from crawler_dedup.batch.collection import (
    FORMAT,
    Collection,
    CollectionHeader,
    Receipt,
    Source,
    checksum_of,
    write_json,
)
from crawler_dedup.batch.find import find_duplicates
from crawler_dedup.batch.formats.records import DEFAULT_COLUMNS
from crawler_dedup.batch.neighbours import Flags, ResidentSignatures, find_neighbours
from crawler_dedup.batch.shard import columns_of, write_shard
from crawler_dedup.batch.sign import sign_collection
from crawler_dedup.config import Config
from crawler_dedup.hashes import Numbers
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.callbacks import Advance, ignore_progress
from tests.support.collections import start, warc_record
from tests.support.data import DATA, html_pages, require_data, saved

JOINS = ((10**6, 3), (3 * 10**6, 3), (10**7, 3), (10**6, 7), (3 * 10**6, 7))
_COPIES = 0.1  # of the signatures are copies with up to 5 other bits
_PEERS_UP_TO = 10**6  # signatures; with more signatures, or more than 3 bits, peers take too long
_SHARD = 500_000
_NEW, _EXISTING = 10**6, 10**7
_FILES = 4
_SHARES = (0.01, 0.02, 0.1)  # of copies
_PARTS = ("join", "greedy", "stream", "job", "memory")

Search = Callable[[Numbers, int], Flags]


class Steps:
    """Measures the processor time of each step of a search, from its announcement to that of the next."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name, self._began = "", 0.0

    def begin(self, name: str, _: int | None = None) -> Advance:
        now = time.process_time()
        if self._name:
            self.seconds[self._name] = now - self._began
        self._name, self._began = name, now
        return ignore_progress


def make_signatures(count: int, share: float = _COPIES) -> Numbers:
    """Return *count* evenly distributed signatures, of which a *share* is near other signatures."""
    source = np.random.default_rng(1)
    signatures = source.integers(0, 1 << 64, count, dtype=np.uint64)
    copies = signatures[source.integers(0, count, int(share * count))]
    for _ in range(5):
        bits = np.uint64(1) << source.integers(0, 64, len(copies), dtype=np.uint64)
        copies ^= np.where(source.random(len(copies)) < 0.5, bits, np.uint64(0))
    signatures[source.choice(count, len(copies), replace=False)] = copies
    return signatures


def measure_joins(report: Report, joins: Sequence[tuple[int, int]], rounds: int) -> None:
    """Print how long each search takes."""
    rows = []
    for count, max_distance in joins:
        searches: dict[str, Search] = {
            "this package": find_neighbours,
        }
        if max_distance <= 3 and count <= _PEERS_UP_TO:
            searches |= {"DuckDB": join_in_duckdb, "Polars": join_in_polars}
        signatures = make_signatures(count)
        seconds: dict[str, list[float]] = {name: [] for name in searches}
        answers: set[bytes] = set()
        for place in range(rounds):
            for name, search in searches.items():
                if place and name != "this package":
                    continue
                began = time.process_time()
                near = search(signatures, max_distance)
                seconds[name].append(time.process_time() - began)
                answers.add(near.tobytes())
        assert len(answers) == 1, "they find different neighbours"
        for name, measured in seconds.items():
            median = statistics.median(measured)
            ratio = median / statistics.median(seconds["this package"])
            spread = f"{min(measured):.2f} to {max(measured):.2f}"
            rows.append(
                [
                    f"{count:,}, k = {max_distance}",
                    name,
                    f"{median:.2f}",
                    spread,
                    f"{count / median / 1e6:.2f}",
                    f"{ratio:.1f}",
                ]
            )
    columns = ("signatures", "with", "CPU seconds", "least, most", "million/s", "times this package")
    report.table("Which signatures have a neighbour, one core", columns, rows)


def measure_greedy(report: Report, joins: Sequence[tuple[int, int]], shares: Sequence[float], memory: float) -> None:
    """Print how long it takes to find the neighbours in a collection, and to decide about them."""
    rows = []
    for count in dict.fromkeys(count for count, _ in joins):
        for share in shares:
            with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as temporary:
                write_collection(Path(temporary), count, count, share)
                for max_distance in (distance for size, distance in joins if size == count):
                    rows.append(
                        [
                            f"{count:,}, k = {max_distance}",
                            f"{share:.0%}",
                            *_decide(Path(temporary), max_distance, memory),
                        ]
                    )
    columns = (
        "signatures",
        "copies",
        "compared",
        "duplicates",
        "join s",
        "greedy s",
        "join million/s",
        "both million/s",
    )
    report.table("Neighbours and decisions, CPU of one core", columns, rows)


def _decide(directory: Path, max_distance: int, memory: float) -> list[str]:
    """Search a collection; return the figures of :func:`measure_greedy`."""
    config = Config(tokenizer="bigrams", max_distance=max_distance)
    steps = Steps()
    decided = find_duplicates(directory, directory / "decisions", config, steps.begin, memory=int(memory * 2**30))
    join, greedy = (steps.seconds[step] for step in ("finding neighbours", "deciding"))
    rates = (f"{decided.pages / seconds / 1e6:.2f}" for seconds in (join, join + greedy))
    return [f"{decided.candidates:,}", f"{decided.pages - decided.kept:,}", f"{join:.2f}", f"{greedy:.2f}", *rates]


def measure_stream(report: Report, rounds: int) -> None:
    """Print how long it takes to compare a stream of existing signatures with new signatures in memory."""
    new = np.unique(make_signatures(_NEW))
    source = np.random.default_rng(2)
    existing = source.integers(0, 1 << 64, _EXISTING, dtype=np.uint64)
    existing[:_NEW] = source.choice(new, _NEW) ^ np.uint64(1) << source.integers(0, 64, _NEW, dtype=np.uint64)
    seconds: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        resident = ResidentSignatures(new, 3)
        for first in range(0, _EXISTING, _SHARD):
            resident.match(existing[first : first + _SHARD])
        seconds.append(time.process_time() - began)
    median = statistics.median(seconds)
    row = [f"{median:.2f}", f"{min(seconds):.2f} to {max(seconds):.2f}", f"{_EXISTING / median / 1e6:.2f}"]
    columns = ("CPU seconds", "least, most", "million/s")
    report.table(f"{_EXISTING:,} existing signatures pass {_NEW:,} new ones, k = 3, one core", columns, [row])


def measure_job(report: Report, folder: Path, pages: int) -> None:
    """Print how long each step of a job takes."""
    names = sorted(name for site in sorted((folder / "sites").iterdir()) for name in html_pages(site.name, folder))
    names = names[:: max(1, len(names) // pages)]
    config = Config(tokenizer="rjieba")
    with tempfile.TemporaryDirectory() as temporary:
        job = Path(temporary)
        inputs = [job / f"{number}.warc" for number in range(_FILES)]
        for number, path in enumerate(inputs):
            bodies = ((name, saved(folder / "sites" / name)) for name in names[number::_FILES])
            records = (warc_record(_address_of(name), body, content_type="text/html") for name, body in bodies)
            path.write_bytes(b"".join(records))
        steps: dict[str, Callable[[], Any]] = {
            "sign": lambda: sign_collection(inputs, job / "signed", config, start),
            "find": lambda: find_duplicates(job / "signed", job / "decisions", config, start),
            "apply": lambda: apply_decisions(inputs, job / "decisions", job / "clean", start),
        }
        rows, total = [], 0.0
        for step, do in steps.items():
            began = time.process_time()
            result = do()
            seconds = time.process_time() - began
            total += seconds
            note = f"{result.candidates:,} compared, {result.kept:,} kept" if step == "find" else ""
            rows.append([step, f"{seconds:.1f}", f"{len(names) / seconds:,.0f}", note])
        rows.append(["all", f"{total:.1f}", f"{len(names) / total:,.0f}", ""])
    report.table(f"A job from WARC, {len(names):,} real pages, one core", ("", "CPU seconds", "pages/s", ""), rows)


def _address_of(name: str) -> str:
    site, _, path = name.partition("/")
    return f"http://{site}.test/{path}"


def write_collection(directory: Path, count: int, sites: int, share: float) -> None:
    """Write synthetic signed pages in the format of :func:`sign_collection`."""
    signer = Signer(Config(tokenizer="bigrams"))
    signatures = make_signatures(count, share)
    sources = [Source(f"/{first}", "jsonl", 0, 0) for first in range(0, count, _SHARD)]
    header = CollectionHeader(FORMAT, signer.spec, signer.libraries, DEFAULT_COLUMNS, "global", sources)
    for first, shard in zip(range(0, count, _SHARD), Collection.create(directory, header).shards, strict=True):
        part = signatures[first : first + _SHARD].tolist()
        with shard.data.open("wb") as file:
            urls = (f"http://host-{number % sites}.test/{number}" for number in range(first, first + len(part)))
            pages = map(_make_page, urls, part)
            write_shard(file, (columns_of(record, 0, page) for record, page in enumerate(pages)))
        receipt = Receipt(shard.source, shard.data.stat().st_size, checksum_of(shard.data), len(part), {}, {}, {}, {})
        write_json(shard.receipt, receipt)


def _make_page(url: str, signature: int) -> SignedPage:
    title = f"Story {signature >> 40}"
    digest = signature.to_bytes(8, "little")
    return SignedPage(
        url,
        url,
        "global",
        title=title,
        digest=digest,
        size=9_000,
        chars=3_000,
        signature=signature,
        features=300,
    )


def measure_memory(report: Report, count: int, sites: int, share: float, max_distance: int, memory: float) -> None:
    """Print time and peak memory of a search on synthetic pages."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as temporary:
        write_collection(Path(temporary), count, sites, share)
        program = [sys.executable, "-m", "benchmarks.batch", "--search", temporary, str(max_distance), str(memory)]
        answer = json.loads(subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True).stdout)
    seconds = ", ".join(f"{step} {taken:.0f}" for step, taken in answer["steps"].items())
    row = [
        f"{count:,}, k = {max_distance}",
        f"{memory:g} GiB",
        f"{answer['peak'] / 2**20:.2f} GiB",
        f"{answer['cpu']:.0f}",
    ]
    columns = ("pages", "--memory", "peak", "CPU seconds", "of them compared", "seconds of each step")
    report.table("The search on synthetic pages", columns, [[*row, f"{answer['candidates']:,}", seconds]])


def search(directory: Path, max_distance: int, memory: float) -> None:
    """Search a collection, and print time and memory as JSON. Runs in the process that :func:`measure_memory` starts."""
    config = Config(tokenizer="bigrams", max_distance=max_distance)
    steps = Steps()
    report = find_duplicates(directory, directory / "decisions", config, steps.begin, memory=int(memory * 2**30))
    steps.begin("end")
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime
    print(json.dumps({"peak": used.ru_maxrss, "cpu": cpu, "candidates": report.candidates, "steps": steps.seconds}))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--part", choices=_PARTS, action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=10**7, help="signatures in the largest join")
    parser.add_argument("--pages", type=int, default=2_000, help="real pages of the job")
    parser.add_argument("--synthetic", type=int, default=10**6, help="synthetic pages of the search")
    parser.add_argument("--sites", type=int, default=10_000, help="their sites")
    parser.add_argument("--copies", type=float, help="share of them that are copies of others")
    parser.add_argument("--max-distance", type=int, default=3, help="of their duplicates")
    parser.add_argument("--memory", type=float, default=1.0, help="GiB for the search")
    parser.add_argument("--search", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search:
        search(Path(given.search[0]), int(given.search[1]), float(given.search[2]))
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    report, parts = Report(), given.part or _PARTS
    report.console.print(f"Load of the machine: {os.getloadavg()[0]:.1f}")
    if "join" in parts:
        measure_joins(report, [join for join in JOINS if join[0] <= given.largest], given.rounds)
    if "greedy" in parts:
        shares = _SHARES if given.copies is None else (given.copies,)
        measure_greedy(report, [join for join in JOINS if join[0] <= given.largest], shares, given.memory)
    if "stream" in parts:
        measure_stream(report, given.rounds)
    if "job" in parts:
        require_data(given.folder)
        measure_job(report, given.folder, given.pages)
    if "memory" in parts:
        share = _COPIES if given.copies is None else given.copies
        measure_memory(report, given.synthetic, given.sites, share, given.max_distance, given.memory)


if __name__ == "__main__":
    main()
