"""What was known of the sites of two pages when it was decided about one of them."""

from __future__ import annotations

from dataclasses import dataclass

from crawler_dedup.index.backend import Backend
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Journals
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile, decode_profile


@dataclass(frozen=True)
class PairSites:
    """What is known of the sites of two pages.

    Attributes:
        new: the site of the page that may be dropped.
        kept: the site of the page that would stand for it.
        source: a sentence about when that was known.
    """

    new: SiteProfile = UNKNOWN_SITE
    kept: SiteProfile = UNKNOWN_SITE
    source: str = "Nothing is known of the sites."


_AS_THEN = "Of the sites is known what was known when it was decided."
_NOT_RECORDED = "Of the sites is known what the index knows now: the journal does not say what was known then."
_GONE = "Of the sites is known what the index knows now: what was known when it was decided is no longer kept."
_AS_NOW = "Of the sites is known what the index knows now."


def find_sites_then(pages: Backend, entry: Entry) -> PairSites:
    """Find what was known when it was decided about the page of *entry*, a duplicate; else what is known now."""
    if entry.snapshot is None or entry.kept_snapshot is None:
        return find_sites_now(pages, entry.scope, entry.url, entry.duplicate_of, _NOT_RECORDED)
    new = pages.find_snapshot(entry.scope, entry.url, entry.snapshot, entry.seconds)
    kept = pages.find_snapshot(entry.scope, entry.duplicate_of, entry.kept_snapshot, entry.seconds)
    if new is None or kept is None:
        return find_sites_now(pages, entry.scope, entry.url, entry.duplicate_of, _GONE)
    return PairSites(decode_profile(new.content), decode_profile(kept.content), _AS_THEN)


def find_sites(pages: Backend, journals: Journals, scope: str, new: str, kept: str) -> PairSites:
    """Find what was known when *new* was last called a duplicate of *kept* in *scope*; else what is known now.

    Raises:
        DedupError: index or journal cannot be read.
    """
    last: Entry | None = None
    for entry in journals.entries():
        is_decision = entry.is_duplicate and (entry.scope, entry.url, entry.duplicate_of) == (scope, new, kept)
        if is_decision and (last is None or entry.time >= last.time):
            last = entry
    return find_sites_now(pages, scope, new, kept) if last is None else find_sites_then(pages, last)


def find_sites_now(pages: Backend, scope: str, new: str, kept: str, source: str = _AS_NOW) -> PairSites:
    """Find what the index knows now of the sites of two addresses."""
    new_site, kept_site = (decode_profile(pages.latest_snapshot(scope, url).content) for url in (new, kept))
    return PairSites(new_site, kept_site, source)
