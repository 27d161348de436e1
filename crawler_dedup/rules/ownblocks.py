"""Selections of the blocks of a page: without furniture, its own blocks, the blocks below a heading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from crawler_dedup.rules.keeping import is_telling
from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.signedpage import Trait
from crawler_dedup.signing.blocks import PackedBlock, block_hashes, block_traits, unpack_blocks

NO_TEXT = int(Trait.NAME | Trait.EMBEDDED)
"""Traits of blocks that are no text of the page's own: they only repeat its title, or are pictures and the like."""

_REMEMBERED = 16  # cached pages, because a new page is compared with several kept pages
_REMEMBERED_KEPT = 128
_ENTRY, _MAIN, _HIDDEN = map(int, (Trait.ENTRY, Trait.MAIN, Trait.HIDDEN))
_TRAITS_OF_SHOWN = bytes(traits for traits in range(256) if not traits & _HIDDEN)


@dataclass(frozen=True)
class OwnText:
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
    def of(cls, blocks: Iterable[PackedBlock]) -> OwnText:
        """Return the text of *blocks*."""
        by_hash = MappingProxyType({block.hash: block for block in blocks})
        own = by_hash.values()
        return cls(by_hash, size_of(own), size_of([block for block in own if not block.traits & _ENTRY]))


@lru_cache(maxsize=_REMEMBERED)
def leave_out(packed: bytes, furniture: frozenset[int]) -> Sequence[PackedBlock]:
    """Return the blocks of a page without *furniture*."""
    return tuple([block for block in unpack_blocks(packed) if block.hash not in furniture])


@lru_cache(maxsize=_REMEMBERED)
def find_own_text(packed: bytes, site: SiteProfile, *, is_thin: bool) -> OwnText:
    """Return the blocks of text that only this page of its *site* has, apart from its title."""
    blocks = leave_out(packed, site.furniture)
    own = (block for block in blocks if block.hash not in site.shared and not block.traits & NO_TEXT)
    return OwnText.of(block for block in own if is_thin or is_telling(block))


@lru_cache(maxsize=_REMEMBERED_KEPT)
def find_hashes(packed: bytes) -> frozenset[int]:
    """Return the hashes of the blocks of a page."""
    return frozenset(block_hashes(packed).tolist())


@lru_cache(maxsize=_REMEMBERED_KEPT)
def find_hidden(packed: bytes) -> frozenset[int]:
    """Return the hashes of the blocks that a page hides."""
    if not block_traits(packed).translate(None, _TRAITS_OF_SHOWN):  # true for most pages
        return frozenset()
    return frozenset([block.hash for block in unpack_blocks(packed) if block.traits & _HIDDEN])


def size_of(blocks: Iterable[PackedBlock]) -> int:
    """Return the size of *blocks*, in letters."""
    return sum([block.size for block in blocks])
