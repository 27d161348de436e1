"""The outlinks of two pages."""

from __future__ import annotations

from dataclasses import dataclass

from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.keeping import is_list
from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.rules.thresholds import MANY_MORE, MORE_LINKS, NOWHERE, SAME_LINKS, SAME_SHARE
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.links import hash_own, unpack_links


@dataclass(frozen=True)
class Links:
    """The outlinks of a new page and of a kept one.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would represent it.
        new_site: what is known about the site of the new page.
        same_host: whether both are on one host.
    """

    new: SignedPage
    kept: SignedPage
    new_site: SiteProfile
    same_host: bool

    @property
    def are_same(self) -> bool:
        """Whether both pages have the same outlinks."""
        return self.new.link_digest == self.kept.link_digest

    @property
    def same_design(self) -> bool:
        """Whether both pages have the same links, or about as many, with about as much link text beside the main texts."""
        if self.are_same and self.new.link_count:
            return True
        beside_new, beside_kept = (page.link_chars - page.inner_link_chars for page in (self.new, self.kept))
        return _are_about_equal(self.new.link_count, self.kept.link_count) and _are_about_equal(beside_new, beside_kept)

    @property
    def lead_further(self) -> bool:
        """Whether a crawl would lose links with the new page, if the kept one is on the same host.

        Between two hosts links say nothing: mirrors differ in them. A kept page without links (a print copy) never covers
        a page that has some: what only that page links to would not be reached.
        """
        if not self.same_host:
            return False
        if self.kept.link_count <= NOWHERE and self.new.link_count > self.kept.link_count:
            return True
        if is_list(self.new):
            return not self.are_covered
        has_many_links = 2 * self.new.link_chars >= self.new.chars
        return has_many_links and self.new.link_count > MANY_MORE * self.kept.link_count + MORE_LINKS

    @computed
    def of_new_content(self) -> set[int]:
        """The links of the new page without the navigation of its site and without links to one of the two pages."""
        own = {hash_own(self.new.url), hash_own(self.kept.url)}
        return set(unpack_links(self.new.links)) - self.new_site.navigation - own

    @computed
    def are_covered(self) -> bool:
        """Whether the kept page has all links of the new page, without the navigation of its site."""
        return self.are_same or (bool(self.new.links) and self.of_new_content <= set(unpack_links(self.kept.links)))


def _are_about_equal(new: int, kept: int) -> bool:
    return abs(new - kept) <= max(SAME_LINKS, SAME_SHARE * max(new, kept))
