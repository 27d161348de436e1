"""Build large indexes of the same pages, in a directory and on a server, for ``benchmarks.large_backends``, and keep them.

The indexes have pages of many hosts, five of each, made from the saved sites as in ``benchmarks.sizes``, and a site profile
of each host. Two processes fill the directory and the server at the same time. A process that was killed is resumed by the
next call.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from benchmarks.data import sources, workers
from benchmarks.sizes import disguise, sign, words_of
from crawler_dedup import Config, SignedPage
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import open_or_create_index
from crawler_dedup.index.profiles import NO_SNAPSHOT, StoredSite, site_key
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import wall_clock
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.signer import Signer
from tests.support.servers import Server, serving

CONFIG = Config(tokenizer="bigrams")
_PAGES_OF_HOST = 5
_FILED = 5_000  # pages that are filed at once
_SAVED = 50_000  # pages after which the state is saved
_KINDS = ("directory", "server")


class Filled(msgspec.Struct, frozen=True):
    """The saved state of an index.

    Attributes:
        hosts: number of hosts whose pages are all stored.
        pages: number of pages of these hosts that are kept.
        size: size of the index in bytes.
    """

    hosts: int = 0
    pages: int = 0
    size: int = 0


def read_filled(kept: Path, kind: str) -> Filled:
    """Return the saved state of the index of a kind."""
    file = kept / f"{kind}.json"
    return msgspec.json.decode(file.read_bytes(), type=Filled) if file.exists() else Filled()


def build(kept: Path, data: Path, pages: int) -> None:
    """Fill both indexes in the folder *kept* until they have *pages* pages."""
    hosts = pages // _PAGES_OF_HOST
    if all(read_filled(kept, kind).hosts >= hosts for kind in _KINDS):
        return
    with workers() as pool:
        signed = list(pool.map(sign, [source for source in sources(data) if not source.is_gold], chunksize=20))
    processes = [get_context("spawn").Process(target=_fill, args=(kept, kind, signed, hosts)) for kind in _KINDS]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)


def _fill(kept: Path, kind: str, signed: Sequence[SignedPage], hosts: int) -> None:
    if kind == "directory":
        _fill_index(kept, kind, kept / "index", signed, hosts, lambda: None)
        return
    with serving(kept / "data", "--appendonly", "no", "--save", "") as server:
        _fill_index(kept, kind, server.address(), signed, hosts, lambda: _save(server))


def _save(server: Server) -> None:
    server.run("BGSAVE")
    while server.info("persistence")["rdb_bgsave_in_progress"]:
        time.sleep(0.2)


def _fill_index(
    kept: Path, kind: str, location: Location, signed: Sequence[SignedPage], hosts: int, save: Callable[[], object]
) -> None:
    signer, matcher, now = Signer(CONFIG), RuleMatcher(Signer(CONFIG)), wall_clock()
    index = open_or_create_index(location, signer.spec, signer.libraries)
    done = read_filled(kept, kind).hosts
    waiting = make_hosts(signed, done, hosts)
    while batch := list(islice(waiting, _FILED // _PAGES_OF_HOST)):
        records = [Record(page, filed=now, seen=now, settled=now) for pages, _ in batch for page in pages]
        index.merge(records, matcher)
        index.merge_sites([known for _, known in batch])
        done += len(batch)
        if done * _PAGES_OF_HOST % _SAVED == 0 or done == hosts:
            save()
            filled = Filled(done, len(index), index.stored_bytes)
            (kept / f"{kind}.json").write_bytes(msgspec.json.encode(filled))
    index.close()


def make_hosts(signed: Sequence[SignedPage], first: int, last: int) -> Iterator[tuple[list[SignedPage], StoredSite]]:
    """Yield the pages and the site profile of each host with a number from *first* up to *last*."""
    words = words_of(signed)
    grouped = groupby((page for page in signed if not page.unsigned), lambda page: urlsplit(page.url).netloc)
    sites = [pages for _, group in grouped if len(pages := list(group)) >= _PAGES_OF_HOST]
    matcher = RuleMatcher(Signer(CONFIG))
    for host in range(first, last):
        chance = random.Random(-1 - host)
        drawn = chance.sample(chance.choice(sites), _PAGES_OF_HOST)
        pages = [matcher.prepare(page, NO_SNAPSHOT) for page in disguise(drawn, host, words)]
        counts = SiteCounts()
        for page in pages:
            counts.add(page)
        known = StoredSite(site_key("", pages[0].url), counts.pages_counted, 0, wall_clock(), counts.encode(), [])
        yield [matcher.trim(page) for page in pages], known
