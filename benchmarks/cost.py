"""Processor time of the filter per page, beside ``trafilatura.extract()``: ``python -m benchmarks.cost [--pages 250]``.

The pages are real: those of blogs and books by their language, and those of many hosts (:mod:`benchmarks.hosts`). They
are already parsed, as in Scrapy. The time of the filter includes everything up to the verdict: main text, tokens, signature,
links, look-up, filing on disk, one page at a time. trafilatura gets the bytes and its default settings. The two take turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import astuple, dataclass
from pathlib import Path

import trafilatura
from rich.console import Console
from rich.table import Table

from benchmarks.data import sources
from benchmarks.hosts import HOSTS, find_pages
from crawler_dedup import Config, Deduplicator
from crawler_dedup.signing import parsing
from tests.support.data import DATA, require_data, saved

_TURN = 25
"""Number of pages after which the filter and trafilatura change turns."""


@dataclass(frozen=True)
class Cost:
    """Milliseconds of processor time per page: parsing, signing, everything up to the verdict, and trafilatura."""

    parsing: float
    signing: float
    verdict: float
    peer: float


def measure(pages: list[tuple[str, Path]], tokenizer: str) -> Cost:
    """Measure one round over *pages* with a fresh index."""
    spent = [0.0, 0.0, 0.0, 0.0]
    with (
        tempfile.TemporaryDirectory() as folder,
        Deduplicator.open(folder, Config.from_settings({"DEDUP_TOKENIZER": tokenizer})) as filtered,
    ):
        filtered.signer.load()
        for at in range(0, len(pages), _TURN):
            turn = [(url, saved(file)) for url, file in pages[at : at + _TURN]]
            start = time.process_time()
            parsed = [(url, body, parsing.parse(body)) for url, body in turn]
            spent[0] += time.process_time() - start
            start = time.process_time()
            signed = [
                filtered.signer.sign(url, body, tree, encoding=None, key=None, scope="global")[0]
                for url, body, tree in parsed
            ]
            spent[1] += time.process_time() - start
            for page in signed:
                filtered.decide([page])
            spent[2] += time.process_time() - start
            start = time.process_time()
            for _, body in turn:
                trafilatura.extract(body)
            spent[3] += time.process_time() - start
    return Cost(*(1000 * seconds / len(pages) for seconds in spent))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--pages", type=int, default=250, help="of each kind")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    require_data(given.folder)
    table = Table("", title=f"ms of processor time a page, median of {given.rounds} rounds (least … most)")
    for column in ("parsing", "signing", "to the verdict", "trafilatura.extract", "share"):
        table.add_column(column, justify="right")
    all_sources = sources(given.folder)
    for kind, tokenizer in (("en", "jieba"), ("zh", "rjieba"), ("zh", "jieba"), *((name, "rjieba") for name in HOSTS)):
        all_pages = (
            list(find_pages(kind).items())
            if kind in HOSTS
            else [(source.url, source.file) for source in all_sources if source.language == kind]
        )
        pages = all_pages[:: max(1, len(all_pages) // given.pages)][: given.pages]
        rounds = [measure(pages, tokenizer) for _ in range(given.rounds)]
        shares = sorted(costs.verdict / costs.peer for costs in rounds)
        table.add_row(
            f"{kind}, {tokenizer}",
            *(f"{statistics.median(values):.2f}" for values in zip(*map(astuple, rounds), strict=True)),
            f"{statistics.median(shares):.3f} ({shares[0]:.3f} … {shares[-1]:.3f})",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
