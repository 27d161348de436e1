"""The blocks of a new page that a kept page lacks: each block that is its own must be there, in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from crawler_dedup.rules import limits
from crawler_dedup.rules.pagepair import PagePair
from crawler_dedup.signedpage import PageKind, Trait
from crawler_dedup.signing.blocks import IS_ADDRESS, PackedBlock, hash_of_file, unpack_blocks
from crawler_dedup.signing.cover import Cover, cover_of, key_of
from crawler_dedup.signing.links import hash_target
from crawler_dedup.signing.pagelines import SHORT

# Plain numbers: to combine flags takes a microsecond.
_ENTRY, _HEADING, _NUMBER, _NAME, _MAIN, _HIDDEN, _EMBEDDED, _LINKED = map(int, Trait)
_NAMED, _LINK = _HEADING | _NAME, _ENTRY | _LINKED


class ComparedBlock(NamedTuple):
    """A block of the new page.

    Attributes:
        block: the block.
        is_there: whether the kept page has it, in the same words.
        exemption: why it does not count that the kept page lacks it; ``""`` if it does.
    """

    block: PackedBlock
    is_there: bool
    exemption: str


class ComparedPair(PagePair):
    """A new page and a kept page whose blocks are compared.

    A block that the kept page hides does not cover a block that the new page shows: no reader would see it there.
    """

    @cached_property
    def _blocks(self) -> Sequence[PackedBlock]:
        return unpack_blocks(self.new.blocks)

    @cached_property
    def _cover(self) -> Cover:
        return cover_of(self.kept)

    @cached_property
    def _main(self) -> Sequence[int]:
        """The places of the main text."""
        return [place for place, block in enumerate(self._blocks) if block.traits & _MAIN]

    @cached_property
    def _near(self) -> range:
        """The places from the heading that names the page to the end of the main text."""
        if not self._main:
            return range(0)
        # The name of the site is a part of the title, too.
        before, common = self._blocks[: self._main[0]], self.site_of_new.common
        names = [at for at, block in enumerate(before) if block.traits & _NAMED == _NAMED and block.hash not in common]
        return range(max(names, default=self._main[0]), self._main[-1] + 1)

    @cached_property
    def is_strict(self) -> bool:
        """Whether each block counts that the site does not repeat.

        As long as it is not known what two sites repeat, this holds for two pages of one host in one frame, and on two hosts
        for a main text that is the smaller part of its page, such as a question or a consent text.
        """
        if self.are_sites_known:
            return True
        return self._has_same_frame if self.same_host else self.is_main_text_minor

    @property
    def _has_same_frame(self) -> bool:
        """Whether the kept page has half of the blocks above the new page's heading or, if there are none, of all around it.

        Below the main text may be answers, of which the new page has more.
        """
        above = [block for block in self._blocks[: self._near.start] if block.size]
        frame = above or [block for place, block in enumerate(self._blocks) if place not in self._near and block.size]
        others = len(frame) - sum(map(self._is_there, frame))
        return 2 * others <= len(frame) or others < limits.ANOTHER_FRAME

    @property
    def blocks(self) -> Iterator[ComparedBlock]:
        """All blocks of the new page, in reading order."""
        for place, block in enumerate(self._blocks):
            yield ComparedBlock(block, place not in self._lacking, self._exempt(place, block))

    @cached_property
    def _lacking(self) -> Mapping[int, PackedBlock]:
        """The blocks that the kept page lacks, by their places."""
        return {place: block for place, block in enumerate(self._blocks) if not self._is_there(block)}

    @cached_property
    def missing(self) -> Sequence[PackedBlock]:
        """The blocks that count, and that the kept page lacks."""
        return [block for place, block in self._lacking.items() if not self._exempt(place, block)]

    @cached_property
    def own(self) -> Sequence[PackedBlock]:
        """The blocks of text that are not among those of many pages of the new page's site, apart from the title."""
        common = self.site_of_new.common
        texts = [block for block in self._blocks if block.size and not block.traits & (_NAME | _EMBEDDED)]
        return [block for block in texts if block.hash not in common]

    @property
    def own_unlinked(self) -> Sequence[PackedBlock]:
        """Those of the own blocks that are not links."""
        return [block for block in self.own if not block.traits & _ENTRY]

    @property
    def is_list_of_links(self) -> bool:
        """Whether the new page's own blocks are mainly links."""
        return 2 * size_of(self.own_unlinked) <= size_of(self.own) > 0

    @property
    def is_main_text_minor(self) -> bool:
        """Whether the main text of the new page is less than half of its own text, or is mainly not its own."""
        main = size_of([block for block in self._blocks if block.traits & (_MAIN | _ENTRY) == _MAIN])
        own_main = size_of([block for block in self.own_unlinked if block.traits & _MAIN])
        return 2 * own_main < main or 2 * own_main < size_of(self.own_unlinked)

    @property
    def kept_only(self) -> int:
        """The number of the kept page's own blocks of text that the new page lacks, apart from its title."""
        common = {key_of(number) for number in self.site_of_new.common | self.kept_site.common}
        return len(self._cover.shown - self._cover.names - common - self._shown)

    @property
    def repeats_same_title(self) -> bool:
        """Whether both pages show the same lines that repeat their titles."""
        names = {key_of(block.hash) for block in self._blocks if block.traits & _NAME}
        return names <= self._cover.shown and self._cover.names <= self._shown

    @cached_property
    def _shown(self) -> frozenset[int]:
        return frozenset(key_of(block.hash) for block in self._blocks if not block.traits & _HIDDEN)

    def _is_there(self, block: PackedBlock) -> bool:
        cover, key, is_hidden = self._cover, key_of(block.hash), bool(block.traits & _HIDDEN)
        if block.traits & _EMBEDDED:
            return key in cover.pictures or (is_hidden and key in cover.hidden_pictures)
        return key in cover.shown or (is_hidden and key in cover.hidden)

    def _exempt(self, place: int, block: PackedBlock) -> str:
        """Return why *block* does not count; ``""`` if it does."""
        if block.traits & _EMBEDDED:
            return self._exempt_picture(block)
        is_thin, number = self.new.kind is PageKind.THIN, block.hash
        repeats = number in self.site_of_new.common and place not in self._states
        # A long block of the main text on fewer than half of the pages may be what an attacker has copied to many.
        is_label = block.size <= SHORT or not block.traits & _MAIN
        reasons = (
            (not block.size, "no letter, digit or symbol"),
            (block.traits & _NAME and self.is_title_repeated, "repeats the title"),
            (repeats and number in self.site_of_new.furniture, "on most pages of the site"),
            (self.same_host and self._says_where(place), "says where the page is"),
            (not is_thin and number == self.address_date and self._is_of_post(place), "a date of both addresses"),
            (repeats and is_label and not is_thin, "on many pages of the site"),
            (not is_thin and place in self._columns, "in a list beside the text that other pages have, too"),
        )
        reason = next((reason for holds, reason in reasons if holds), "")
        if reason or is_thin or place in self._states:
            return reason
        return self._exempt_link(place, block) if self.is_strict else self._exempt_frame(place, block)

    def _is_of_post(self, place: int) -> bool:
        """Return whether a date is that of the whole page: it is no fact in the text, and the kept page has no other one."""
        blocks = self._blocks
        begin = next((at for at in self._main if not blocks[at].traits & _NAME), place)
        return not (begin < place <= self._main[-1] or self.kept_only or self._takes_turns)

    @cached_property
    def _states(self) -> set[int]:
        """The places of blocks that many pages of the site have: labels, or states, if the kept page is in the same frame.

        They may be anywhere on thin pages and pages that are visited again, else around the main text or, if they are short,
        below it. On one host, shared blocks around the main text are states even if the kept page has nothing else in their
        place. Links are none, except around it. Of blocks with a digit elsewhere, the kept page must lack several, of which
        those below the heading have twice the weight: they are values of a table, not the date in a frame.
        """
        blocks, common, is_thin = self._blocks, self.site_of_new.common, self.new.kind is PageKind.THIN
        states = {
            place
            for place, block in enumerate(blocks)
            if block.hash in common and block.size and not block.traits & (_NAME * self.is_title_repeated | _EMBEDDED)
            if (place in self._near or block.size <= SHORT) and place not in self._columns
            if not block.traits & _ENTRY or (block.traits & _LINKED and (is_thin or place in self._near))
        }
        if not self._takes_turns:
            shared = self.site_of_new.shared if self.same_host and self._has_same_frame else ()
            return {at for at in states.intersection(self._near) if blocks[at].hash in shared}
        if is_thin or self.is_revisit:
            return states
        values = {at for at in states.difference(self._near) if blocks[at].traits & _NUMBER}
        are_many = sum([1 + (at > self._near.start) for at in values if at in self._lacking]) >= limits.ANOTHER_FRAME
        return {at for at in states if (are_many if at in values else at >= self._near.start)}

    @cached_property
    def _takes_turns(self) -> bool:
        """Whether the kept page, in the same frame, has something else in their place: "In stock" instead of "Sold out"."""
        texts = {key_of(block.hash) for block in self._blocks if not block.traits & _EMBEDDED}
        others = (self._cover.shown - self._shown) | (self._cover.hidden - texts)
        if self.is_title_repeated:
            others -= self._cover.names
        return bool(others) and self._has_same_frame

    def _exempt_picture(self, block: PackedBlock) -> str:
        """Return why a picture or the like does not count. Thin pages alone have them; on two hosts the addresses differ."""
        if block.traits & IS_ADDRESS == IS_ADDRESS:
            return "an address, which the block before it shows"
        if self.is_list_of_links:
            return "a picture of a list"
        if not self.same_host and size_of(self.own) >= limits.LITTLE_TEXT:
            if not hash_of_file(block.hash):
                return "an aside or the like"
            if self._cover.shows_file(key_of(block.hash)):
                return "a picture with the same file name"
        return ""

    def _says_where(self, place: int) -> bool:
        """Return whether a block ends with the address of one of the pages: on a page for printing, that of the article."""
        own = hash_target(self.new.url, self.new.url), hash_target(self.kept.url, self.kept.url)
        following = self._blocks[place + 1 : place + 2]
        return any(block.traits & IS_ADDRESS == IS_ADDRESS and block.hash in own for block in following)

    @cached_property
    def _columns(self) -> set[int]:
        """The places of lines beside the main text that are no page's own: those of a list of the latest comments.

        In each line, the same words join two links, one to a comment. Three pages have it, below a heading of most pages.
        """
        site, is_column, columns = self.site_of_new, False, set[int]()
        recurring = site.recurring | site.common
        for place, block in enumerate(self._blocks):
            if block.traits & (_LINK | _MAIN) != _LINKED:
                is_column = block.hash in site.furniture
            elif is_column and block.hash in recurring:
                columns.add(place)
        return columns

    def _exempt_link(self, place: int, block: PackedBlock) -> str:
        traits = block.traits
        is_short = not traits & _MAIN or block.size <= limits.BACK_LINK
        if traits & _LINK == _LINK and is_short and not self.leads_elsewhere:
            return "leads to the kept page, or is navigation"
        is_listed = traits & _LINKED and (place in self._near or self._lists_others)
        counts = traits & _MAIN or not traits & _ENTRY or is_listed or self.is_revisit
        return "" if counts else "a link beside the main text"

    @cached_property
    def _lists_others(self) -> bool:
        """Whether links beside the main text are another list of one host."""
        others = (
            block
            for place, block in self._lacking.items()
            if block.traits & (_LINK | _MAIN | _NAME) == _LINK
            if place not in self._near and block.hash not in self.site_of_new.common
        )
        return self.same_host and size_of(others) > limits.LIST_SHARE * self.new.chars

    def _exempt_frame(self, place: int, block: PackedBlock) -> str:
        """Return why a block of a site that is not known yet does not count: it may belong to its frame."""
        traits, size = block.traits, block.size
        if traits & _HEADING and (traits & _MAIN or (size >= limits.DISTINCTIVE_HEADING and not traits & _ENTRY)):
            return ""
        if traits & _MAIN or (place in self._certain and not traits & _ENTRY):
            return "" if place in self._certain else "a short block at an end of the main text"
        is_long = size > (SHORT if self.same_host else limits.DESCRIPTION)
        if is_long and not traits & _ENTRY and (self.same_host or place in self._near):
            return ""
        return "beside the main text, of a site that is not known yet"

    @cached_property
    def _certain(self) -> range:
        """The places from the first longer block of the main text to the last one; all of them if there is none.

        Of two texts that only have the same name, all of the main text is certain: their longer blocks may be those of any
        page. Without a main text, which an extractor may have found in no block, all blocks are certain.
        """
        by_name = not self.signatures_agree
        longer = [place for place in self._main if by_name or self._blocks[place].size > SHORT] or self._main
        return range(longer[0], longer[-1] + 1) if longer else range(len(self._blocks))


def size_of(blocks: Iterable[PackedBlock]) -> int:
    """Return the size of *blocks*, in letters."""
    return sum([block.size for block in blocks])
