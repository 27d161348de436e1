"""A crawl with and without the filter: ``python -m benchmarks.speed [--rounds 3] [--site debian-faq]``.

Client and server on a core each, delays off, the two kinds alternating. Two spiders: ``links`` only follows links, so
that all that the filter does is added work; ``site`` extracts each page's main text anyway, which the filter reuses.
Stalls: a task on the event loop sleeps 5 ms again and again; what is shown is how much later than asked it woke.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.crawl import Crawled, run
from benchmarks.data import require_data, served


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--site", default="devtang-2015")
    parser.add_argument("--tokenizer", default="jieba")
    given = parser.parse_args()
    require_data()
    table = Table(title=f"{given.site}, {given.rounds} rounds, median (least … most), tokenizer {given.tokenizer}")
    for column in (
        "spider",
        "filter",
        "pages/s",
        "share of plain",
        "ms a page",
        "CPU ms a page",
        "stall p50 ms",
        "p99",
        "max",
    ):
        table.add_column(column, justify="right")
    for spider in ("links", "site"):
        done: dict[str, list[Crawled]] = {"off": [], "mark": []}
        for _ in range(given.rounds):
            for action, runs in done.items():
                runs.append(_once(given.site, spider, action, given.tokenizer))
        plain = statistics.median(map(_rate, done["off"]))
        for action, runs in done.items():
            rates = sorted(map(_rate, runs))
            rate = statistics.median(rates)
            stalls = sorted(1000 * stall for crawled in runs for stall in crawled.stalls)
            table.add_row(
                spider,
                action,
                f"{rate:.1f} ({rates[0]:.1f} … {rates[-1]:.1f})",
                f"{rate / plain:.2f}",
                f"{1000 / rate:.1f} (+{1000 / rate - 1000 / plain:.1f})",
                f"{statistics.median(map(_cpu, runs)):.1f}",
                *(f"{stalls[int(share * (len(stalls) - 1))]:.1f}" for share in (0.5, 0.99, 1)),
            )
    Console(width=120).print(table)


def _once(site: str, spider: str, action: str, tokenizer: str) -> Crawled:
    # Every page passes in `mark`: both kinds fetch, parse and follow the same pages.
    filtered = {"DEDUP_ENABLED": "False"} if action == "off" else {"DEDUP_ACTION": action, "DEDUP_TOKENIZER": tokenizer}
    with tempfile.TemporaryDirectory() as folder, served(site, core=1) as origin:
        done = run(
            f"{origin}/_all.html",
            items=Path(folder) / "items.jsonl",
            spider=spider,
            settings={"DEDUP_DIR": f"{folder}/index", **filtered},
            core=0,
        )
    assert done is not None
    return done


def _cpu(done: Crawled) -> float:
    return 1000 * done.cpu / int(done.stats["response_received_count"])


def _rate(done: Crawled) -> float:
    return int(done.stats["response_received_count"]) / float(done.stats["elapsed_time_seconds"])


if __name__ == "__main__":
    main()
