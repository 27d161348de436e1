"""Learn what the pages of each site of a collection have in common, before they are decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.decide import PickedPages
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.shard import Rows, read_columns
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite, site_key, warn_of_unknown_sites
from crawler_dedup.inspection.transfer import write_export
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance

LEARNED_PAGES = 240
"""Maximum number of pages from which a site is learned, evenly spread over the collection: so many are counted exactly."""
COPIES = 2
"""Maximum number of pages with the same signature that are counted."""
_PARTS = 16  # parts of the sites whose pages are chosen one part after another, to save memory


def learn_profiles(rows: Rows, path: Path, header: Header, known: Iterable[StoredSite], advance: Advance) -> None:
    """Learn the sites of all pages, and write what is known about them as an export.

    Of the pages with the same signature, only the first two are counted: then both designs of a site that was stored twice
    are known, and a page that was stored a hundred times does not make its content common.

    Args:
        known: the sites that are known already: nothing is learned about them.
        advance: called with numbers of pages that were counted.
    """
    with TemporaryFile(dir=path.parent) as file:
        pages = PickedPages(file, rows.read_contents(_choose_pages(rows)))
        write_export(path, header, [], merge_sites(known, _learn_sites(pages, rows.sites[pages.rows], advance)))


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


def _choose_pages(rows: Rows) -> Flags:
    """Return which rows sites are learned from."""
    wanted = np.zeros(len(rows), dtype=bool)
    is_signed = (rows.texts | rows.thins) & (rows.sites != 0)
    for part in range(_PARTS):
        own = np.flatnonzero(is_signed & (rows.sites % np.uint64(_PARTS) == part))
        by_site = _find_countable(rows, own)
        _, counts = np.unique(rows.sites[by_site], return_counts=True)
        place = np.arange(len(by_site)) - np.repeat(np.cumsum(counts) - counts, counts)  # of each row in its site
        total = np.repeat(counts, counts)
        # Of n pages, those are taken at which the share of the pages so far reaches a multiple of 1/240.
        most = np.maximum(total, LEARNED_PAGES)
        is_spread = (place + 1) * LEARNED_PAGES // most > place * LEARNED_PAGES // most
        wanted[by_site[is_spread & (total >= MIN_PAGES)]] = True
    return wanted


def _find_countable(rows: Rows, own: Places) -> Places:
    """Return the first :data:`COPIES` rows of each signature of each site, sorted by site and then by row."""
    order = own[np.lexsort((rows.signatures[own], rows.sites[own]))]  # stable
    sites, signatures = rows.sites[order], rows.signatures[order]
    is_more = np.zeros(len(order), dtype=bool)  # whether COPIES rows of its signature precede the row
    is_more[COPIES:] = (sites[COPIES:] == sites[:-COPIES]) & (signatures[COPIES:] == signatures[:-COPIES])
    countable = np.sort(order[~is_more])
    by_site: Places = countable[np.argsort(rows.sites[countable], kind="stable")]
    return by_site


def _learn_sites(pages: PickedPages, sites: Numbers, advance: Advance) -> Iterator[StoredSite]:
    """Yield what is known about each of the *sites* of *pages*."""
    for _, places in groupby(np.argsort(sites, kind="stable"), sites.__getitem__):
        site = learn_site(map(pages.read, places))
        advance(site.pages_counted)
        yield site


def learn_site(pages: Iterable[SignedPage]) -> StoredSite:
    """Return what is known about the site of *pages*, at least one."""
    counts = SiteCounts()
    for page in pages:
        counts.add(page)
    number = counts.pages_counted
    snapshot = counts.make_snapshot().encode()
    return StoredSite(site_key(page.scope, page.url), number, number, 0, counts.encode(), [(number, snapshot)])
