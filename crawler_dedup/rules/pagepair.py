"""The measures of a new page and a kept page that need no blocks: hosts, signatures, links and titles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from crawler_dedup.config import Config
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing import titles
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.links import hash_target, unpack_links
from crawler_dedup.signing.lookup import named_parts
from crawler_dedup.signing.pagelines import hash_date_in
from crawler_dedup.signing.schemes import Agreement, Scheme
from crawler_dedup.urls import site_of


@dataclass(frozen=True)
class PagePair:
    """A new page and a kept page, with what is known of their sites.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would represent it.
        config: the settings. ``max_distance`` is the largest Hamming distance of two signatures that agree, in bits; with 0
            only the same texts agree. ``compare`` says whether the words of both pages decide, and not only their
            signatures; with another extractor than ``paragraphs``, whose text is not that of the blocks, not about texts
            that were found by their name only.
        scheme: the scheme by which both pages are signed.
        new_site: what is known about the new page's site.
        kept_site: what is known about the kept page's site.
    """

    new: SignedPage
    kept: SignedPage
    config: Config
    scheme: Scheme
    new_site: SiteProfile = UNKNOWN_SITE
    kept_site: SiteProfile = UNKNOWN_SITE

    @cached_property
    def same_host(self) -> bool:
        """Whether both pages are on one known host; ``www.`` and the scheme (http or https) are ignored."""
        host = site_of(self.new.url)
        return bool(host) and host == site_of(self.kept.url)

    @property
    def site_of_new(self) -> SiteProfile:
        """The profile of the new page's site, or if that is not known, of the kept page's site, which may be a mirror.

        The profiles are never joined: the common blocks of another site must not hide blocks of the new page.
        """
        return self.new_site if self.new_site.is_known else self.kept_site

    @cached_property
    def address_date(self) -> int:
        """The hash of the date that both addresses contain, as a line; 0 if they contain none, or different ones."""
        new, kept = hash_date_in(self.new.url), hash_date_in(self.kept.url)
        return new if new == kept else 0

    @cached_property
    def are_texts(self) -> bool:
        """Whether both pages are compared by their main texts."""
        return self.new.kind is PageKind.TEXT and self.kept.kind is PageKind.TEXT

    @cached_property
    def are_thin(self) -> bool:
        """Whether both pages have too little main text to be compared by it."""
        return self.new.kind is PageKind.THIN and self.kept.kind is PageKind.THIN

    # Signatures

    @cached_property
    def agreement(self) -> Agreement | None:
        """The agreement of the signatures by the scheme; ``None`` if they do not agree, or one of the pages is thin."""
        return self.scheme.compare(self.new.signed, self.kept.signed) if self.are_texts else None

    @property
    def distance(self) -> int | None:
        """The Hamming distance of the signatures in bits; ``None`` if they do not agree, or the scheme has no distance."""
        return None if self.agreement is None else self.agreement.distance

    @property
    def signatures_agree(self) -> bool:
        """Whether the texts agree by their signatures."""
        return self.agreement is not None and (self.distance is None or self.distance <= self.config.max_distance)

    @property
    def is_named_alike(self) -> bool:
        """Whether both texts have the same name, by which they were found: an excerpt, a thread before some answers.

        The name is what both pages repeat of their titles. With a maximum distance of 0, only the same text is a duplicate.
        """
        if not self.are_texts or self.config.extractor != "paragraphs" or self.config.max_distance == 0:
            return False
        has_same_name = bool(self.new_named) and self.new_named == self._kept_named
        return has_same_name and (not self.same_host or self.other_parts_agree)

    @property
    def is_revisit(self) -> bool:
        """Whether the page was kept before, and is visited again."""
        return self.new.key == self.kept.key

    @property
    def signatures_far_apart(self) -> bool:
        """Whether the signatures make the pages different, or a text would be compared with a thin page."""
        return not (self.are_thin or self.signatures_agree or self.is_named_alike)

    @property
    def shares(self) -> tuple[float | None, float | None]:
        """Resemblance and coverage, if the scheme measures them."""
        return (None, None) if self.agreement is None else (self.agreement.resemblance, self.agreement.coverage)

    # Links

    @property
    def links_decide(self) -> bool:
        """Whether other links make another page: not if a crawl follows them anyway.

        A page that is visited again has changed if its links have.
        """
        return not self.new.links_followed or self.is_revisit

    @property
    def same_links(self) -> bool:
        """Whether both pages have the same outlinks."""
        return self.new.link_digest == self.kept.link_digest

    @cached_property
    def _new_links(self) -> set[int]:
        """The links of the new page without the navigation of its site and without links to one of the two pages."""
        own = {hash_target(self.new.url, self.new.url), hash_target(self.kept.url, self.kept.url)}
        return set(unpack_links(self.new.links)) - self.new_site.navigation - own

    @cached_property
    def leads_elsewhere(self) -> bool:
        """Whether the new page has links that are no navigation and lead to neither page; true if its links are too many."""
        return bool(self._new_links) or (self.new.link_count > 0 and not self.new.links)

    @cached_property
    def links_covered(self) -> bool:
        """Whether the kept page has all links of the new page, without the navigation of its site."""
        return self.same_links or (bool(self.new.links) and self._new_links <= set(unpack_links(self.kept.links)))

    # Titles

    @cached_property
    def new_parts(self) -> frozenset[str]:
        """The parts of the new page's title without those that its site writes into every title."""
        return self.new_site.own_parts(self.new.title)

    @cached_property
    def kept_parts(self) -> frozenset[str]:
        """The parts of the kept page's title without those that its site writes into every title."""
        return self.kept_site.own_parts(self.kept.title)

    @property
    def new_named(self) -> frozenset[str]:
        """Those parts of its title that the new page names itself: they are also in a heading or its main text."""
        return named_parts(self.new) & self.new_parts

    @property
    def _kept_named(self) -> frozenset[str]:
        return named_parts(self.kept) & self.kept_parts

    @property
    def _names_agree(self) -> bool:
        """Whether both pages name parts of their titles, and each part that one names is in the title of the other, too."""
        new, kept = self.new_named, self._kept_named
        return bool(new) and bool(kept) and new | kept <= self.new_parts & self.kept_parts

    @property
    def are_sites_known(self) -> bool:
        """Whether enough pages of both sites were counted."""
        return self.new_site.is_known and self.kept_site.is_known

    @cached_property
    def same_title(self) -> bool:
        """Whether both titles can belong to one page."""
        new, kept = titles.split_title(self.new.title), titles.split_title(self.kept.title)
        if self.same_host and (self._identifiers_differ or self._order_differs):
            return False
        # A page for printing has only the name of the site; a start page that shows an article leads to others.
        if new == kept or (new < kept and not self.are_thin and not self.leads_elsewhere):
            return True
        return self.other_parts_agree or (self._names_agree and not (self.same_host and self.are_sites_known))

    @property
    def _identifiers_differ(self) -> bool:
        """Whether both titles have names of functions or files with underscores, and these names differ."""
        new, kept = titles.find_identifiers(self.new.title), titles.find_identifiers(self.kept.title)
        return bool(new and kept) and new != kept

    @property
    def _order_differs(self) -> bool:
        """Whether both pages name the same parts of their titles in another order: the two directions of a bus."""
        named = sorted(self.new_named & self._kept_named)
        if len(named) < 2:  # nearly always
            return False
        new, kept = (titles.letters_of(normalise(page.title)) for page in (self.new, self.kept))
        return sorted(named, key=new.find) != sorted(named, key=kept.find)

    @property
    def other_parts_agree(self) -> bool:
        """Whether the titles agree, regardless of which of their parts the pages name."""
        return titles.titles_agree(self.new_parts, self.kept_parts, own_parts=self.same_host or self.are_sites_known)

    @cached_property
    def is_title_repeated(self) -> bool:
        """Whether the kept page's title says what the new one's says, or both pages may be lists of the same links."""
        if self.are_thin and self._may_be_twins:
            return True
        # On one host, a part that many titles have may be a state: "Sold".
        of_site = titles.split_title(self.new.title) - self.new_parts if self.same_host else frozenset()
        agree = self.new_parts <= self.kept_parts or self.other_parts_agree
        return agree and of_site <= titles.split_title(self.kept.title)

    @property
    def _may_be_twins(self) -> bool:
        return self.same_host and self.site_of_new.is_known and self.links_covered and bool(self._new_links)
