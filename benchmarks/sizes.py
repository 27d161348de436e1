"""Bytes of an index: ``python -m benchmarks.sizes [--hosts 10000] [--pages 5]``.

The pages are real. First, all pages of the saved sites are signed and filed in one index. Then a few pages of many hosts are
filed in another: each host has pages of one saved site, with other hashes, and other words in titles and addresses, than any
other host. The words are drawn from all pages, by their frequency.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from urllib.parse import urlsplit

import lmdb
import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.data import Source, sources, workers
from benchmarks.index.durable import database_bytes
from crawler_dedup import Config, Deduplicator, SignedPage
from crawler_dedup.index.records import decode
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, require_data, saved

_CONFIG = Config(tokenizer="bigrams")
_WAITING = 64
_WORD = re.compile(r"\w+")
_NODE_BYTES = 15  # a record's number, and LMDB's overhead for finding it


def sign(source: Source) -> SignedPage:
    """Sign a saved page as a page of a host with the name of its site."""
    path = source.file.as_posix().partition(f"/{source.file.parent.name}/")[2]
    url = source.url or f"http://{source.site}.test/{path}"
    return Signer(_CONFIG).sign(url, saved(source.file), None, encoding=None, key=None, scope="")[0]


def words_of(pages: Iterable[SignedPage]) -> list[str]:
    """Return the words of titles and addresses, each as often as it occurs."""
    return [word for page in pages for word in _WORD.findall(f"{page.title} {urlsplit(page.url).path}")]


def disguise(pages: Sequence[SignedPage], host: int, words: Sequence[str]) -> Iterator[SignedPage]:
    """Yield *pages* as pages of another host: with other hashes, and other words in titles and addresses."""
    chance = random.Random(host)
    number, name, replacements = chance.getrandbits(64), chance.choice(words), dict[str, str]()

    def replace(match: re.Match[str]) -> str:
        return replacements.setdefault(match[0], chance.choice(words))

    for page in pages:
        title, path = _WORD.sub(replace, page.title), _WORD.sub(replace, urlsplit(page.url).path)
        url = f"https://www.{name}{host}.test{path}"
        disguised = partial(_other, number)
        yield msgspec.structs.replace(
            page,
            key=url,
            url=url,
            title=title[:200],
            digest=disguised(page.digest, 8),
            signature=page.signature ^ number,
            link_digest=disguised(page.link_digest, 8),
            links=np.sort(np.frombuffer(disguised(page.links, 4), dtype="<u4")).tobytes(),
            blocks=_other(number & 0xFFFFFFFF, page.blocks, 6),
        )


def _other(number: int, content: bytes, size: int) -> bytes:
    """Flip the bits of *number* in each of the numbers of *size* bytes in *content*."""
    flips = np.frombuffer((number & (1 << 8 * size) - 1).to_bytes(size, "little"), dtype=np.uint8)
    return (np.frombuffer(content, dtype=np.uint8).reshape(-1, size) ^ flips).tobytes()


def file_all(directory: Path, pages: Iterable[SignedPage]) -> int:
    """File *pages* in a new index, and return how many are kept."""
    waiting = iter(pages)
    with Deduplicator.open(directory, _CONFIG) as deduplicator:
        while batch := list(islice(waiting, _WAITING)):
            deduplicator.decide(batch)
        return len(deduplicator)


def record_bytes(directory: Path) -> dict[PageKind, list[int]]:
    """Return the sizes in bytes of the records, by the kind of page."""
    sizes: dict[PageKind, list[int]] = {kind: [] for kind in PageKind}
    with lmdb.open(str(directory), readonly=True, max_dbs=16) as env, env.begin() as txn:
        for _, content in txn.cursor(db=env.open_db(b"records", txn, create=False)):
            sizes[decode(content).page.kind].append(len(content) + _NODE_BYTES)
    return sizes


def profile_bytes(directory: Path) -> list[int]:
    """Return the stored bytes of each site."""
    sizes = Counter[bytes]()
    with lmdb.open(str(directory), readonly=True, max_dbs=16) as env, env.begin() as txn:
        for database in (b"sites", b"counts", b"snapshots"):
            for name, content in txn.cursor(db=env.open_db(database, txn, create=False)):
                sizes[bytes(name[:12])] += len(name) + len(content)
    return [*sizes.values()]


def _describe(sizes: Sequence[int]) -> tuple[str, str, str, str]:
    return (
        f"{len(sizes):,}",
        f"{statistics.mean(sizes):,.0f}",
        f"{statistics.median(sizes):,.0f}",
        f"{min(sizes):,} … {max(sizes):,}",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=5, help="of each host")
    given = parser.parse_args()
    require_data(given.folder)
    with workers() as pool:
        saved_pages = [source for source in sources(given.folder) if not source.is_gold]
        signed = list(pool.map(sign, saved_pages, chunksize=20))
    words = words_of(signed)
    sites = [list(pages) for _, pages in groupby(signed, lambda page: urlsplit(page.url).netloc)]
    sites = [pages for pages in sites if len(pages) >= given.pages]
    with tempfile.TemporaryDirectory() as folder:
        file_all(Path(folder) / "few", (page for page in signed if not page.unsigned))
        chance = random.Random(1)
        drawn = (chance.sample(chance.choice(sites), given.pages) for _ in range(given.hosts))
        many = (page for host, pages in enumerate(drawn) for page in disguise(pages, host, words))
        kept = file_all(Path(folder) / "many", many)
        _show(Path(folder), kept, given.hosts)


def _show(folder: Path, kept: int, hosts: int) -> None:
    records = record_bytes(folder / "many")
    table = Table("", "number", "mean", "median", "least … most", title="Bytes")
    table.add_row("record of a text", *_describe(records[PageKind.TEXT]))
    table.add_row("record of a thin page", *_describe(records[PageKind.THIN]))
    table.add_row("a host's profile, whole sites", *_describe(profile_bytes(folder / "few")))
    table.add_row("a host's profile, few pages", *_describe(profile_bytes(folder / "many")))
    Console().print(table)
    sizes = database_bytes(folder / "many")
    table = Table("database", "bytes a page", title=f"An index of {hosts:,} hosts, {kept:,} pages")
    for name, size in {**sizes, "all": sum(sizes.values())}.items():
        table.add_row(name, f"{size / kept:,.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
