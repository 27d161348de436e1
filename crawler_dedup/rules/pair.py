"""The measures of a pair of a new page and a kept page."""

from __future__ import annotations

from dataclasses import dataclass

from crawler_dedup.config import Config
from crawler_dedup.rules import numbers
from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.content import SHORT_TEXT, Content
from crawler_dedup.rules.keeping import is_known_by_lines
from crawler_dedup.rules.links import Links
from crawler_dedup.rules.missinglines import MissingLines
from crawler_dedup.rules.naming import Naming
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile
from crawler_dedup.rules.visibletext import VisibleText
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing import sketch, titles
from crawler_dedup.signing.schemes import Agreement, Scheme
from crawler_dedup.urls import site_of

MORE_TEXT = 1.25
"""A text that is more than this many times as long as another one says more, even in the same words."""
NEARLY_ALL = 0.95
"""The least coverage of a part. With .9, a page with one more comment was a part of a page with three other comments."""
NAMED_ALIKE = 0.85
"""The least resemblance of two texts that have one title on two hosts, and signatures far apart. With .75 the terms of two
companies, made from one template, were taken for one page."""

_MOST_WORDS = 0.85
_NOTHING = 20  # letters: a page with less text of its own counts as empty
_LITTLE = 100  # letters
_SHORT = 300  # letters: a shorter own text must be the same, in the same order
_SEVERAL = 3
_MANY_FEATURES = 100  # with fewer, labelled pages with the same words under two titles or headings were two pages


