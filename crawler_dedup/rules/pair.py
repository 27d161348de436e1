"""The measures by which the rules decide about a new page and a kept page."""

from __future__ import annotations

from crawler_dedup.rules import limits
from crawler_dedup.rules.comparison import ComparedPair, size_of
from crawler_dedup.rules.sites import is_list


class Pair(ComparedPair):
    """A new page and a kept page with all that is measured between them, computed when a rule asks for it."""

    @property
    def is_covered(self) -> bool:
        """Whether each block of the new page that counts is on the kept page.

        For two texts whose words do not decide: whether their signatures agree.
        """
        if self.are_texts and self.config.compare != "words":
            return self.signatures_agree
        if self.missing:
            return False
        if self.are_thin:  # an archive of a day is no copy of that of its month
            more = limits.MOST_MORE * len(self.own) if self.site_of_new.is_known else 0
            return self.is_revisit or self.kept_only <= more
        return self.signatures_agree or any(not block.exemption for block in self.blocks)

    @property
    def has_nothing_of_its_own(self) -> bool:
        """Whether the new page is thin, and has too little text beside its title and the common blocks of its site.

        As long as the site is not known, a page without a heading that names it may be a frame which a script fills.
        """
        if not self.are_thin or self.is_revisit:
            return False
        may_be_filled = self.new.link_count > 0 and not self.new_named and not self.site_of_new.is_known
        is_frame = may_be_filled and size_of(self.own_unlinked) < limits.LITTLE_TEXT
        return is_frame or size_of(self.own) < limits.NOTHING

    @property
    def is_twin(self) -> bool:
        """Whether two pages of a known site differ in their titles only: two tags of the same posts.

        Lists of links may differ in headings that repeat the titles, too. A page whose own links lead nowhere else may be a
        frame that a script fills.
        """
        if not self._may_be_twins or self.missing or self.kept_only:
            return False
        return self.repeats_same_title or (self.are_thin and self.is_list_of_links)

    @property
    def links_lead_further(self) -> bool:
        """Whether a crawl would lose links with the new page, if the kept one is on the same host.

        Between two hosts links say nothing: mirrors differ in them. A kept page without links (a print copy) never covers
        a page that has some: what only that page links to would not be reached.
        """
        if not self.same_host or not self.links_decide:
            return False
        if self.kept.link_count <= limits.NOWHERE and self.new.link_count > self.kept.link_count:
            return True
        if is_list(self.new):
            return not self.links_covered
        has_many_links = 2 * self.new.link_chars >= self.new.chars
        return has_many_links and self.new.link_count > limits.MANY_MORE * self.kept.link_count + limits.MORE_LINKS
