"""A crawl with and without the filter: ``python -m benchmarks.speed [--rounds 3] [--site debian-faq]``.

Client and server on a core each, delays off, the kinds alternating: without the filter (*off*), with it (*mark*), and with
one that settles each page when it is seen (*no claims*), which tells what claims cost. Two spiders: ``links`` only follows
links, so that all that the filter does is added work; ``site`` extracts each page's main text with trafilatura.
Stalls: a task on the event loop sleeps 5 ms again and again; what is shown is how much later than asked it woke.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.support import naive
from tests.support.data import require_data, served
from tests.support.sitecrawl import Crawled, run

_KINDS = ("off", "no claims", "mark")


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
        "of no claims, by rounds",
        "ms a page",
        "CPU ms a page",
        "of no claims, by rounds",
        "stall p50 ms",
        "p99",
        "max",
    ):
        table.add_column(column, justify="right")
    for spider in ("links", "site"):
        done: dict[str, list[Crawled]] = {kind: [] for kind in _KINDS}
        for number in range(given.rounds):
            # Whoever comes first in one round comes last in the next: the machine is not the same all the time.
            for kind in _KINDS if number % 2 else reversed(_KINDS):
                done[kind].append(_once(given.site, spider, kind, given.tokenizer))
        plain = statistics.median(map(_rate, done["off"]))
        for kind, runs in done.items():
            rates = sorted(map(_rate, runs))
            rate = statistics.median(rates)
            stalls = sorted(1000 * stall for crawled in runs for stall in crawled.stalls)
            table.add_row(
                spider,
                kind,
                f"{rate:.1f} ({rates[0]:.1f} … {rates[-1]:.1f})",
                f"{rate / plain:.2f}",
                _shares(map(_rate, runs), map(_rate, done["no claims"])),
                f"{1000 / rate:.1f} (+{1000 / rate - 1000 / plain:.1f})",
                f"{statistics.median(map(_cpu, runs)):.1f}",
                _shares(map(_cpu, runs), map(_cpu, done["no claims"])),
                *(f"{stalls[int(share * (len(stalls) - 1))]:.1f}" for share in (0.5, 0.99, 1)),
            )
    Console(width=170).print(table)


def _once(site: str, spider: str, kind: str, tokenizer: str) -> Crawled:
    # Every page passes in `mark`: all kinds fetch, parse and follow the same pages.
    settings = {"DEDUP_ACTION": "mark", "DEDUP_TOKENIZER": tokenizer}
    settings = {"off": {"DEDUP_ENABLED": "False"}, "no claims": {**settings, **naive.SETTINGS}, "mark": settings}[kind]
    with tempfile.TemporaryDirectory() as folder, served(site, core=1) as origin:
        done = run(
            f"{origin}/_all.html",
            items=Path(folder) / "items.jsonl",
            spider=spider,
            settings={"DEDUP_DIR": f"{folder}/index", **settings},
            core=0,
        )
    assert done is not None
    return done


def _shares(values: Iterable[float], others: Iterable[float]) -> str:
    """Each round by itself: the machine differs more from round to round than the kinds do."""
    shares = sorted(value / other for value, other in zip(values, others, strict=True))
    return f"{statistics.median(shares):.2f} ({shares[0]:.2f} … {shares[-1]:.2f})"


def _cpu(done: Crawled) -> float:
    return 1000 * done.cpu / int(done.stats["response_received_count"])


def _rate(done: Crawled) -> float:
    return int(done.stats["response_received_count"]) / float(done.stats["elapsed_time_seconds"])


if __name__ == "__main__":
    main()
