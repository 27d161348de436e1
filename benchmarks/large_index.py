"""Cost of a decision as the directory of an index grows: ``python -m benchmarks.large_index [--signatures 1e5]``.

Random signatures, which belong to no record, are inserted into the tables of an index, until it has as many as asked. Then
generated pages are offered one at a time, each settled with the next offer as in a crawl. All sizes are measured in the same
index, with pages of their own, for each distance.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from contextlib import closing
from pathlib import Path

import lmdb
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.backends import Crawl, make_pages_to_offer
from crawler_dedup import Config, permutedtables
from crawler_dedup.index.layout import SIGNATURES
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import hash_scope
from crawler_dedup.signing.signer import Signer

_SIZES = (100_000, 1_000_000, 10_000_000)
_PAGES = 1_000
_WARM = 200
_AT_ONCE = 1_000_000


def fill_tables(index: DirectoryIndex, signatures: int, seed: int) -> None:
    """Insert random signatures into the tables of *index*."""
    source = np.random.default_rng(seed)
    buckets = index.databases.buckets[SIGNATURES]
    for at in range(0, signatures, _AT_ONCE):
        drawn = np.sort(source.integers(0, 1 << 64, min(_AT_ONCE, signatures - at), dtype=np.uint64)).tolist()

        def insert(txn: lmdb.Transaction, drawn: list[int] = drawn) -> None:
            for signature in drawn:
                buckets.insert(txn, hash_scope(""), permutedtables.keys(signature), signature)

        index.environment.write(insert, timeout=600)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signatures", type=float, action="append", help="may be given again, in ascending order")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of a thousand pages each")
    given = parser.parse_args()
    sizes = [int(size) for size in given.signatures or _SIZES]
    before = os.getloadavg()[0]
    table = Table("k", "signatures", "CPU µs a page", "of the first", "µs passed")
    for column in table.columns[1:]:
        column.justify = "right"
    for distance in (3, 7):
        signer = Signer(Config(max_distance=distance, tokenizer="bigrams"))
        with tempfile.TemporaryDirectory() as folder, closing(Crawl(Path(folder), signer)) as crawl:
            assert isinstance(crawl.pages, DirectoryIndex)
            first, filled = 0.0, 0
            for number, size in enumerate(sizes):
                fill_tables(crawl.pages, size - filled, number)
                filled = size
                crawl.offer(make_pages_to_offer(signer, _WARM, 1000 * number + 999), 1, settled_later=True)
                costs = []
                for turn in range(given.rounds):
                    offered = make_pages_to_offer(signer, _PAGES, 1000 * number + turn)
                    costs.append(crawl.measure(offered, 1, settled_later=True)[0])
                median = statistics.median(cost.client for cost in costs)
                first = first or median
                passed = statistics.median(cost.passed for cost in costs)
                table.add_row(str(distance), f"{size:,}", f"{median:,.0f}", f"{median / first:.2f}", f"{passed:,.0f}")
    table.title = f"Load of the machine {before:.1f} … {os.getloadavg()[0]:.1f}"
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
