"""What a long crawl takes, with and without the filter: ``python -m benchmarks.soak [--pages 100000]``.

The crawl has generated pages of 200 hosts; three of ten articles are near-duplicates of earlier articles. The pages are made
in Scrapy's own process, without a network: see ``benchmarks.soaked``. Two crawls run at the same time, in a process each:
with the filter (with its journal, settling, and a feed), and without it, for comparison, because Scrapy itself remembers the
fingerprint of every request. The table shows whether anything grows with the number of pages: memory of the process itself
(*own*), file descriptors, threads, time. Pages of mapped files, including the index, are not part of *own*: they belong to
the cache of the system, which takes them back when it needs memory.

``--trace`` shows where memory was allocated since the first sample (the crawl takes several times as long); ``--extract``
extracts the texts of items with ``crawler_dedup.main_text``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.soaked import HOSTS, Sample

console = Console(width=190)
_KINDS = {"filter": (), "without": ("-s", "DEDUP_ENABLED=False")}


def main() -> None:
    """Crawl, and print a table and the places where memory has grown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--interval", type=int, default=10_000)
    parser.add_argument("--tokenizer", default="rjieba")
    parser.add_argument("--extract", action="store_true")
    parser.add_argument("--trace", action="store_true")
    given = parser.parse_args()
    options = [
        "--pages",
        str(given.pages),
        "--interval",
        str(given.interval),
        "-s",
        f"DEDUP_TOKENIZER={given.tokenizer}",
    ]
    options += [f"--{name}" for name in ("extract", "trace") if getattr(given, name)]
    before = os.getloadavg()
    with ThreadPoolExecutor() as pool:
        started = {kind: pool.submit(_crawl, kind, [*options, *arguments]) for kind, arguments in _KINDS.items()}
        samples = {kind: future.result() for kind, future in started.items()}
    _report(samples["filter"], samples["without"], _header(given, before))
    for kind, taken in samples.items():
        for place, kilobytes in taken[-1].grown:
            console.print(f"{kind}: {kilobytes:+,.0f} KB at {place}")


def _crawl(kind: str, options: Sequence[str]) -> list[Sample]:
    """Crawl in a separate process; return its samples, and write each of them to standard error."""
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.soaked", folder, *options]
        with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                sample = Sample(**json.loads(line))
                samples.append(sample)
                print(f"{kind}: {sample.pages:,} pages, {sample.rss:.1f} MB", file=sys.stderr, flush=True)
    if process.returncode:
        sys.exit(f"The crawl ended with {process.returncode}.")
    return samples


def _header(given: argparse.Namespace, before: Sequence[float]) -> str:
    load = " … ".join(f"{load[0]:.1f}" for load in (before, os.getloadavg()))
    return (
        f"{given.pages:,} pages of {HOSTS} hosts, tokenizer {given.tokenizer}, both crawls at once; "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load of the machine {load}"
    )


def _report(filtered: Sequence[Sample], plain: Sequence[Sample], header: str) -> None:
    table = Table(title=header, title_justify="left")
    for column in (
        "pages",
        "kept",
        "dropped",
        "RSS MB",
        "own",
        "of files",
        "descrip-\ntors",
        "threads",
        "responses\nalive",
        "ms\na page",
        "CPU ms",
        "without:\nown MB",
        "descrip-\ntors",
        "threads",
        "ms\na page",
        "CPU ms",
        "filter adds\nown MB",
    ):
        table.add_column(column, justify="right")
    for of_filtered, peer in zip(filtered, plain, strict=True):
        table.add_row(
            *(f"{count:,}" for count in (of_filtered.pages, of_filtered.kept, of_filtered.dropped)),
            *(f"{megabytes:.1f}" for megabytes in (of_filtered.rss, of_filtered.anonymous, of_filtered.file)),
            *(str(count) for count in (of_filtered.descriptors, of_filtered.threads, of_filtered.responses)),
            *(f"{took:.1f}" for took in (of_filtered.wall, of_filtered.cpu)),
            f"{peer.anonymous:.1f}",
            *(str(count) for count in (peer.descriptors, peer.threads)),
            *(f"{took:.1f}" for took in (peer.wall, peer.cpu)),
            f"{of_filtered.anonymous - peer.anonymous:.1f}",
        )
    console.print(table)


if __name__ == "__main__":
    main()
