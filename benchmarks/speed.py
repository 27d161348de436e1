"""A crawl with and without the filter: ``python -m benchmarks.speed [--rounds 4] [--site debian-faq] [--skip 100]``.

The crawl has one core; the site's server and the worker share the other one. There are no delays.
Four kinds of crawls alternate: without the filter (*off*), with it (*mark*), with a filter that signs on the event loop
(*loop*: ``DEDUP_PROCESSES = 0``), and with a filter that settles each page when it is seen (*no claims*), which shows the
cost of claims. There are three spiders: ``links`` only follows links, so that all work of the filter is added work;
``site`` extracts each page's main text with ``main_text``; ``extract`` follows links and extracts the text, without the
filter with ``trafilatura.extract`` in its callback, with the filter with ``own_text``. Besides saved blogs, ``--site`` takes
the pages of many hosts of :mod:`benchmarks.hosts`, whose links are not followed. Processor time is that of the
crawl's process, of its event loop and its writing thread, and of the worker. Stalls: a task on the event loop sleeps 5 ms
again and again; the tables show how much later than asked it woke. With ``--skip``, all figures begin after that many pages.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import withoutclaims
from benchmarks.hosts import HOSTS, find_pages, serve_hosts
from benchmarks.sitecrawl import SPIDERS, Crawled, run
from tests.support.data import DATA, require_data, served

SITES = ("adrianmejia-2016", "devtang-2015")
"""An English and a Chinese site."""
_KINDS = ("off", "loop", "no claims", "mark")
_COLUMNS = (
    "spider",
    "filter",
    "pages/s",
    "share of plain",
    "of no claims, by rounds",
    "ms a page",
    "CPU ms a page",
    "event loop",
    "writing",
    "worker",
    "stall p50 ms",
    "p99",
    "max",
)


def main() -> None:
    """Measure and print a table for each site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument(
        "--site",
        action="append",
        help=f"may be given again, SITE,SITE: both in a crawl; {', '.join(HOSTS)}; default: {', '.join(SITES)}",
    )
    parser.add_argument("--folder", type=Path, default=DATA, help="has sites/")
    parser.add_argument("--kind", choices=_KINDS, action="append", help="may be given again; default: all")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--spider", choices=SPIDERS, action="append", help="may be given again; default: all")
    parser.add_argument("--tokenizer", default="rjieba")
    given = parser.parse_args()
    require_data()
    for site in given.site or SITES:
        before = describe_load()
        table = Table(*_COLUMNS)
        for column in table.columns[2:]:
            column.justify = "right"
        for spider in given.spider or SPIDERS:
            crawl = partial(_crawl, site.split(","), given.folder, spider, given.tokenizer, given.skip)
            _measure(table, spider, crawl, given.kind or _KINDS, given.rounds)
        table.title = (
            f"{site}, {given.rounds} rounds, median (least … most), tokenizer {given.tokenizer}; {before}, then"
            f" {describe_load()}"
        )
        Console(width=180).print(table)


def describe_load() -> str:
    """Return the load of the machine in words."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def _measure(table: Table, spider: str, crawl: Callable[[str], Crawled], kinds: Sequence[str], rounds: int) -> None:
    """Crawl in turn with each kind of filter, and add a row for each."""
    done: dict[str, list[Crawled]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        # The kind that comes first in one round comes last in the next, because the speed of the machine varies.
        for kind in kinds if number % 2 else reversed(kinds):
            done[kind].append(crawl(kind))
    plain = statistics.median(map(_rate, done[kinds[0]]))
    for kind, runs in done.items():
        rates = sorted(map(_rate, runs))
        rate = statistics.median(rates)
        stalls = sorted(1000 * stall for crawled in runs for stall in crawled.stalls)
        table.add_row(
            spider,
            kind,
            f"{rate:.1f} ({rates[0]:.1f} … {rates[-1]:.1f})",
            _shares(map(_rate, runs), map(_rate, done[kinds[0]])),
            _shares(map(_rate, runs), map(_rate, done["no claims"])) if "no claims" in done else "",
            f"{1000 / rate:.1f} (+{1000 / rate - 1000 / plain:.1f})",
            f"{statistics.median(map(_cpu, runs)):.2f}",
            f"{statistics.median(_cpu_of(crawled, 'MainThread') for crawled in runs):.2f}",
            f"{statistics.median(_cpu_of(crawled, 'crawler-dedup-committer') for crawled in runs):.2f}",
            f"{statistics.median(1000 * crawled.workers / crawled.pages for crawled in runs):.2f}",
            *(f"{stalls[int(share * (len(stalls) - 1))]:.1f}" for share in (0.5, 0.99, 1)),
        )


def _crawl(sites: Sequence[str], folder: Path, spider: str, tokenizer: str, skip: int, kind: str) -> Crawled:
    # Every page passes with `mark`, so that all kinds fetch, parse and follow the same pages.
    settings = {"DEDUP_ACTION": "mark", "DEDUP_TOKENIZER": tokenizer}
    settings = {
        "off": {"DEDUP_ENABLED": "False"},
        "loop": {**settings, "DEDUP_PROCESSES": "0"},
        "no claims": {**settings, **withoutclaims.SETTINGS},
        "mark": settings,
    }[kind]
    with tempfile.TemporaryDirectory() as working, ExitStack() as servers:
        if sites[0] in HOSTS:
            start, allow = servers.enter_context(serve_hosts(find_pages(sites[0]), core=1))
            settings |= {"DEPTH_LIMIT": "1", "ROBOTSTXT_OBEY": "False"}
        else:
            origins = [servers.enter_context(served(site, core=1, folder=folder)) for site in sites]
            start, allow = ",".join(f"{origin}/_all.html" for origin in origins), ""
        done = run(
            start,
            items=Path(working) / "items.jsonl",
            spider=spider,
            settings={"DEDUP_DIR": f"{working}/index", **settings},
            core=0,
            skip=skip,
            allow=allow,
        )
    assert done is not None
    return done


def _shares(values: Iterable[float], plain_values: Iterable[float]) -> str:
    """Return the median, least and greatest share, by rounds: the machine differs more between rounds than the kinds do."""
    shares = sorted(value / plain_value for value, plain_value in zip(values, plain_values, strict=True))
    return f"{statistics.median(shares):.2f} ({shares[0]:.2f} … {shares[-1]:.2f})"


def _cpu(done: Crawled) -> float:
    return 1000 * done.cpu / done.pages


def _cpu_of(done: Crawled, thread: str) -> float:
    return 1000 * done.threads.get(thread, 0.0) / done.pages


def _rate(done: Crawled) -> float:
    return done.pages / done.seconds


if __name__ == "__main__":
    main()
