"""The content of two pages: their blocks without those that many pages of their sites have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.cover import size_of
from crawler_dedup.rules.limits import DISTINCTIVE_ENTRY, DISTINCTIVE_HEADING, LITTLE_TEXT
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile
from crawler_dedup.signedpage import PageKind, SignedPage, Trait
from crawler_dedup.signing.blocks import PackedBlock, block_hashes, block_traits, hash_of_file, unpack_blocks
from crawler_dedup.signing.schemes import Scheme
from crawler_dedup.urls import site_of

# Plain numbers: to combine flags takes a microsecond.
_ENTRY, _HEADING, _MAIN, _NAME = map(int, (Trait.ENTRY, Trait.HEADING, Trait.MAIN, Trait.NAME))
_HIDDEN, _EMBEDDED = map(int, (Trait.HIDDEN, Trait.EMBEDDED))
_LINKED_HEADING = int(Trait.ENTRY | Trait.HEADING)
_MARK = int(Trait.HEADING | Trait.NUMBER)
_NO_TEXT = int(Trait.NAME | Trait.EMBEDDED)
"""Traits of blocks that are no text of the page's own: they only repeat its title, or are pictures and the like."""

_REMEMBERED = 16  # cached pages, because a new page is compared with several kept pages
_REMEMBERED_KEPT = 128
_TRAITS_OF_SHOWN = bytes(traits for traits in range(256) if not traits & _HIDDEN)
# By the traits of a block, which are a byte: the least size at which it is distinctive, and whether it is a heading.
_ALL_TRAITS, _NEVER = range(256), 1 << 16
_LEAST_SIZE = tuple(
    _NEVER if traits & _LINKED_HEADING == _ENTRY else DISTINCTIVE_HEADING if traits & _HEADING else 1
    for traits in _ALL_TRAITS
)


@dataclass(frozen=True)
class Content:
    """A new page and a kept page with what is measured between their blocks, computed when a rule asks for it.

    A block that the kept page hides does not cover a block that the new page shows: no reader would see it there.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would represent it.
        max_distance: largest Hamming distance of two signatures that agree, in bits; with 0 only the same texts agree.
        scheme: the scheme by which both pages are signed.
        new_site: what is known about the new page's site.
        kept_site: what is known about the kept page's site.
    """

    new: SignedPage
    kept: SignedPage
    max_distance: int
    scheme: Scheme
    new_site: SiteProfile = UNKNOWN_SITE
    kept_site: SiteProfile = UNKNOWN_SITE

    @computed
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

    @property
    def _site_of_kept(self) -> SiteProfile:
        return self.kept_site if self.kept_site.is_known else self.new_site

    @computed
    def _new_blocks(self) -> Sequence[PackedBlock]:
        """The blocks of the new page without furniture."""
        return _leave_out(self.new.blocks, self.site_of_new.furniture)

    @computed
    def _kept_blocks(self) -> Sequence[PackedBlock]:
        """The blocks of the kept page without furniture."""
        return _leave_out(self.kept.blocks, self._site_of_kept.furniture)

    @computed
    def _concealed(self) -> frozenset[int]:
        """The blocks that the new page shows and the kept page hides, by hash."""
        hidden = _find_hidden(self.kept.blocks)
        if not hidden:
            return hidden
        return hidden & {block.hash for block in self._new_blocks if not block.traits & _HIDDEN}

    @computed
    def visible_hashes(self) -> frozenset[int]:
        """The hashes of the kept page's blocks, without those that it hides and the new page shows."""
        hashes = _find_hashes(self.kept.blocks)
        return hashes - self._concealed if self._concealed else hashes

    @computed
    def _new_text(self) -> _OwnText:
        """The text that no other page of the new page's site has, apart from the title."""
        return self._own_text(self.new, self.site_of_new)

    @computed
    def _kept_text(self) -> _OwnText:
        """The text that no other page of the kept page's site has, apart from the title."""
        return self._own_text(self.kept, self._site_of_kept)

    def _own_text(self, page: SignedPage, site: SiteProfile) -> _OwnText:
        return _find_own_text(page.blocks, site, is_thin=self.new.kind is PageKind.THIN)

    @property
    def own_blocks(self) -> Mapping[int, PackedBlock]:
        """The own blocks of the new page, which no other page of its site has, apart from the title, by hash."""
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
    def is_list_of_links(self) -> bool:
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
    def same_own_blocks(self) -> bool:
        """Whether both pages have the same own blocks in the same order: two lists of the same entries."""
        # The second comparison takes longer, and is made only for the few pages for which the first one holds.
        return self.visible_hashes.issuperset(self.own_blocks) and self._without_shared(
            self.own_blocks, self._site_of_kept
        ) == self._without_shared(self._kept_text.blocks, self.site_of_new)

    @staticmethod
    def _without_shared(blocks: Iterable[int], site: SiteProfile) -> list[int]:
        """Return *blocks* without those that pages of the other *site* share, which are not among its own blocks."""
        return [number for number in blocks if number not in site.common]

    @computed
    def _common_size(self) -> int:
        """Size of the new page's own blocks that the kept page has, in letters."""
        return size_of(block for number, block in self.own_blocks.items() if number in self.visible_hashes)

    @property
    def own_resemblance(self) -> float:
        """Resemblance of the own blocks of both pages, by letters; 0 to 1."""
        others = _find_hashes(self.new.blocks)
        kept_only = size_of(block for number, block in self._kept_text.blocks.items() if number not in others)
        union = self.own_size + kept_only
        return self._common_size / union if union else 1.0

    @property
    def own_coverage(self) -> float:
        """The share of the new page's own blocks that the kept page has, by letters; 0 to 1."""
        return self._common_size / self.own_size if self.own_size else 1.0

    @property
    def whole_coverage(self) -> float:
        """The share of all blocks of the new page (without furniture) that the kept page has, by letters; 0 to 1."""
        texts = [block for block in self._new_blocks if not block.traits & _NO_TEXT]
        size = size_of(texts)
        return size_of(block for block in texts if block.hash in self.visible_hashes) / size if size else 1.0

    @property
    def missing_blocks(self) -> Sequence[PackedBlock]:
        """The blocks of the new page, without furniture, that the kept page lacks."""
        return [block for block in self._new_blocks if block.hash not in self.visible_hashes]

    def lacks_any_mark(self, *, with_names: bool) -> bool:
        """Return whether the kept page lacks any mark of the new page: a heading, a line with a number, or an entry.

        Furniture does not count. Pictures and the like do, except on lists; if the pages are on two hosts and the new one
        has a text, they are compared by file name only. Pictures that the kept page hides always count.

        Args:
            with_names: whether blocks that only repeat the title count, too.
        """
        # Links that are followed anyway do not make another list: each of its entries has to.
        least_entry = 0 if self.new.links_followed else DISTINCTIVE_ENTRY
        return any(
            self._is_picture_missing(block)
            if block.traits & _EMBEDDED
            else block.traits & _MARK or (block.traits & _ENTRY and block.size >= least_entry)
            for block in self.missing_blocks
            if with_names or not block.traits & _NAME
        )

    def _is_picture_missing(self, block: PackedBlock) -> bool:
        """Return whether a picture that the kept page does not have under the same address is missing there."""
        if self.is_list_of_links or block.hash in self._concealed:
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
        blocks, own = unpack_blocks(self.new.blocks), self.own_blocks.values()
        main = sum([size for _, traits, size in blocks if traits & _MAIN and size >= _LEAST_SIZE[traits]])
        own_main = size_of(block for block in own if block.traits & _MAIN)
        return 2 * own_main < main or 2 * own_main < self.own_size


