"""What a page costs on a server with many signatures: ``python -m benchmarks.large_backends [NUMBER …] [--offered N]``.

Random signatures that belong to no record fill the tables of an index, up to each NUMBER in turn. Then, by a new process for
each distance, generated pages are offered one at a time, each settled together with the next offer, as in a crawl.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import redis
from rich.console import Console
from rich.table import Table

from benchmarks.backends import Cost, Crawl, make_pages_to_offer
from benchmarks.speed import describe_load
from crawler_dedup import Config, permutedtables
from crawler_dedup.index.layout import SIGNATURES
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.records import hash_scope
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.index.redis.keys import Keys, read_meta, split_header
from crawler_dedup.signing.signer import Signer
from tests.support.servers import serving

_DISTANCES = (3, 7)
_PART = 1_000_000  # signatures that are inserted together
_AT_ONCE = 2_000  # commands that are sent at once
_WARM = 100  # pages that are offered before measuring begins


def _signer(distance: int) -> Signer:
    return Signer(Config(max_distance=distance, tokenizer="bigrams"))


def fill_tables(address: ServerAddress, parts: Iterator[int], signatures: int) -> None:
    """Insert random signatures into the tables of an index, as many as are missing to *signatures*."""
    with closing(ServerConnection(address)) as connection:
        keys = Keys(address, split_header(read_meta(connection)[0] or b"")[0])
    with redis.from_url(address.url) as server:
        while signatures > 0:
            size, chance = min(signatures, _PART), np.random.default_rng(next(parts))
            signatures -= size
            drawn = chance.integers(0, 1 << 63, size, dtype=np.uint64) << np.uint64(1)
            for buckets in np.array([permutedtables.keys(signature) for signature in drawn.tolist()]).T:
                order = np.argsort(buckets, kind="stable")
                distinct, starts = np.unique(buckets[order], return_index=True)
                names = keys.buckets(SIGNATURES, hash_scope(""), distinct.tolist())
                contents = [part.tobytes() for part in np.split(drawn[order], starts[1:])]
                for at in range(0, len(names), _AT_ONCE):
                    pipeline = server.pipeline(transaction=False)
                    for name, content in zip(names[at : at + _AT_ONCE], contents[at : at + _AT_ONCE], strict=True):
                        pipeline.append(name, content)
                    pipeline.execute()


def offer(address: ServerAddress, distance: int, seed: int, offered: int) -> tuple[Cost, float]:
    """Offer generated pages; return the cost of a page, and the bytes that the server has sent for it."""
    signer = _signer(distance)
    pages = make_pages_to_offer(signer, _WARM + offered, seed)
    with closing(Crawl(address, signer)) as crawl, closing(ServerConnection(address)) as connection:
        crawl.offer(pages[:_WARM], 1)
        sent = int(connection.info("stats")["total_net_output_bytes"])
        cost, _ = crawl.measure(pages[_WARM:], 1, settled_later=True)
        return cost, (int(connection.info("stats")["total_net_output_bytes"]) - sent) / offered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("signatures", type=int, nargs="*", default=[10**5, 10**6, 10**7])
    parser.add_argument("--offered", type=int, default=1_000, help="pages that are offered each time")
    given = parser.parse_args()
    table = Table("a page, offered one at a time", "client µs", "server µs", "kB read", "pages/s")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "--appendonly", "yes") as server:
        parts, seeds, filled = count(), count(), 0
        with closing(Crawl(server.address(), _signer(_DISTANCES[0]))):
            pass  # which creates the index
        for signatures in given.signatures:
            fill_tables(server.address(), parts, signatures - filled)
            filled = signatures
            for distance in _DISTANCES:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    cost, read = process.submit(offer, server.address(), distance, next(seeds), given.offered).result()
                figures = (
                    f"{cost.client:,.0f}",
                    f"{cost.server:,.0f}",
                    f"{read / 1000:,.1f}",
                    f"{1e6 / cost.passed:,.0f}",
                )
                table.add_row(f"{signatures:,} signatures, k = {distance}", *figures)
            table.add_section()
    table.title = describe_load()
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
