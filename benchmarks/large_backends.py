"""What a page costs in a large index on a server: ``python -m benchmarks.large_backends KEPT [--pages N] [--signatures N]``.

First, an index in a directory and an index on a server are built of the same pages, in the folder KEPT, where they stay
(``benchmarks.large_indexes``). If this is killed, or was done with fewer pages, it is resumed. With ``--build``, nothing
else is done. Then generated pages are offered one at a time, each settled with the next offer as in a crawl: by a new
process for each distance, and for each share of all buckets of the index that a client may keep in memory; this memory is
filled first. Last, several clients offer pages in turn, each page settled before the next offer, so that each client reads
the changes of the others. All of this is repeated with random signatures in the tables that belong to no record. The server
works on a copy, which is not kept.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import redis
from rich.console import Console
from rich.table import Table

from benchmarks.backends import Cost, Crawl, make_pages_to_offer
from benchmarks.large_indexes import CONFIG, build, read_filled
from benchmarks.sizes import disguise
from crawler_dedup import Config, SignedPage, permutedtables
from crawler_dedup.index.layout import NUMBERS, SIGNATURES
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.opening import CACHE_BYTES
from crawler_dedup.index.records import hash_scope
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.index.redis.index import ServerIndex
from crawler_dedup.index.redis.keys import Keys, meta_key
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, require_data
from tests.support.servers import Server, serving

_OTHER = 1_000_000_000
"""Number of the first host of pages that are offered."""
_PACE = 160  # pages per second of a crawl
_DISTANCES = (3, 7)
_SHARES = (1.0, 0.1, 0.01)
_CLIENTS = 20
_AT_ONCE = 2_000  # commands that are sent at once
_UNBOUNDED = 1 << 40
_TABLE_SHIFT = 40
_WARM = 100  # pages that are offered before measuring begins


class Measured(NamedTuple):
    """The measurements of a process that offers pages.

    Attributes:
        cost: cost of a page.
        read: keys that the server has looked up per page.
        cells: bytes of cells that the process keeps, by its own count.
        memory: bytes by which the process has grown.
    """

    cost: Cost
    read: float
    cells: int
    memory: int


@contextmanager
def serving_copy(data: Path) -> Iterator[Server]:
    """Serve a copy of the data of a server in *data*, with a server that writes a log as in a crawl."""
    with tempfile.TemporaryDirectory(dir=data.parent) as folder:
        os.link(data / "dump.rdb", Path(folder) / "dump.rdb")
        with serving(Path(folder), "--appendonly", "no", "--save", "") as server:
            server.run("CONFIG", "SET", "appendfsync", "everysec")
            server.run("CONFIG", "SET", "appendonly", "yes")
            while (
                server.info("persistence")["aof_rewrite_in_progress"]
                or server.info("persistence")["aof_rewrite_scheduled"]
            ):
                time.sleep(0.1)
            yield server


def fill_tables(address: ServerAddress, signatures: int) -> None:
    """Insert random signatures into the tables of an index on a server."""
    with ServerConnection(address) as connection:
        keys = Keys(address, connection.call(b"HGET", meta_key(address), b"epoch"))
    drawn = np.random.default_rng(1).integers(0, 1 << 63, signatures, dtype=np.uint64) << np.uint64(1)
    with redis.from_url(address.url) as server:
        for buckets in np.array([permutedtables.keys(signature) for signature in drawn.tolist()]).T:
            order = np.argsort(buckets, kind="stable")
            distinct, starts = np.unique(buckets[order], return_index=True)
            names = keys.bucket_names(SIGNATURES, hash_scope(""), distinct.tolist())
            contents = [part.tobytes() for part in np.split(drawn[order], starts[1:])]
            for at in range(0, len(names), _AT_ONCE):
                pipeline = server.pipeline(transaction=False)
                for name, content in zip(names[at : at + _AT_ONCE], contents[at : at + _AT_ONCE], strict=True):
                    pipeline.append(name, content)
                pipeline.execute()


def offer(
    address: ServerAddress, distance: int, cache_bytes: int, pages: Sequence[SignedPage], clients: int
) -> Measured:
    """Offer *pages* and measure the cost: with one client whose memory is filled before, or with several clients in turn."""
    with ExitStack() as stack:
        signer = Signer(Config(max_distance=distance, tokenizer=CONFIG.tokenizer))
        before = _resident_bytes()
        crawls = [stack.enter_context(closing(Crawl(address, signer, cache_bytes))) for _ in range(clients)]
        cells = _read_all(crawls[0]) if clients == 1 else 0
        grown = _resident_bytes() - before
        for number, page in enumerate(pages[:_WARM]):
            crawls[number % clients].offer([page], 1)
        rest, looked = pages[_WARM:], _count_looks(address)
        cost = _measure_turns(crawls, rest) if clients > 1 else crawls[0].measure(rest, 1, settled_later=True)[0]
        read = (_count_looks(address) - looked) / len(rest)
    return Measured(cost, read, cells, grown)


def _measure_turns(crawls: Sequence[Crawl], pages: Sequence[SignedPage]) -> Cost:
    client, server, passed = time.process_time(), crawls[0].server_time(), time.perf_counter()
    for number, page in enumerate(pages):
        crawls[number % len(crawls)].offer([page], 1)
    spent = (time.process_time() - client, crawls[0].server_time() - server, time.perf_counter() - passed)
    return Cost(*(seconds / len(pages) * 1e6 for seconds in spent))


def _read_all(crawl: Crawl) -> int:
    """Let a client read all buckets of an index, so that it keeps as many as its limit allows; return their bytes."""

    def read(client: Client) -> int:
        keys, scope = client.keys, hash_scope("")
        for table in range(4):
            for first in range(0, 1 << 16, _AT_ONCE):
                buckets = range(table << _TABLE_SHIFT | first, table << _TABLE_SHIFT | min(first + _AT_ONCE, 1 << 16))
                client.cells.read_ahead(keys.bucket_names(SIGNATURES, scope, buckets))
        for first in range(0, 1 << 16, _AT_ONCE):
            client.cells.read_ahead(keys.bucket_names(NUMBERS, scope, range(first, min(first + _AT_ONCE, 1 << 16))))
        cache = client.cells._cache
        return cache._max_bytes - cache._left

    assert isinstance(crawl.pages, ServerIndex)
    return crawl.pages._submit(
        lambda tables: read(tables._storage._client)  # type: ignore[attr-defined]
    ).result()


def _count_looks(address: ServerAddress) -> int:
    with ServerConnection(address) as connection:
        stats = connection.info("stats")
    return int(stats["keyspace_hits"]) + int(stats["keyspace_misses"])


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class _Measuring:
    """Measures in new processes, and adds a row to a table for each process.

    Args:
        offered: pages that are offered each time, with another host each time.
    """

    def __init__(self, address: ServerAddress, offered: Sequence[SignedPage], table: Table) -> None:
        self._address = address
        self._offered = offered
        self._table = table
        self._hosts = count()

    def measure(self, title: str) -> None:
        """Offer pages with each distance, share of memory and number of clients."""
        everything = self._offer(_DISTANCES[0], _UNBOUNDED, 1).cells
        for distance in _DISTANCES:
            for share in _SHARES:
                self._add(f"{title}, k = {distance}, {share:.0%}", self._offer(distance, int(everything * share), 1))
            self._add(f"{title}, k = {distance}, {_CLIENTS} clients", self._offer(distance, CACHE_BYTES, _CLIENTS))
        self._table.add_section()

    def _offer(self, distance: int, cache_bytes: int, clients: int) -> Measured:
        number = next(self._hosts)
        words = [f"other{number}word{word}" for word in range(5_000)]
        pages = list(disguise(self._offered, _OTHER + number, words))
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            return process.submit(offer, self._address, distance, cache_bytes, pages, clients).result()

    def _add(self, title: str, done: Measured) -> None:
        cost = done.cost
        self._table.add_row(
            title,
            f"{cost.client:,.0f} + {cost.server:,.0f}",
            f"{done.read:.1f}",
            f"{done.cells / 1e6:,.0f} MB",
            f"{done.memory / 1e6:,.0f} MB",
            f"{1e6 / cost.passed:,.0f}",
            f"{1e6 / _PACE / cost.server:,.0f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path, help="folder in which the indexes stay")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--pages", type=int, default=1_000_000, help="in both indexes")
    parser.add_argument("--signatures", type=int, default=10_000_000, help="in the tables of the server at last")
    parser.add_argument("--offered", type=int, default=1_000, help="pages that are offered each time")
    parser.add_argument("--build", action="store_true", help="measure nothing")
    given = parser.parse_args()
    require_data(given.data)
    given.kept.mkdir(parents=True, exist_ok=True)
    build(given.kept, given.data, given.pages)
    if given.build:
        return
    load, began = os.getloadavg()[0], time.monotonic()
    directory, filled = (read_filled(given.kept, kind) for kind in ("directory", "server"))
    columns = ("client + server µs", "keys read", "kept", "client grows by", "pages/s", f"crawls of {_PACE}/s")
    table = Table("a page, offered one at a time; share of the buckets that a client keeps", *columns)
    with serving_copy(given.kept / "data") as server:
        offered = make_pages_to_offer(Signer(CONFIG), given.offered + _WARM, 0)
        measuring = _Measuring(server.address(), offered, table)
        size = int(server.info("memory")["used_memory"])  # type: ignore[call-overload]
        measuring.measure(f"{filled.pages:,} pages")
        if given.signatures > filled.pages:
            fill_tables(server.address(), given.signatures - filled.pages)
            measuring.measure(f"{given.signatures:,} signatures")
    in_directory, on_server = (index.size / index.pages for index in (directory, filled))
    table.title = (
        f"Bytes a page: directory {in_directory:,.0f}, server {on_server:,.0f} ({on_server / in_directory:.2f}),"
        " all memory of the server"
        f" after its start {size / filled.pages:,.0f}; load {load:.1f} … {os.getloadavg()[0]:.1f};"
        f" {time.monotonic() - began:,.0f} s"
    )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
