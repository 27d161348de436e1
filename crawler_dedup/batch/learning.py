"""Learn what the pages of each site of a collection have in common, before they are decided."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.shard import Rows, decode_page, read_columns
from crawler_dedup.index.header import Header
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite, site_key, warn_of_unknown_sites
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.transfer import write_export

LEARNED_PAGES = 240
"""Maximum number of pages from which a site is learned, evenly spread over the collection: so many are counted exactly."""
COPIES = 2
"""Maximum number of pages with the same signature that are counted."""
_LIVE_SITES = 5_000  # sites that are counted at a time: 40 KB each at most
_MOST_FILES = 200  # files that are open at a time
_PARTS = 16  # parts of the sites whose pages are chosen one part after another, to save memory

_Frame = struct.Struct("<QI")  # site and length of a page


def learn_profiles(rows: Rows, path: Path, header: Header, known: Iterable[StoredSite], advance: Advance) -> None:
    """Learn the sites of all pages, and write what is known about them as an export.

    Of the pages with the same signature, only the first two are counted: then both designs of a site that was stored twice
    are known, and a page that was stored a hundred times does not make its content common.

    Args:
        known: the sites that are known already: nothing is learned about them.
        advance: called with numbers of pages that were counted.
    """
    wanted, totals = _choose_pages(rows)
    learned = _learn(rows, wanted, totals, path.parent, advance)
    write_export(path, header, [], merge_sites(known, learned))


def merge_sites(known: Iterable[StoredSite], learned: Iterable[StoredSite]) -> Iterator[StoredSite]:
    """Yield the *known* sites that have a snapshot, and the *learned* sites that are not among them."""
    keys = set()
    for site in known:
        if site.number:
            keys.add(site.key)
            yield site
    yield from (site for site in learned if site.key not in keys)


def check_profiles(profiles: FrozenProfiles, collection: Collection, count: int) -> None:
    """Log a warning if *profiles* know the site of none of the *count* pages of a collection."""
    known = np.array([int.from_bytes(key[:8], "big") for key in profiles.keys], dtype=np.uint64)
    batches = (batch for shard in collection.shards for batch in read_columns(shard.data, ("site",)))
    if len(known) and not any(np.isin(batch.column("site").to_numpy(), known).any() for batch in batches):
        warn_of_unknown_sites(count, collection.header.scope)


def _choose_pages(rows: Rows) -> tuple[Flags, dict[int, int]]:
    """Return which rows sites are learned from, and the number of such rows by site (its 64-bit hash)."""
    wanted = np.zeros(len(rows), dtype=bool)
    totals: dict[int, int] = {}
    is_signed = (rows.texts | rows.thins) & (rows.sites != 0)
    for part in range(_PARTS):
        own = np.flatnonzero(is_signed & (rows.sites % np.uint64(_PARTS) == part))
        by_site = _find_countable(rows, own)
        sites, counts = np.unique(rows.sites[by_site], return_counts=True)
        place = np.arange(len(by_site)) - np.repeat(np.cumsum(counts) - counts, counts)  # of each row in its site
        total = np.repeat(counts, counts)
        # Of n pages, those are taken at which the share of the pages so far reaches a multiple of 1/240.
        most = np.maximum(total, LEARNED_PAGES)
        is_spread = (place + 1) * LEARNED_PAGES // most > place * LEARNED_PAGES // most
        wanted[by_site[is_spread & (total >= MIN_PAGES)]] = True
        is_known = counts >= MIN_PAGES
        learned = np.minimum(counts[is_known], LEARNED_PAGES)
        totals.update(zip(sites[is_known].tolist(), learned.tolist(), strict=True))
    return wanted, totals


def _find_countable(rows: Rows, own: Places) -> Places:
    """Return the first :data:`COPIES` rows of each signature of each site, sorted by site and then by row."""
    order = own[np.lexsort((rows.signatures[own], rows.sites[own]))]  # stable
    sites, signatures = rows.sites[order], rows.signatures[order]
    is_more = np.zeros(len(order), dtype=bool)  # whether COPIES rows of its signature precede the row
    is_more[COPIES:] = (sites[COPIES:] == sites[:-COPIES]) & (signatures[COPIES:] == signatures[:-COPIES])
    countable = np.sort(order[~is_more])
    by_site: Places = countable[np.argsort(rows.sites[countable], kind="stable")]
    return by_site


def _learn(
    rows: Rows, wanted: Flags, totals: Mapping[int, int], directory: Path, advance: Advance
) -> Iterator[StoredSite]:
    """Yield what is known about each site. Pages of very many sites are first written to files in *directory*, by site."""
    pages = (
        page
        for stored in rows.read_contents(wanted)
        for page in zip(rows.sites[stored.rows].tolist(), stored.contents, strict=True)
    )
    parts = min(_MOST_FILES, -(-len(totals) // _LIVE_SITES))
    if parts <= 1:
        yield from _learn_sites(pages, totals, advance)
        return
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=directory)) for _ in range(parts)]
        for site, content in pages:
            files[site % parts].write(_Frame.pack(site, len(content)) + content)
        for file in files:
            file.seek(0)
            yield from _learn_sites(_read_frames(file), totals, advance)


def _read_frames(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    while head := file.read(_Frame.size):
        site, length = _Frame.unpack(head)
        yield site, file.read(length)


def _learn_sites(
    pages: Iterable[tuple[int, bytes]], totals: Mapping[int, int], advance: Advance
) -> Iterator[StoredSite]:
    """Yield what is known about each site once all of its pages were counted."""
    live: dict[int, SiteCounts] = {}
    for site, content in pages:
        page = decode_page(content)
        counts = live.get(site)
        if counts is None:
            counts = live[site] = SiteCounts()
        counts.add(page)
        if counts.pages_counted == totals[site]:
            yield snapshot_site(live.pop(site), page)
        advance(1)


def snapshot_site(counts: SiteCounts, page: SignedPage) -> StoredSite:
    """Return what is known about the site of *page*."""
    number = counts.pages_counted
    snapshot = counts.make_snapshot().encode()
    return StoredSite(site_key(page.scope, page.url), number, number, 0, counts.encode(), [(number, snapshot)])
