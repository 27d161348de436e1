"""The names of two pages: their titles, and the parts of the titles that the pages name themselves."""

from __future__ import annotations

from dataclasses import dataclass

from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.rules.thresholds import MORE_TEXT
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import titles
from crawler_dedup.signing.lookup import named_parts


@dataclass(frozen=True)
class Naming:
    """The titles of a new page and of a kept one, and what is known about their sites.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would represent it.
        new_site: what is known about the site of the new page.
        kept_site: what is known about the site of the kept page.
        same_host: whether both are on one host.
    """

    new: SignedPage
    kept: SignedPage
    new_site: SiteProfile
    kept_site: SiteProfile
    same_host: bool

    @computed
    def new_parts(self) -> frozenset[str]:
        """The parts of the new page's title without those that its site writes into every title."""
        return self.new_site.own_parts(self.new.title)

    @computed
    def kept_parts(self) -> frozenset[str]:
        """The parts of the kept page's title without those that its site writes into every title."""
        return self.kept_site.own_parts(self.kept.title)

    @property
    def new_named(self) -> frozenset[str]:
        """Those parts of its title that the new page names itself."""
        return named_parts(self.new) & self.new_parts

    @property
    def _kept_named(self) -> frozenset[str]:
        return named_parts(self.kept) & self.kept_parts

    @property
    def _are_sites_known(self) -> bool:
        return self.new_site.is_known and self.kept_site.is_known

    @computed
    def same_title(self) -> bool:
        """Whether both titles can belong to one page."""
        new, kept = titles.split_title(self.new.title), titles.split_title(self.kept.title)
        if self.same_host and self._identifiers_differ:
            return False
        if new == kept:
            return True
        if not (self.same_host and self._are_sites_known) and self.new_named and self.new_named == self._kept_named:
            return True
        # Few words make many titles: "Manual | Router".
        if not self.kept_parts and len(kept) > 1 and not kept <= new:
            return not self.new_parts and new <= kept
        if not self.kept_parts and self.new_parts and self.kept.features > MORE_TEXT * self.new.features:
            return False
        return self.other_parts_agree

    @property
    def _identifiers_differ(self) -> bool:
        """Whether both titles have names of functions or files with underscores, and these names differ."""
        new, kept = titles.find_identifiers(self.new.title), titles.find_identifiers(self.kept.title)
        return bool(new and kept) and new != kept

    @property
    def other_parts_agree(self) -> bool:
        """Whether the titles agree, regardless of which of their parts the pages name."""
        own_parts = self.same_host or self._are_sites_known
        return titles.titles_agree(self.new_parts, self.kept_parts, own_parts=own_parts)

    @property
    def same_named(self) -> bool:
        """Whether both pages name the same parts of their titles themselves."""
        return bool(self.new_named) and self.new_named == self._kept_named
