"""The measures of a pair of a new page and a kept page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawler_dedup.config import Config
from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.content import Content
from crawler_dedup.rules.cover import Cover, is_beside_subject
from crawler_dedup.rules.links import Links
from crawler_dedup.rules.naming import Naming
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile
from crawler_dedup.rules.thresholds import (
    LITTLE_TEXT,
    MANY_FEATURES,
    MEDIUM_TEXT,
    MOST_WORDS,
    NOTHING,
    PART_OF_HOST,
)
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing import sketch, titles
from crawler_dedup.signing.cover import CoverBlock
from crawler_dedup.signing.schemes import Agreement, Scheme
from crawler_dedup.urls import site_of


@dataclass(frozen=True)
class Pair:
    """A new page and a kept page with what is measured between them, computed when a rule asks for it.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would represent it.
        limits: the settings with the thresholds.
        scheme: the scheme by which both pages are signed.
        new_site: what is known about the new page's site.
        kept_site: what is known about the kept page's site.
    """

    new: SignedPage
    kept: SignedPage
    limits: Config
    scheme: Scheme
    new_site: SiteProfile = UNKNOWN_SITE
    kept_site: SiteProfile = UNKNOWN_SITE

    # Signatures

    @computed
    def agreement(self) -> Agreement | None:
        """The agreement of the signatures by the scheme; ``None`` if they do not agree, or one of the pages is thin."""
        if self.new.kind is PageKind.TEXT and self.kept.kind is PageKind.TEXT:
            return self.scheme.compare(self.new.signed, self.kept.signed)
        return None

    @property
    def distance(self) -> int | None:
        """The Hamming distance of the signatures in bits; ``None`` if they do not agree, or the scheme has no distance."""
        return None if self.agreement is None else self.agreement.distance

    @property
    def signatures_agree(self) -> bool:
        """Whether the texts agree by their signatures."""
        return self.agreement is not None and (self.distance is None or self.distance <= self.limits.max_distance)

    @property
    def signatures_far_apart(self) -> bool:
        """Whether the signatures make the pages different, or a text would be compared with a thin page."""
        return not (self.are_thin or self.signatures_agree or self.is_part or self.has_same_heading)

    @property
    def has_same_heading(self) -> bool:
        """Whether two texts of one host, which name no part of their titles, have the same heading and most words."""
        return (
            self.new.kind is PageKind.TEXT
            and self.kept.kind is PageKind.TEXT
            and self.same_host
            and self.limits.max_distance > 0
            and not self.new.named
            and not self.kept.named
            and 0 != self.new.heading == self.kept.heading
            and self.resemblance >= self.limits.min_resemblance
        )

    # Blocks

    @property
    def are_thin(self) -> bool:
        """Whether both pages have too little main text to be compared by it."""
        return self.new.kind is PageKind.THIN and self.kept.kind is PageKind.THIN

    @computed
    def content(self) -> Content:
        """The content of the two pages."""
        return Content(self.new, self.kept, self.new_site, self.kept_site, self.same_host)

    @property
    def names_itself(self) -> bool:
        """Whether the new page names a part of its title that is not the name of its host."""
        host = titles.letters_of(site_of(self.new.url))
        return any(part not in host for part in self.naming.new_named)

    @computed
    def cover(self) -> Cover:
        """The blocks of the new text that the kept page lacks."""
        same_design = self.links.same_design
        is_known = self.new_site.is_known and self.kept_site.is_known
        is_strict = (
            (same_design and is_known)
            or (self.same_host and (same_design or not self.names_itself))
            or is_beside_subject(self.new)
        )
        return Cover(self.new, self.kept, self.content.site_of_new, self.kept_site, is_strict)

    @property
    def is_site_known(self) -> bool:
        """Whether the new page's own blocks are known: from its site, or from the kept page's if that is on another host."""
        return self.new_site.is_known or (self.kept_site.is_known and not self.same_host)

    @property
    def same_thin_page(self) -> bool:
        """Whether two thin pages are equal in everything that is compared, and name their title themselves."""
        return (
            self.are_thin
            and self.links.are_same
            and titles.split_title(self.new.title) == titles.split_title(self.kept.title)
            and bool(self.naming.new_named)
            and self.content.same_blocks
        )

    @property
    def same_list(self) -> bool:
        """Whether two thin pages of a known site list the same entries, under any titles: two tags of the same posts."""
        content = self.content
        return (
            self.are_thin
            and self.same_host
            and self.is_site_known
            and content.is_list
            and content.same_entries
            and bool(self.links.of_new_content)
        )

    @property
    def says_nothing_of_its_own(self) -> bool:
        """Whether the new page is thin, and has too little text beside its title and the common blocks of its site.

        As long as the site is not known, a page without a heading that names it may be a frame which a script fills.
        """
        if not self.are_thin or self.new.key == self.kept.key:  # a page that is visited again
            return False
        content = self.content
        is_frame = not self.is_site_known and not self.naming.new_named and content.unlinked_size < LITTLE_TEXT
        return content.own_size < NOTHING or is_frame

    @property
    def lacks_marks(self) -> bool:
        """Whether the kept one of two thin pages lacks a heading, a line with a number, an entry or a picture."""
        return self.content.lacks_marks(with_names=self.naming.same_title)

    @property
    def missing_headings(self) -> Sequence[CoverBlock]:
        """The headings that the kept page lacks, if the new page has several texts, each under a heading."""
        # As long as the site is not known, headings beside the main text may belong to its side columns.
        return self.cover.find_missing_headings(beside_text=self.is_site_known or not self.naming.other_parts_agree)

    @property
    def _own_words_agree(self) -> bool:
        content = self.content
        if content.own_size < MEDIUM_TEXT or not self.is_site_known:
            return content.same_entries
        return min(content.resemblance, content.coverage) >= MOST_WORDS

    @property
    def all_covered(self) -> bool:
        """Whether the kept page covers all of the new page's own text, not only its longest text."""
        if self.are_thin:
            return not self.lacks_marks and self._own_words_agree and self.content.whole_coverage >= MOST_WORDS
        if self.missing_headings or not self.words_covered:
            return False
        if self.new.key == self.kept.key:  # of a page that is visited again, counts and times may differ
            return not self.cover.is_partly_concealed
        return not self.cover.missing

    # Words

    @property
    def is_estimated(self) -> bool:
        """Whether resemblance and coverage are estimated from the sketches, because the scheme does not measure them."""
        return self.agreement is None or self.agreement.resemblance is None

    @computed
    def resemblance(self) -> float:
        """|A∩B| / |A∪B| of what the scheme compares, or else of the features, or of a thin page's own blocks; 0 to 1."""
        if self.are_thin:
            return self.content.resemblance
        measured = None if self.agreement is None else self.agreement.resemblance
        return sketch.resemblance(self.new.sketch, self.kept.sketch) if measured is None else measured

    @computed
    def coverage(self) -> float:
        """The share of the new page's features, or own blocks, that the kept page has too; 0 to 1."""
        if self.are_thin:
            return self.content.coverage
        measured = None if self.agreement is None else self.agreement.coverage
        if measured is not None:
            return measured
        return sketch.containment(self.resemblance, self.new.features, self.kept.features)

    @property
    def words_covered(self) -> bool:
        """Whether the kept page has the words of the new page, and not many more unless the new page is a part of it."""
        if not self.is_estimated:
            return True
        has_most_words = self.resemblance >= self.limits.min_resemblance or self.is_part
        return has_most_words and self.coverage >= self.limits.min_coverage

    @computed
    def is_part(self) -> bool:
        """Whether the new text is a part of the kept one, under the same title: a thread before some answers, an excerpt.

        The signatures of a part and of the whole may be far apart. Whether the kept page lacks a block of the part is
        decided by :attr:`cover`. With a maximum distance of 0, only the same text is a duplicate.
        """
        are_texts = self.new.kind is PageKind.TEXT and self.kept.kind is PageKind.TEXT
        if not are_texts or self.limits.max_distance == 0 or not self.naming.same_named:
            return False
        if self.same_host and not self.naming.other_parts_agree:
            return False
        least_coverage = max(PART_OF_HOST if self.same_host else 0, self.limits.min_coverage)
        return self.resemblance >= self.limits.min_resemblance**2 and self.coverage >= least_coverage

    # Hosts and links

    @computed
    def same_host(self) -> bool:
        """Whether both pages are on one known host; ``www.`` and the scheme (http or https) are ignored."""
        host = site_of(self.new.url)
        return bool(host) and host == site_of(self.kept.url)

    @computed
    def links(self) -> Links:
        """The outlinks of the two pages."""
        return Links(self.new, self.kept, self.new_site, self.same_host)

    # Titles

    @computed
    def naming(self) -> Naming:
        """The names of the two pages."""
        return Naming(self.new, self.kept, self.new_site, self.kept_site, self.same_host)

    @property
    def is_retitled_copy(self) -> bool:
        """Whether two pages with different titles, on two hosts, have the very same words, and many of them.

        On one host the same words are rather those of a template, and the name is elsewhere on the page. A page whose title
        says no more than the other's is a start page or a page of an archive, which shows an article among others. If a page
        has more text beside its main text, the main text may be a consent text, which many hosts have.
        """
        return (
            self.new.feature_digest == self.kept.feature_digest
            and not self.same_host
            and self.new.features >= MANY_FEATURES
            and bool(self.naming.new_parts - self.naming.kept_parts)
            and not self.cover.lacks_text_above
            and not self.cover.is_partly_concealed
            and not self.content.main_text_is_minor
        )
