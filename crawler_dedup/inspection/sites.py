"""Find the profiles of the sites of two pages at the time of a decision about one of the pages."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from crawler_dedup.index.index import Index
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Journals
from crawler_dedup.rules.matcher import pair_of
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile, decode_profile, trim
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.signer import Signer


@dataclass(frozen=True)
class PairSites:
    """The profiles of the sites of two pages.

    Attributes:
        new: the profile of the site of the page that may be dropped.
        kept: the profile of the site of the page that would represent it.
        source: a sentence that says from which time the profiles are.
        links_followed: whether a crawl would follow the links of the new page although it is dropped; ``None``: the
            configuration says so.
    """

    new: SiteProfile = UNKNOWN_SITE
    kept: SiteProfile = UNKNOWN_SITE
    source: str = "Nothing is known about the sites."
    links_followed: bool | None = None

    def pair_up(self, new: SignedPage, kept: SignedPage, signer: Signer) -> Pair:
        """Return the pair in which *kept* may represent *new*."""
        if self.links_followed is not None:
            new = msgspec.structs.replace(new, links_followed=self.links_followed)
        return pair_of(signer.config, signer.scheme, new, trim(kept), self.new, self.kept)


_KNOWN_NOW = "The rules used what the index knows about the sites now"
_AS_THEN = "The rules used what was known about the sites at the time of the decision."
_NOT_RECORDED = f"{_KNOWN_NOW}: the journal does not say what was known then."
_GONE = f"{_KNOWN_NOW}: what was known at the time of the decision is no longer kept."
_AS_NOW = f"{_KNOWN_NOW}."


def find_sites_then(pages: Index, entry: Entry) -> PairSites:
    """Find the profiles at the time of the decision of *entry*, a duplicate; if they are lost, the present profiles."""
    if entry.snapshot is None or entry.kept_snapshot is None:
        return _replace_profiles(pages, entry, _NOT_RECORDED)
    new = pages.find_snapshot(entry.scope, entry.url, entry.snapshot, entry.seconds)
    kept = pages.find_snapshot(entry.scope, entry.duplicate_of, entry.kept_snapshot, entry.seconds)
    if new is None or kept is None:
        return _replace_profiles(pages, entry, _GONE)
    return PairSites(decode_profile(new.content), decode_profile(kept.content), _AS_THEN, entry.links_followed)


def _replace_profiles(pages: Index, entry: Entry, source: str) -> PairSites:
    present = find_sites_now(pages, entry.scope, entry.url, entry.duplicate_of, source)
    return replace(present, links_followed=entry.links_followed)


def find_sites(pages: Index, journals: Journals, scope: str, new: str, kept: str) -> PairSites:
    """Find the profiles at the time when *new* was last called a duplicate of *kept* in *scope*, or else the present ones.

    Raises:
        DedupError: index or journal cannot be read.
    """
    last: Entry | None = None
    for entry in journals.entries():
        is_decision = entry.is_duplicate and (entry.scope, entry.url, entry.duplicate_of) == (scope, new, kept)
        if is_decision and (last is None or entry.time >= last.time):
            last = entry
    return find_sites_now(pages, scope, new, kept) if last is None else find_sites_then(pages, last)


def find_sites_now(pages: Index, scope: str, new: str, kept: str, source: str = _AS_NOW) -> PairSites:
    """Find the present profiles of the sites of two addresses."""
    new_site, kept_site = (decode_profile(pages.latest_snapshot(scope, url).content) for url in (new, kept))
    return PairSites(new_site, kept_site, source)
