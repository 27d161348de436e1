"""What is known about the sites of labelled pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.urls import site_of


@dataclass(frozen=True)
class Sites:
    """What is known about some sites, by scope and site."""

    profiles: Mapping[tuple[str, str], SiteProfile] = field(default_factory=dict)

    def profile_of(self, page: SignedPage) -> SiteProfile:
        """Return the profile of the site of *page*; :data:`UNKNOWN_SITE` if there is none."""
        return self.profiles.get((page.scope, site_of(page.url)), UNKNOWN_SITE)


def learn_sites(pages: Iterable[SignedPage]) -> Sites:
    """Learn what the sites of *pages* have in common, from these pages in this order."""
    counts: dict[tuple[str, str], SiteCounts] = {}
    for page in pages:
        counts.setdefault((page.scope, site_of(page.url)), SiteCounts()).add(page)
    return Sites(
        {
            key: learned.make_snapshot()
            for key, learned in counts.items()
            if key[1] and learned.pages_counted >= MIN_PAGES
        }
    )
