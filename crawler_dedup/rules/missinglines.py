"""Lines that the kept page lacks, for pages that words do not distinguish: pages of one form, a text below a notice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.content import SHORT_TEXT, Content
from crawler_dedup.rules.forms import FEW_FEATURES, Fact, find_facts, same_form
from crawler_dedup.rules.keeping import is_heading
from crawler_dedup.rules.ownblocks import blocks_below, size_of, size_of_main
from crawler_dedup.signing.blocks import Trait, unpack_blocks

_TEXT = 100  # letters
_TELLING_TEXT = 40  # letters: a shorter line may be "By a guest on Monday"
_ANSWERS = 2  # times the main text: the frame of a host may have as much text below it
_CAPTION = 250  # letters: a caption between title and text may be as long, and change

_ENTRY, _HEADING, _MAIN, _NAME, _NUMBER = map(int, (Trait.ENTRY, Trait.HEADING, Trait.MAIN, Trait.NAME, Trait.NUMBER))
_NAMED = int(Trait.HEADING | Trait.NAME)
_NAMING = _NAMED | _ENTRY


@dataclass(frozen=True)
class MissingLines:
    """Lines of the new page that the kept page lacks, in the main text, above it and below it.

    Attributes:
        content: the content of the two pages.
    """

    content: Content

    @property
    def lacks_text_beside_notice(self) -> bool:
        """Whether the kept page lacks a text of the new page whose main text seems to be only a notice of the site.

        Blocks above the main text count only on pages of one form: in another frame, they may belong to the frame.
        """
        return self.lacks_text_below_name or (self.same_form and self.lacks_text_above_main)

    @property
    def lacks_text_below_name(self) -> bool:
        """Whether the main text is above the heading that names the page, and the kept page lacks a text below this heading.

        Such a main text is rather a notice of the site. In one form, the first heading counts if no heading names the page.
        """
        below = blocks_below(self.content.new.blocks, _NAMING, _NAMED)
        if below is None and self.same_form:
            below = blocks_below(self.content.new.blocks, _HEADING, _HEADING)
        if below is None or any(block.traits & _MAIN for block in below):
            return False
        texts = (block for block in below if not block.traits & (_ENTRY | _HEADING))
        return size_of(filter(self.content.is_own_and_missing, texts)) >= _TELLING_TEXT

    @property
    def lacks_text_above_main(self) -> bool:
        """Whether the kept page lacks more than a caption of the new page's own text above its main text, links left out.

        Such a main text is rather what the pages of a site have below their subject: comments, a consent text.
        """
        above = takewhile(lambda block: not block.traits & _MAIN, unpack_blocks(self.content.new.blocks))
        texts = (block for block in above if not block.traits & _ENTRY)
        return size_of(filter(self.content.is_own_and_missing, texts)) > _CAPTION

    @property
    def lacks_answers(self) -> bool:
        """Whether the kept page lacks texts below the new page's main text that are more than twice as long, links left out.

        Such a main text is rather an opening that others answer: the question of a thread, a product with reviews.
        """
        packed = self.content.new.blocks
        below = takewhile(lambda block: not block.traits & _MAIN, reversed(unpack_blocks(packed)))
        texts = (block for block in below if block.size >= _TEXT and not block.traits & _ENTRY)
        return size_of(filter(self.content.is_own_and_missing, texts)) > _ANSWERS * size_of_main(packed)

    @property
    def lacks_text_below_main(self) -> bool:
        """Whether the kept page, of the same form, lacks a text below the new page's short main text, such as a comment."""
        if not self.same_form or not self._have_few_words:
            return False
        below = takewhile(lambda block: not block.traits & _MAIN, reversed(unpack_blocks(self.content.new.blocks)))
        texts = (block for block in below if block.size >= _TELLING_TEXT and not block.traits & _ENTRY)
        return size_of(filter(self.content.is_own_and_missing, texts)) > _TEXT

    @computed
    def same_form(self) -> bool:
        """Whether one host has made both pages from one form."""
        return self.content.same_host and same_form(self.content.new, self.content.kept)

    @property
    def _have_few_words(self) -> bool:
        return max(self.content.new.features, self.content.kept.features) < FEW_FEATURES

    @property
    def lacks_facts(self) -> bool:
        """Whether the pages are made from one form, and the kept page lacks a short line of the new page.

        The line follows a label that both pages have, or is in the main texts, if they have few words.
        """
        if not self.same_form or self.content.new.features >= SHORT_TEXT:
            return False
        return any(
            self.content.is_own_and_missing(fact.line) and self._is_compared(fact)
            for fact in find_facts(unpack_blocks(self.content.new.blocks))
        )

    def _is_compared(self, fact: Fact) -> bool:
        """Return whether a line that the kept page lacks makes two pages of one form different.

        Numbers in main texts are compared by themselves: a line may count readers.
        """
        if fact.line.traits & _MAIN:
            return self._have_few_words and not fact.line.traits & _NUMBER
        return fact.has_label and not self.content.is_own_and_missing(fact.before)

    @property
    def lacks_short_line(self) -> bool:
        """Whether the pages are made from one form, and the kept page lacks a short line of the new page, even unlabelled.

        Lines with numbers beside the main text are not compared, because they may count readers. Lines of the main text are
        compared if both pages have few words.
        """
        return self.same_form and any(
            self.content.is_own_and_missing(fact.line)
            and (self._have_few_words if fact.line.traits & _MAIN else not fact.line.traits & _NUMBER)
            for fact in find_facts(unpack_blocks(self.content.new.blocks))
        )

    @property
    def lacks_heading_below_name(self) -> bool:
        """Whether the pages are made from one form, and the kept page lacks a heading above the new page's main text.

        The heading is below the heading that names the page.
        """
        below = (blocks_below(self.content.new.blocks, _NAMING, _NAMED) or ()) if self.same_form else ()
        lines = takewhile(lambda block: not block.traits & _MAIN, below)
        not_own = self.content.site_of_new.furniture | self.content.standing
        return any(is_heading(block) and not block.traits & _NAME and block.hash not in not_own for block in lines)

    @property
    def lacks_line_beside_main(self) -> bool:
        """Whether the kept page lacks an own line of the new page beside its main text."""
        return any(
            block.size >= _TELLING_TEXT and number not in self.content.standing
            for number, block in self.content.new_own.items()
            if not block.traits & (_MAIN | _ENTRY)
        )
