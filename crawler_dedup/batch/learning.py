"""Learn what the sites of a collection have in common, before its pages are decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crawler_dedup.batch.neighbours import Flags
from crawler_dedup.batch.rows import Places, Rows
from crawler_dedup.index.export import write_export
from crawler_dedup.index.header import FORMAT, Header
from crawler_dedup.index.profiles import StoredSite, site_key
from crawler_dedup.index.store import KIND
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.sites import MIN_PAGES
from crawler_dedup.system.callbacks import Advance

LEARNED_PAGES = 240
"""Pages of a site from which it is learned, evenly spread over the collection: so many are counted exactly."""
_LIVE_SITES = 20_000  # that are counted at a time: 40 KB each at most


def learn_profiles(rows: Rows, path: Path, header: Header, advance: Advance) -> int:
    """Learn the sites of all pages, write what is known of them as an export, and return how many sites there are.

    Of pages with the same signature the first alone counts, since the others are mostly dropped.

    Args:
        advance: called with numbers of pages that were counted.
    """
    wanted, sites = _choose_pages(rows)
    stored = _learn(rows, wanted, sites, advance)
    count = 0

    def counted() -> Iterator[StoredSite]:
        nonlocal count
        for site in stored:
            count += 1
            yield site

    write_export(path, header, [], counted())
    return count


def export_header(spec: dict[str, str], libraries: dict[str, str]) -> Header:
    """Return the header of an export of a collection."""
    return Header(FORMAT, spec, libraries, KIND)


def _choose_pages(rows: Rows) -> tuple[Places, Places]:
    """Return the rows from which sites are learned, ascending, and the site of each, numbered as they come first."""
    order = np.lexsort((rows.signatures, rows.sites))
    is_other = np.ones(len(order), dtype=bool)
    is_other[1:] = (np.diff(rows.sites[order]) != 0) | (np.diff(rows.signatures[order]) != 0)
    firsts = np.sort(order[is_other])  # lexsort is stable: of equal ones the first
    firsts = firsts[(rows.sites[firsts] != 0) & (rows.texts[firsts] | rows.thins[firsts])]
    by_site = firsts[np.argsort(rows.sites[firsts], kind="stable")]
    _, counts = np.unique(rows.sites[by_site], return_counts=True)
    ends = np.cumsum(counts)
    place = np.arange(len(by_site)) - np.repeat(ends - counts, counts)  # in the site
    total = np.repeat(counts, counts)
    # Of n pages those are taken at which the share of the pages before them passes a multiple of 1/240.
    is_spread = (place + 1) * LEARNED_PAGES // np.maximum(total, LEARNED_PAGES) > place * LEARNED_PAGES // np.maximum(
        total, LEARNED_PAGES
    )
    chosen = is_spread & (total >= MIN_PAGES)
    wanted, sites = by_site[chosen], np.repeat(np.arange(len(counts)), counts)[chosen]
    order = np.argsort(wanted)
    wanted, sites = wanted[order], sites[order]
    _, firsts, numbers = np.unique(sites, return_index=True, return_inverse=True)
    ranks = np.empty(len(firsts), dtype=np.int64)
    ranks[np.argsort(firsts)] = np.arange(len(firsts))
    return wanted, ranks[numbers]


def _learn(rows: Rows, wanted: Places, sites: Places, advance: Advance) -> Iterator[StoredSite]:
    """Yield what is known of each site, in as many passes as memory asks for."""
    totals = np.bincount(sites)
    for first in range(0, len(totals), _LIVE_SITES):
        is_live = (sites >= first) & (sites < first + _LIVE_SITES)
        flags: Flags = np.zeros(len(rows), dtype=bool)
        flags[wanted[is_live]] = True
        live: dict[int, SiteCounts] = {}
        for site, (_, row) in zip(sites[is_live].tolist(), rows.read_pages(flags), strict=True):
            counts = live.setdefault(site, SiteCounts())
            counts.add(row.page)
            if counts.taught == totals[site]:
                del live[site]
                snapshot = counts.publish()
                key = site_key(row.page.scope, row.page.url)
                yield StoredSite(
                    key, counts.taught, counts.taught, 0, counts.encode(), [(counts.taught, snapshot.encode())]
                )
            advance(1)
