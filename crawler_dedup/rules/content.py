"""The content of two pages: their blocks without those that many pages of their sites have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.keeping import is_main_text_minor
from crawler_dedup.rules.ownblocks import (
    NO_TEXT,
    OwnText,
    find_hashes,
    find_hidden,
    find_own_text,
    leave_out,
    size_of,
)
from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.rules.thresholds import LITTLE_TEXT, TELLING_ENTRY
from crawler_dedup.signedpage import PageKind, SignedPage, Trait
from crawler_dedup.signing.blocks import PackedBlock, hash_of_file, unpack_blocks

_ENTRY, _HEADING, _MAIN, _NAME = map(int, (Trait.ENTRY, Trait.HEADING, Trait.MAIN, Trait.NAME))
_HIDDEN, _EMBEDDED, _NUMBER = map(int, (Trait.HIDDEN, Trait.EMBEDDED, Trait.NUMBER))
_NAMED = int(Trait.HEADING | Trait.NAME)
_MARK = int(Trait.HEADING | Trait.NUMBER)


@dataclass(frozen=True)
class Content:
    """The blocks of a new page and of a kept one, and what is known about their sites.

    A block that the kept page hides does not cover a block that the new page shows: no reader would see it there.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would represent it.
        new_site: what is known about the site of the new page.
        kept_site: what is known about the site of the kept page.
        same_host: whether both are on one host: pictures and the like have other addresses on another host.
    """

    new: SignedPage
    kept: SignedPage
    new_site: SiteProfile
    kept_site: SiteProfile
    same_host: bool

    @property
    def is_thin(self) -> bool:
        """Whether the pages have too little main text to be compared by it."""
        return self.new.kind is PageKind.THIN

    @property
    def site_of_new(self) -> SiteProfile:
        """The profile of the new page's site, or if that is not known, of the kept page's site, which may be a mirror.

        The profiles are never joined: the common blocks of another site must not hide blocks of the new page.
        """
        return self.new_site if self.new_site.is_known else self.kept_site

    @property
    def _site_of_kept(self) -> SiteProfile:
        return self.kept_site if self.kept_site.is_known else self.new_site

    @computed
    def _new_blocks(self) -> Sequence[PackedBlock]:
        """The blocks of the new page without furniture."""
        return leave_out(self.new.blocks, self.site_of_new.furniture)

    @computed
    def _kept_blocks(self) -> Sequence[PackedBlock]:
        """The blocks of the kept page without furniture."""
        return leave_out(self.kept.blocks, self._site_of_kept.furniture)

    @computed
    def _concealed(self) -> frozenset[int]:
        """The blocks that the new page shows and the kept page hides, by hash."""
        hidden = find_hidden(self.kept.blocks)
        if not hidden:
            return hidden
        return hidden & {block.hash for block in self._new_blocks if not block.traits & _HIDDEN}

    @computed
    def standing(self) -> frozenset[int]:
        """The hashes of the kept page's blocks, without those that it hides and the new page shows."""
        standing = find_hashes(self.kept.blocks)
        return standing - self._concealed if self._concealed else standing

    @computed
    def _new_text(self) -> OwnText:
        """The text that only the new page of its site has, apart from its title."""
        return self._own_text(self.new, self.site_of_new)

    @computed
    def _kept_text(self) -> OwnText:
        """The text that only the kept page of its site has, apart from its title."""
        return self._own_text(self.kept, self._site_of_kept)

    def _own_text(self, page: SignedPage, site: SiteProfile) -> OwnText:
        return find_own_text(page.blocks, site, is_thin=self.is_thin)

    @property
    def new_own(self) -> Mapping[int, PackedBlock]:
        """The own blocks of the new page, which no other page of its site has, apart from its title, by hash."""
        return self._new_text.blocks

    @property
    def own_size(self) -> int:
        """Size of the new page's own blocks, in letters."""
        return self._new_text.size

    @property
    def unlinked_size(self) -> int:
        """Size of the new page's own blocks that are not links, in letters."""
        return self._new_text.unlinked_size

    @property
    def is_list(self) -> bool:
        """Whether the new page's own blocks are mainly links."""
        return self.own_size > 0 and 2 * self.unlinked_size <= self.own_size

    @property
    def same_blocks(self) -> bool:
        """Whether both pages have the same blocks (without furniture) in the same order, and the kept page hides no more."""
        new, kept = (
            [identity for block in blocks if (identity := self._identify(block))]
            for blocks in (self._new_blocks, self._kept_blocks)
        )
        return new == kept and not self._concealed

    def _identify(self, block: PackedBlock) -> int:
        """Return a hash by which a block is compared on both hosts; 0 if it may have another address on the other host."""
        return block.hash if self.same_host or not block.traits & _EMBEDDED else hash_of_file(block.hash)

    @property
    def same_entries(self) -> bool:
        """Whether both pages have the same own blocks in the same order: two lists of the same entries."""
        # The second comparison takes longer, and is made only for the few pages for which the first one holds.
        return self.standing.issuperset(self.new_own) and self._without_shared(
            self.new_own, self._site_of_kept
        ) == self._without_shared(self._kept_text.blocks, self.site_of_new)

    @staticmethod
    def _without_shared(blocks: Iterable[int], site: SiteProfile) -> list[int]:
        """Return *blocks* without those that pages of the other *site* share, which are not among its own blocks."""
        return [number for number in blocks if number not in site.common]

    @computed
    def common_size(self) -> int:
        """Size of the new page's own blocks that the kept page has, in letters."""
        return size_of(block for number, block in self.new_own.items() if number in self.standing)

    @property
    def resemblance(self) -> float:
        """Resemblance of the own blocks of both pages, by letters; 0 to 1."""
        others = find_hashes(self.new.blocks)
        kept_only = size_of(block for number, block in self._kept_text.blocks.items() if number not in others)
        union = self.own_size + kept_only
        return self.common_size / union if union else 1.0

    @property
    def coverage(self) -> float:
        """The share of the new page's own blocks that the kept page has, by letters; 0 to 1."""
        return self.common_size / self.own_size if self.own_size else 1.0

    @property
    def whole_coverage(self) -> float:
        """The share of all blocks of the new page (without furniture) that the kept page has, by letters; 0 to 1."""
        texts = [block for block in self._new_blocks if not block.traits & NO_TEXT]
        size = size_of(texts)
        return size_of(block for block in texts if block.hash in self.standing) / size if size else 1.0

    @property
    def missing(self) -> Sequence[PackedBlock]:
        """The blocks of the new page, without furniture, that the kept page lacks."""
        return [block for block in self._new_blocks if block.hash not in self.standing]

    def lacks_marks(self, *, with_names: bool) -> bool:
        """Return whether the kept page lacks a heading, a line with number or an entry of the new page, without furniture.

        Pictures and the like also count, except on lists; beside a text on another host, they are compared only by the names
        of their files. Pictures that the kept page hides always count.

        Args:
            with_names: whether blocks that only repeat the title count, too.
        """
        return any(
            self._is_picture_missing(block)
            if block.traits & _EMBEDDED
            else block.traits & _MARK or (block.traits & _ENTRY and block.size >= TELLING_ENTRY)
            for block in self.missing
            if with_names or not block.traits & _NAME
        )

    def _is_picture_missing(self, block: PackedBlock) -> bool:
        """Return whether a picture that the kept page does not have under the same address is missing there."""
        if self.is_list or block.hash in self._concealed:
            return block.hash in self._concealed
        if self.same_host or self.own_size < LITTLE_TEXT:
            return True
        file = hash_of_file(block.hash)
        return file != 0 and file not in self._files_of_kept

    @computed
    def _files_of_kept(self) -> frozenset[int]:
        blocks = unpack_blocks(self.kept.blocks)
        return frozenset(hash_of_file(block.hash) for block in blocks if block.traits & _EMBEDDED)

    @property
    def main_text_is_minor(self) -> bool:
        """Whether the main text of the new page is less than half of its own blocks, or is mainly not among them."""
        return is_main_text_minor(unpack_blocks(self.new.blocks), self.new_own.values())
