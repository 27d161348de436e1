"""Many crawls at once on one machine, with and without workers: ``python -m benchmarks.many_crawls [--crawls 1]``.

Each crawl has a process, an index, a worker and a server of its own, and crawls the same saved site without delays.
A small spider follows links. The table has, for pages signed on the event loop and in a worker: the pages a second of
all crawls, the processor time a page of the crawls and of the workers, and the largest memory of both (PSS, which divides
what several processes share among them).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.sitecrawl import Crawled, run
from benchmarks.speed import describe_load
from tests.support.data import require_data, served
from tests.support.processes import children

_CRAWLS = (1, 4, 16)
_INTERVAL = 0.5


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crawls", type=int, action="append", help=f"may be given again; default: {_CRAWLS}")
    parser.add_argument("--site", default="adrianmejia-2022")
    given = parser.parse_args()
    require_data()
    table = Table("crawls", "DEDUP_PROCESSES", "pages/s", "crawl, ms a page", "worker", "crawls, MB", "workers, MB")
    for count in given.crawls or _CRAWLS:
        for processes in (0, 1):
            table.add_row(str(count), str(processes), *_measure(given.site, count, processes))
    table.title = f"{given.site}; {describe_load()}"
    Console(width=120).print(table)


def _measure(site: str, count: int, processes: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers, ThreadPoolExecutor(count) as pool:
        origins = [servers.enter_context(served(site)) for _ in range(count)]
        crawls = [
            pool.submit(_crawl, origin, Path(folder) / str(number), processes) for number, origin in enumerate(origins)
        ]
        memory = _largest_memory(crawls)
    done = [crawl.result() for crawl in crawls]
    pages = sum(crawled.pages for crawled in done)
    return [
        f"{sum(crawled.pages / crawled.seconds for crawled in done):.0f}",
        f"{1000 * sum(crawled.cpu for crawled in done) / pages:.1f}",
        f"{1000 * sum(crawled.workers for crawled in done) / pages:.1f}",
        *(f"{kilobytes / 1024:.0f}" for kilobytes in memory),
    ]


def _crawl(origin: str, folder: Path, processes: int) -> Crawled:
    folder.mkdir()
    settings = {"DEDUP_DIR": folder / "index", "DEDUP_ACTION": "mark", "DEDUP_PROCESSES": processes}
    done = run(f"{origin}/_all.html", items=folder / "items.jsonl", spider="links", settings=settings)
    assert done is not None
    return done


def _largest_memory(crawls: list[Future[Crawled]]) -> tuple[int, int]:
    """Return the largest memory of all crawls and of all workers, in kilobytes, while *crawls* run."""
    largest = (0, 0)
    while not all(crawl.done() for crawl in crawls):
        time.sleep(_INTERVAL)
        parents = [child for child in children(os.getpid()) if b"sitecrawl" in _command(child)]
        workers = [child for parent in parents for child in children(parent)]
        largest = max(largest, (sum(map(_memory, parents)), sum(map(_memory, workers))), key=sum)
    return largest


def _command(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def _memory(process: int) -> int:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return 0


if __name__ == "__main__":
    main()
