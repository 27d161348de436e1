"""Crawls that share an index on a server: ``python -m benchmarks.shared_server [--pages N] [--pause MILLISECONDS]``.

One crawl, and then three at once, each in a process of its own, offer a few pages at a time and settle them.
Between two offers each waits, as long as a worker would sign the pages. A tenth of the pages are copies of pages of the
same crawl, and each page of the second crawl is also offered by the third. The table has the pages per second, and how long
a crawl waits for its decisions. An index in a directory must make the same decisions about the pages of the first crawl.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.backends import Crawl, make_pages_to_offer
from benchmarks.speed import describe_load
from crawler_dedup import Config, Decision, Verdict
from crawler_dedup.index.location import Location
from crawler_dedup.signing.signer import Signer
from tests.support.servers import serving

_AT_ONCE = 4
_SEEDS = (1, 2, 2)  # the third crawl offers the same texts as the second


class Done(NamedTuple):
    """What a crawl has done.

    Attributes:
        waited: seconds for which each offer was waited for.
        began: when its first page was offered, in seconds since 1970.
        ended: when its last page was decided.
    """

    decisions: list[Decision]
    waited: list[float]
    began: float
    ended: float


def crawl(location: Location, number: int, pages: int, pause: float, start: float) -> Done:
    """Offer pages at the time *start*."""
    signer = Signer(Config(tokenizer="bigrams"))
    offered = make_pages_to_offer(signer, pages, _SEEDS[number])
    decisions: list[Decision] = []
    waited: list[float] = []
    with closing(Crawl(location, signer)) as opened:
        time.sleep(max(0.0, start - time.time()))
        began = time.time()
        for at in range(0, pages, _AT_ONCE):
            asked = time.perf_counter()
            decisions += opened.offer(offered[at : at + _AT_ONCE], _AT_ONCE)
            waited.append(time.perf_counter() - asked)
            time.sleep(pause * _AT_ONCE)
        return Done(decisions, waited, began, time.time())


def _crawl_together(location: Location, numbers: Sequence[int], pages: int, pause: float, seconds: float) -> list[Done]:
    start = time.time() + seconds
    with ProcessPoolExecutor(len(numbers), mp_context=get_context("spawn")) as processes:
        futures = [processes.submit(crawl, location, number, pages, pause, start) for number in numbers]
        return [future.result() for future in futures]


def _verdicts(done: Done) -> list[tuple[Verdict, str]]:
    return [(decision.verdict, decision.duplicate_of) for decision in done.decisions]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_500, help="pages of each crawl")
    parser.add_argument("--pause", type=float, default=6.0, help="milliseconds a page between two offers")
    given = parser.parse_args()
    table = Table("crawls", "pages/s", "waits for an offer, median ms", "95 %", "kept by several crawls")
    speeds = []
    with tempfile.TemporaryDirectory() as folder:
        (directory,) = _crawl_together(Path(folder) / "index", [0], given.pages, 0, 10)
        for numbers in ([0], [0, 1, 2]):
            with serving(Path(folder) / f"server{len(numbers)}") as server:
                done = _crawl_together(server.address(), numbers, given.pages, given.pause / 1000, 15)
            assert _verdicts(done[0]) == _verdicts(directory), "other decisions than in a directory"
            seconds = max(one.ended for one in done) - min(one.began for one in done)
            speeds.append(len(numbers) * given.pages / seconds)
            waited = [1000 * wait for one in done for wait in one.waited]
            limits = statistics.quantiles(waited, n=20)
            kept = [decision.key for one in done for decision in one.decisions if decision.verdict is Verdict.NEW]
            twice = str(len(kept) - len(set(kept)))
            table.add_row(str(len(numbers)), f"{speeds[-1]:.0f}", f"{limits[9]:.1f}", f"{limits[18]:.1f}", twice)
    table.title = f"{speeds[1] / speeds[0]:.2f} times the pages/s with three crawls; {describe_load()}"
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