@dataclass(frozen=True)
class _OwnText:
    """The text that only one page of a site has.

    Attributes:
        blocks: its blocks, by hash.
        size: their size, in letters.
        unlinked_size: the size of the blocks that are not links.
    """

    blocks: Mapping[int, PackedBlock]
    size: int
    unlinked_size: int

    @classmethod
    def of(cls, blocks: Iterable[PackedBlock]) -> _OwnText:
        """Return the text of *blocks*."""
        by_hash = MappingProxyType({block.hash: block for block in blocks})
        own = by_hash.values()
        return cls(by_hash, size_of(own), size_of([block for block in own if not block.traits & _ENTRY]))


@lru_cache(maxsize=_REMEMBERED)
def _leave_out(packed: bytes, furniture: frozenset[int]) -> Sequence[PackedBlock]:
    """Return the blocks of a page without *furniture*."""
    return tuple([block for block in unpack_blocks(packed) if block.hash not in furniture])


@lru_cache(maxsize=_REMEMBERED)
def _find_own_text(packed: bytes, site: SiteProfile, *, is_thin: bool) -> _OwnText:
    """Return the blocks of text that no other page of its *site* has, apart from the title."""
    blocks = _leave_out(packed, site.furniture)
    own = (block for block in blocks if block.hash not in site.shared and not block.traits & _NO_TEXT)
    return _OwnText.of(block for block in own if is_thin or _is_distinctive(block))


@lru_cache(maxsize=_REMEMBERED_KEPT)
def _find_hashes(packed: bytes) -> frozenset[int]:
    """Return the hashes of the blocks of a page."""
    return frozenset(block_hashes(packed).tolist())


@lru_cache(maxsize=_REMEMBERED_KEPT)
def _find_hidden(packed: bytes) -> frozenset[int]:
    """Return the hashes of the blocks that a page hides."""
    if not block_traits(packed).translate(None, _TRAITS_OF_SHOWN):  # true for most pages
        return frozenset()
    return frozenset([block.hash for block in unpack_blocks(packed) if block.traits & _HIDDEN])


def _is_distinctive(block: PackedBlock) -> bool:
    """Return whether a block can distinguish texts: a line that is no link, or a heading that is not short.

    Short lines count: the cells of a table may be all that a page says below a text that its site repeats.
    """
    return block.size >= _LEAST_SIZE[block.traits]