@dataclass(frozen=True)
class Pair:
    """A new page and a kept page with what is measured between them, computed when a rule asks for it.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would stand for it.
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
        return not (self.are_thin or self.signatures_agree or self.is_part or self.is_named_alike)

    # Blocks

    @property
    def are_thin(self) -> bool:
        """Whether both pages have too little main text to be compared by it."""
        return self.new.kind is PageKind.THIN and self.kept.kind is PageKind.THIN

    @computed
    def content(self) -> Content:
        """The content of the two pages."""
        return Content(self.new, self.kept, self.new_site, self.kept_site, self.same_host)

    @computed
    def missing(self) -> MissingLines:
        """Lines of the new page that the kept page lacks."""
        return MissingLines(self.content)

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
        is_frame = not self.is_site_known and not self.naming.new_named and content.unlinked_size < _LITTLE
        return content.own_size < _NOTHING or is_frame

    @property
    def marks_differ(self) -> bool:
        """Whether headings, numbers or facts show that these are two pages."""
        if self.are_thin:
            return self.content.lacks_marks(with_names=self.naming.same_title)
        return self.headings_differ or self.numbers_differ or self.missing.lacks_facts

    @property
    def headings_differ(self) -> bool:
        """Whether both texts have first headings of their own that differ, or the kept page lacks one of several headings.

        Short texts on one host also differ if both have headings, and none in common: two parts of a series. Other texts on
        one host differ if the new text has several headings, and words, that the kept text lacks: two pages of one template.
        """
        new, kept = self.new.heading, self.kept.heading
        if new and kept and new != kept and {new, kept}.isdisjoint(self.new_site.common | self.kept_site.common):
            return True
        if self.same_host and self.new.features < _MANY_FEATURES and self.content.headings_conflict:
            return True
        if self.same_host and self.coverage < NEARLY_ALL and self.content.missing_main_headings >= _SEVERAL:
            return True
        # As long as the site is not known, headings beside the main text may belong to its side columns.
        return self.content.lacks_headings(beside_text=self.is_site_known or not self.naming.other_parts_agree)

    @property
    def other_words(self) -> bool:
        """Whether the pages have too few words in common."""
        if self.are_thin:
            return not self._own_words_agree
        return self.is_estimated and self.resemblance < self.limits.min_resemblance and not self.is_part

    @property
    def _own_words_agree(self) -> bool:
        content = self.content
        if content.own_size < _SHORT or not (self.is_site_known or content.leaves_out_frames):
            return content.same_entries
        return min(content.resemblance, content.coverage) >= _MOST_WORDS

    @property
    def all_covered(self) -> bool:
        """Whether the kept page covers all of the new page's own text, not only its longest text."""
        if self.are_thin:
            return self.content.whole_coverage >= _MOST_WORDS
        content, missing = self.content, self.missing
        if not self.words_covered or missing.lacks_text_beside_notice or missing.lacks_text_below_main:
            return False
        # On an unknown site, the blocks beside the main text may be its frame, unless they are most of the page.
        if not self.new_site.is_known or not self.new.blocks:
            return not missing.lacks_answers
        least = NEARLY_ALL if self.differ_only_by_lines else _MOST_WORDS if content.main_text_is_minor else 0
        return content.coverage >= least

    @property
    def differ_only_by_lines(self) -> bool:
        """Whether two texts of one site, which have nearly the same words, can only be distinguished by their lines.

        Two visits of one page are recognised by the page key.
        """
        return (
            self.same_host
            and self.new.key != self.kept.key
            and self.content.keeps_main_text
            and is_known_by_lines(self.new, self.new_site)
            and not (self.same_words and self.distance == 0)  # 0: each word as often as on the kept page
        )

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
        """Whether the kept page has the words of the new page, and shows those that the new page shows."""
        if (self.is_estimated and self.coverage < self.limits.min_coverage) or self.is_longer:
            return False
        return not self.visible.is_less or self.visible.coverage >= self.limits.min_coverage

    @property
    def is_longer(self) -> bool:
        """Whether the new page's main text is so much longer that it says more, even in the same words."""
        return self.new.chars > MORE_TEXT * self.kept.chars > 0

    @computed
    def visible(self) -> VisibleText:
        """The visible parts of the texts by which the two pages are compared."""
        return VisibleText(self.new, self.kept)

    @computed
    def is_part(self) -> bool:
        """Whether the new text is a part of the kept one, under the same title: a thread before some answers, an excerpt.

        The signatures of a part and of the whole may be far apart. So the kept page must have nearly all its words, and all
        its numbers and headings, and be no list of texts. With a maximum distance of 0, only the same text is a duplicate.
        """
        are_texts = self.new.kind is PageKind.TEXT and self.kept.kind is PageKind.TEXT
        if not are_texts or self.limits.max_distance == 0 or not self.naming.same_named:
            return False
        if self.same_host and not self.naming.other_parts_agree:
            return False
        least = self.limits.min_resemblance ** (2 if self.naming.names_page else 1)
        return (
            self.resemblance >= least
            and self.coverage >= max(NEARLY_ALL, self.limits.min_coverage)
            and not numbers.lacks(self.new.numbers, self.kept.numbers)
            and not self.content.missing_main_headings
            and not self.missing.lacks_short_line
            and not self.missing.lacks_heading_below_name
            and not self.missing.lacks_line_beside_main
            and not self.content.is_kept_list_of_texts
        )

    @computed
    def is_named_alike(self) -> bool:
        """Whether two texts on two hosts name the same title themselves, and have most of their words in common.

        A few words that a frame repeats between the paragraphs of a text change its signature much.
        """
        are_texts = self.new.kind is PageKind.TEXT and self.kept.kind is PageKind.TEXT
        return (
            are_texts
            and not self.same_host
            and self.limits.max_distance > 0
            and self.naming.same_named
            and self.naming.names_page
            and self.resemblance >= max(NAMED_ALIKE, self.limits.min_resemblance)
        )

    @property
    def same_words(self) -> bool:
        """Whether both pages have the same words, and the kept page shows all those that the new page shows."""
        return self.new.feature_digest == self.kept.feature_digest and self.visible.same_words

    @property
    def numbers_differ(self) -> bool:
        """Whether both texts have some numbers, and hardly any in common: two tables in the same words.

        On one host short texts also differ if each has a number that the other lacks: two showings of a film.
        """
        if self.same_host and self.new.features < SHORT_TEXT and numbers.conflict(self.new.numbers, self.kept.numbers):
            return True
        return numbers.differ(self.new.numbers, self.kept.numbers) or (
            self.visible.is_less and numbers.differ(self.new.shown.numbers, self.kept.shown.numbers)
        )

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
            self.same_words
            and not self.same_host
            and self.new.features >= _MANY_FEATURES
            and bool(self.naming.new_parts - self.naming.kept_parts)
            and not self.missing.lacks_text_above_main
            and not self.content.main_text_is_minor
        )
