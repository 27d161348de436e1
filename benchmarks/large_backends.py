"""What a page costs in a large index on a server: ``python -m benchmarks.large_backends [--pages N] [--signatures N]``.

An index in a directory and one on a server get the same records: pages of many hosts, made from the saved sites as in
``benchmarks.sizes``, and what is known of each host. Then made-up pages are offered one at a time, each settled with the
next as in a crawl: by a new process for each distance, and for each share of the memory that a client may use. The same
pages are offered in a small index on another server, a hundred in turn. At last the tables of the large one get random
signatures, to which no record leads, and pages are offered again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from itertools import count, groupby, islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.backends import Cost, Crawl, make_pages_to_offer
from benchmarks.data import sources, workers
from benchmarks.sizes import disguise, sign, words_of
from crawler_dedup import Config, SignedPage
from crawler_dedup.config import INDEX_CACHE
from crawler_dedup.hamming import DESIGNS
from crawler_dedup.index.backend import Backend
from crawler_dedup.index.location import Location, ServerAddress
from crawler_dedup.index.maintenance import make_pages
from crawler_dedup.index.profiles import NO_SNAPSHOT, StoredSite, site_key
from crawler_dedup.index.records import Record, hash_scope
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.index.redis.keys import Keys, meta_key
from crawler_dedup.index.runs import wall_clock
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, require_data
from tests.support.servers import serving

_PAGES_OF_HOST = 5
_FILED = 5_000
_TURN = 100
_OTHER = 1_000_000_000
"""Number of the first host of pages that are offered."""
_PACE = 160  # pages a second of a crawl
_DISTANCES = (3, 7)
_SHARES = (1.0, 0.1, 0.01)
_CONFIG = Config(tokenizer="bigrams")
_OPTIONS = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")

_Host = tuple[list[SignedPage], StoredSite]


class Measured(NamedTuple):
    """What a process has measured that offers pages.

    Attributes:
        large: what a page costs in the large index.
        small: what it costs in the small one.
        memory: by how many bytes the process has grown.
    """

    large: Cost
    small: Cost
    memory: int


def make_hosts(folder: Path, hosts: int) -> Iterator[_Host]:
    """Yield pages of so many hosts, and what is known of each."""
    with workers() as pool:
        signed = list(pool.map(sign, [source for source in sources(folder) if not source.is_gold], chunksize=20))
    words, chance = words_of(signed), random.Random(1)
    grouped = groupby((page for page in signed if not page.unsigned), lambda page: urlsplit(page.url).netloc)
    sites = [pages for _, group in grouped if len(pages := list(group)) >= _PAGES_OF_HOST]
    matcher = RuleMatcher(Signer(_CONFIG))
    for host in range(hosts):
        drawn = chance.sample(chance.choice(sites), _PAGES_OF_HOST)
        pages = [matcher.prepare(page, NO_SNAPSHOT) for page in disguise(drawn, host, words)]
        counts = matcher.read_counts(b"")
        for page in pages:
            counts.add(page)
        known = StoredSite(site_key("", pages[0].url), counts.taught, 0, wall_clock(), counts.encode(), [])
        yield [matcher.trim(page, NO_SNAPSHOT) for page in pages], known


def fill(backends: Sequence[Backend], hosts: Iterator[_Host]) -> None:
    """File the same records in all *backends*."""
    matcher, now = RuleMatcher(Signer(_CONFIG)), wall_clock()
    while batch := list(islice(hosts, _FILED // _PAGES_OF_HOST)):
        records = [Record(page, filed=now, seen=now, settled=now) for pages, _ in batch for page in pages]
        for backend in backends:
            backend.merge(records, matcher)
            backend.merge_sites([known for _, known in batch])


def fill_tables(address: ServerAddress, signatures: int) -> None:
    """Put random signatures into the tables of an index on a server."""
    with ServerConnection(address) as connection:
        keys = Keys(address, connection.call(b"HGET", meta_key(address), b"epoch"))
        drawn = np.random.default_rng(1).integers(0, 1 << 63, signatures, dtype=np.uint64) << np.uint64(1)
        for buckets in DESIGNS[4].keys_of_many(drawn).T:
            order = np.argsort(buckets, kind="stable")
            distinct, starts = np.unique(buckets[order], return_index=True)
            for name, payloads in zip(
                keys.bucket_names(hash_scope(""), distinct.tolist()), np.split(drawn[order], starts[1:]), strict=True
            ):
                connection.call(b"APPEND", name, payloads.tobytes())


def offer(large: Location, small: Location, distance: int, cache_bytes: int, pages: Sequence[SignedPage]) -> Measured:
    """Offer *pages* in both indexes, and measure what that costs."""
    before, costs = _resident_bytes(), list[list[Cost]]()
    with ExitStack() as stack:
        signer = Signer(Config(max_distance=distance, tokenizer="bigrams"))
        crawls = [stack.enter_context(closing(Crawl(location, signer, cache_bytes))) for location in (large, small)]
        for at in range(0, len(pages), _TURN):
            turn = pages[at : at + _TURN]
            costs.append([crawl.measure(turn, 1, settled_later=True)[0] for crawl in crawls])
        memory = _resident_bytes() - before
    medians = [Cost(*map(statistics.median, zip(*of_index, strict=True))) for of_index in zip(*costs, strict=True)]
    return Measured(medians[0], medians[1], memory)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _measure(
    location: Location, small: Location, made_up: Sequence[SignedPage], hosts: Iterator[int], title: str, table: Table
) -> None:
    """Offer pages as a new process for each distance and each share of memory, and add a row for each."""
    is_server = isinstance(location, ServerAddress)
    for distance in _DISTANCES:
        for share in _SHARES if is_server else _SHARES[:1]:
            number = next(hosts)
            pages = list(disguise(made_up, _OTHER + number, [f"other{number}word{word}" for word in range(5_000)]))
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
                done = process.submit(offer, location, small, distance, int(INDEX_CACHE * share), pages).result()
            table.add_row(
                f"{title}, k = {distance}" + (f", {share:.0%} of DEDUP_INDEX_CACHE" if is_server else ""),
                f"{done.large.client:,.0f} + {done.large.server:,.0f}",
                f"{done.small.client:,.0f} + {done.small.server:,.0f}",
                f"{1e6 / done.large.passed:,.0f}",
                f"{done.memory / 1e6:,.0f} MB",
                f"{1e6 / _PACE / done.large.server:,.0f}" if is_server else "",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--pages", type=int, default=1_000_000, help="in both indexes")
    parser.add_argument("--signatures", type=int, default=10_000_000, help="in the tables of the server at last")
    parser.add_argument("--offered", type=int, default=3_000, help="pages that are offered each time")
    given = parser.parse_args()
    require_data(given.folder)
    signer, load = Signer(_CONFIG), os.getloadavg()[0]
    columns = ("client + server µs", "in a small index", "pages/s", "client grows by", f"crawls of {_PACE}/s")
    table = Table("a page, offered one at a time, settled with the next", *columns)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server, other = (stack.enter_context(serving(folder / name, *_OPTIONS)) for name in ("server", "other"))
        locations: list[Location] = [folder / "index", server.address()]
        backends = [make_pages(location, signer.spec, signer.libraries) for location in locations]
        fill(backends, make_hosts(given.folder, given.pages // _PAGES_OF_HOST))
        sizes = [backend.stored_bytes / len(backend) for backend in backends]
        filled = len(backends[1])
        for backend in backends:
            backend.close()
        made_up, hosts, small = make_pages_to_offer(signer, given.offered, 0), count(), other.address()
        for location in locations:
            _measure(location, small, made_up, hosts, f"{filled:,} pages", table)
        if given.signatures > filled:
            fill_tables(server.address(), given.signatures - filled)
            _measure(locations[1], small, made_up, hosts, f"{given.signatures:,} signatures", table)
    table.title = (
        f"Bytes a page: directory {sizes[0]:,.0f}, server {sizes[1]:,.0f} ({sizes[1] / sizes[0]:.2f});"
        f" load of the machine {load:.1f} … {os.getloadavg()[0]:.1f}"
    )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
