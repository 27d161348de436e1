"""The measures of a pair of a new page and a kept page."""

from __future__ import annotations

from collections.abc import Sequence

from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.content import Content
from crawler_dedup.rules.cover import Cover, is_beside_subject
from crawler_dedup.rules.limits import (
    LITTLE_TEXT,
    MANY_FEATURES,
    MANY_MORE,
    MEDIUM_TEXT,
    MIN_COVERAGE,
    MIN_RESEMBLANCE,
    MORE_LINKS,
    MORE_TEXT,
    MOST_WORDS,
    NOTHING,
    NOWHERE,
    PART_OF_HOST,
    SAME_LINKS,
    SAME_SHARE,
)
from crawler_dedup.rules.trimming import is_list
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing import sketch, titles
from crawler_dedup.signing.cover import CoverBlock
from crawler_dedup.signing.links import hash_own, unpack_links
from crawler_dedup.signing.lookup import named_parts
from crawler_dedup.signing.schemes import Agreement
from crawler_dedup.urls import site_of


class Pair(Content):
    """A new page and a kept page with all that is measured between them, computed when a rule asks for it.

    The fields are those of :class:`~crawler_dedup.rules.content.Content`.
    """

    @computed
    def are_texts(self) -> bool:
        """Whether both pages are compared by their main texts."""
        return self.new.kind is PageKind.TEXT and self.kept.kind is PageKind.TEXT

    @computed
    def are_thin(self) -> bool:
        """Whether both pages have too little main text to be compared by it."""
        return self.new.kind is PageKind.THIN and self.kept.kind is PageKind.THIN

    # Signatures

    @computed
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
        return self.agreement is not None and (self.distance is None or self.distance <= self.max_distance)

    @property
    def signatures_far_apart(self) -> bool:
        """Whether the signatures make the pages different, or a text would be compared with a thin page."""
        return not (self.are_thin or self.signatures_agree or self.is_part or self.has_same_heading)

    @property
    def has_same_heading(self) -> bool:
        """Whether two texts of one host, which name no part of their titles, have the same heading and most words."""
        return (
            self.are_texts
            and self.same_host
            and self.max_distance > 0
            and not self.new.named
            and not self.kept.named
            and 0 != self.new.heading == self.kept.heading
            and self.resemblance >= MIN_RESEMBLANCE
        )

    # Blocks

    @property
    def names_itself(self) -> bool:
        """Whether the new page names a part of its title that is not the name of its host."""
        host = titles.letters_of(site_of(self.new.url))
        return any(part not in host for part in self.new_named)

    @computed
    def cover(self) -> Cover:
        """The blocks of the new text that the kept page lacks."""
        same_design = self._same_design
        is_strict = (
            (same_design and self._are_sites_known)
            or (self.same_host and (same_design or not self.names_itself))
            or is_beside_subject(self.new)
        )
        return Cover(self.new, self.kept, self.site_of_new, self.kept_site, is_strict, self.same_host)

    @property
    def is_site_known(self) -> bool:
        """Whether the new page's own blocks are known: from its site, or from the kept page's if that is on another host."""
        return self.new_site.is_known or (self.kept_site.is_known and not self.same_host)

    @property
    def same_thin_page(self) -> bool:
        """Whether two thin pages are equal in everything that is compared, and name their title themselves."""
        return (
            self.are_thin
            and (self.same_links or not self.links_decide)
            and titles.split_title(self.new.title) == titles.split_title(self.kept.title)
            and bool(self.new_named)
            and self.same_blocks
        )

    @property
    def same_list(self) -> bool:
        """Whether two thin pages of a known site list the same entries, under any titles: two tags of the same posts."""
        return (
            self.are_thin
            and self.same_host
            and self.is_site_known
            and self.is_list_of_links
            and self.same_own_blocks
            and bool(self._new_links)
        )

    @property
    def has_nothing_of_its_own(self) -> bool:
        """Whether the new page is thin, and has too little text beside its title and the common blocks of its site.

        As long as the site is not known, a page without a heading that names it may be a frame which a script fills.
        """
        if not self.are_thin or self.new.key == self.kept.key:  # a page that is visited again
            return False
        is_frame = not self.is_site_known and not self.new_named and self.unlinked_size < LITTLE_TEXT
        return self.own_size < NOTHING or is_frame

    @property
    def lacks_marks(self) -> bool:
        """Whether the kept one of two thin pages lacks a heading, a line with a number, an entry or a picture."""
        return self.lacks_any_mark(with_names=self.same_title)

    @property
    def missing_headings(self) -> Sequence[CoverBlock]:
        """The headings that the kept page lacks, if the new page has several texts, each under a heading."""
        # As long as the site is not known, headings beside the main text may belong to its side columns.
        return self.cover.find_missing_headings(beside_text=self.is_site_known or not self.other_parts_agree)

    @property
    def _own_words_agree(self) -> bool:
        if self.own_size < MEDIUM_TEXT or not self.is_site_known:
            return self.same_own_blocks
        return min(self.own_resemblance, self.own_coverage) >= MOST_WORDS

    @property
    def all_covered(self) -> bool:
        """Whether the kept page covers all of the new page's own text, not only its longest text."""
        if self.are_thin:
            return not self.lacks_marks and self._own_words_agree and self.whole_coverage >= MOST_WORDS
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
            return self.own_resemblance
        measured = None if self.agreement is None else self.agreement.resemblance
        return sketch.resemblance(self.new.sketch, self.kept.sketch) if measured is None else measured

    @computed
    def coverage(self) -> float:
        """The share of the new page's features, or own blocks, that the kept page has too; 0 to 1."""
        if self.are_thin:
            return self.own_coverage
        measured = None if self.agreement is None else self.agreement.coverage
        if measured is not None:
            return measured
        return sketch.containment(self.resemblance, self.new.features, self.kept.features)

    @property
    def words_covered(self) -> bool:
        """Whether the kept page has the words of the new page, and not many more unless the new page is a part of it."""
        if not self.is_estimated:
            return True
        has_most_words = self.resemblance >= MIN_RESEMBLANCE or self.is_part
        return has_most_words and self.coverage >= MIN_COVERAGE

    @computed
    def is_part(self) -> bool:
        """Whether the new text is a part of the kept one, under the same title: a thread before some answers, an excerpt.

        The signatures of a part and of the whole may be far apart. Whether the kept page lacks a block of the part is
        decided by :attr:`cover`. With a maximum distance of 0, only the same text is a duplicate.
        """
        if not self.are_texts or self.max_distance == 0 or not self.same_named:
            return False
        if self.same_host and not self.other_parts_agree:
            return False
        least_coverage = max(PART_OF_HOST if self.same_host else 0, MIN_COVERAGE)
        return self.resemblance >= MIN_RESEMBLANCE**2 and self.coverage >= least_coverage

    # Links

    @property
    def links_decide(self) -> bool:
        """Whether other links make another page: not if a crawl follows them anyway.

        A page that is visited again has changed if its links have.
        """
        return not self.new.links_followed or self.new.key == self.kept.key

    @property
    def same_links(self) -> bool:
        """Whether both pages have the same outlinks."""
        return self.new.link_digest == self.kept.link_digest

    @property
    def _same_design(self) -> bool:
        """Whether both pages have the same links, or about as many, with about as much link text beside the main texts."""
        if self.same_links and self.new.link_count:
            return True
        beside_new, beside_kept = (page.link_chars - page.inner_link_chars for page in (self.new, self.kept))
        return _are_about_equal(self.new.link_count, self.kept.link_count) and _are_about_equal(beside_new, beside_kept)

    @property
    def links_lead_further(self) -> bool:
        """Whether a crawl would lose links with the new page, if the kept one is on the same host.

        Between two hosts links say nothing: mirrors differ in them. A kept page without links (a print copy) never covers
        a page that has some: what only that page links to would not be reached.
        """
        if not self.same_host or not self.links_decide:
            return False
        if self.kept.link_count <= NOWHERE and self.new.link_count > self.kept.link_count:
            return True
        if is_list(self.new):
            return not self.links_covered
        has_many_links = 2 * self.new.link_chars >= self.new.chars
        return has_many_links and self.new.link_count > MANY_MORE * self.kept.link_count + MORE_LINKS

    @computed
    def _new_links(self) -> set[int]:
        """The links of the new page without the navigation of its site and without links to one of the two pages."""
        own = {hash_own(self.new.url), hash_own(self.kept.url)}
        return set(unpack_links(self.new.links)) - self.new_site.navigation - own

    @computed
    def links_covered(self) -> bool:
        """Whether the kept page has all links of the new page, without the navigation of its site."""
        return self.same_links or (bool(self.new.links) and self._new_links <= set(unpack_links(self.kept.links)))

    # Titles

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
        """Those parts of its title that the new page names itself: they are also in a heading or its main text."""
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
            and bool(self.new_parts - self.kept_parts)
            and not self.cover.lacks_text_above
            and not self.cover.is_partly_concealed
            and not self.main_text_is_minor
        )


def _are_about_equal(new: int, kept: int) -> bool:
    return abs(new - kept) <= max(SAME_LINKS, SAME_SHARE * max(new, kept))
