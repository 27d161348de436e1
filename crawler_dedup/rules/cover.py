"""The blocks of a new text page that the kept page lacks: an addition, or another fact. An edited block is no addition."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from crawler_dedup.rules.computed import computed
from crawler_dedup.rules.limits import (
    ALIKE,
    ALONE_ALIKE,
    ANSWERS,
    CAPTION,
    CELL,
    CUT,
    DESCRIPTION,
    DISTINCTIVE_HEADING,
    FRAME_LETTERS,
    FRAME_SHARE,
    GROWTH,
    GROWTH_LETTERS,
    LIST_SHARE,
    MOST_MOVED,
    SAME_TEXT,
)
from crawler_dedup.rules.sites import SiteProfile
from crawler_dedup.signedpage import BLOCK_BYTES, SignedPage, Trait
from crawler_dedup.signing.blocks import PackedBlock, block_hashes, unpack_blocks
from crawler_dedup.signing.cover import (
    LONG,
    CoverBlock,
    count_common,
    decode_cover,
    keep_blocks,
    lacks_names,
    lacks_numbers,
    read_traits,
)

_ENTRY, _HEADING, _NAME, _MAIN = map(int, (Trait.ENTRY, Trait.HEADING, Trait.NAME, Trait.MAIN))
_EMBEDDED, _HIDDEN, _NUMBER, _LINKED = map(int, (Trait.EMBEDDED, Trait.HIDDEN, Trait.NUMBER, Trait.LINKED))
_NAMED = _HEADING | _NAME


class _Row(NamedTuple):
    """A block with its place on the page.

    Attributes:
        hash: 32 bits of its text.
        is_near: whether it is between the heading that names the page and the end of the main text.
    """

    hash: int
    block: CoverBlock
    is_near: bool


# The same as _Row._make, without calling a function in Python for each block.
_make_row = partial(tuple.__new__, _Row)


def _read_rows(page: SignedPage) -> list[_Row]:
    blocks = decode_cover(page.cover)
    near = _near([block.traits for block in blocks])
    hashes = block_hashes(page.blocks).tolist() if blocks else []  # a thin page has blocks, but no cover
    are_near = [place in near for place in range(len(blocks))]
    return list(map(_make_row, zip(hashes, blocks, are_near, strict=True)))


def _near(traits: Sequence[int]) -> range:
    """Return the places from the heading that names the page to the end of the main text, given the traits of all blocks."""
    main = [place for place, trait in enumerate(traits) if trait & _MAIN]
    if not main:
        return range(0)
    names = [place for place, trait in enumerate(traits[: main[0]]) if trait & _NAMED == _NAMED]
    return range(max(names, default=main[0]), main[-1] + 1)


def _is_frame(row: _Row, site: SiteProfile) -> bool:
    """Return whether a block belongs to the site: a fact near the text only if half of the pages have it."""
    return row.hash in site.furniture or (row.hash in site.shared and not (row.is_near and row.block.is_fact))


def cover_of(page: SignedPage) -> bytes:
    """Return the blocks of a text page that are compared with those of new pages.

    Blocks that all pages of the site have at present are kept, too: they count when fewer pages have them.
    """
    if not page.cover:
        return b""
    have_size, traits = read_traits(page.cover)
    kept = have_size & (traits & _NAME == 0) & (traits & (_ENTRY | _HEADING) != _ENTRY)
    near = _near(traits.tolist())
    beside = slice(near.start, near.stop)
    kept[beside] = have_size[beside] & (traits[beside] & _NAME == 0)
    return keep_blocks(page.cover, kept)


def entries_of(page: SignedPage) -> bytes:
    """Return the packed blocks of a text page that are links as a whole, beside the main text."""
    entries = [at for at, row in enumerate(_read_rows(page)) if _is_entry_beside(row.block)]
    return b"".join([page.blocks[at * BLOCK_BYTES : (at + 1) * BLOCK_BYTES] for at in entries])


def _is_entry_beside(block: CoverBlock) -> bool:
    return block.traits & (_ENTRY | _LINKED | _MAIN | _NAME) == _ENTRY | _LINKED and block.size > 0


def is_beside_subject(page: SignedPage) -> bool:
    """Return whether the main text is probably a consent text: it comes before the heading, or after a longer text."""
    rows = _read_rows(page)
    main = [place for place, row in enumerate(rows) if row.block.traits & _MAIN]
    headings = [place for place, row in enumerate(rows) if row.block.traits & _NAMED == _NAMED]
    if not main or not headings:
        return False
    if headings[0] > main[0]:
        return headings[0] > main[-1]
    return 2 * size_of(row.block for row in rows if row.block.traits & _MAIN) < size_of(
        row.block for row in rows if row.is_near and not row.block.traits & _ENTRY
    )


@dataclass(frozen=True)
class Cover:
    """How far a kept text page covers the blocks of a new one.

    Where both pages have one design (*is_strict*), each block of the new page that is not its site's has to be on the kept
    page: facts in the same words, longer blocks in the same words or edited. In another design only the main text counts,
    and only more than a little of it.

    Attributes:
        new: the page that may be dropped, as it was signed.
        kept: the page that would represent it, as it is kept.
        site: what is known of the new page's site, or else of the kept page's.
        kept_site: what is known of the kept page's site. Its facts are not those of the new page's site.
        is_strict: whether both pages have one design, or the new main text may be no more than a consent text.
        same_host: whether both pages are on one host.
    """

    new: SignedPage
    kept: SignedPage
    site: SiteProfile
    kept_site: SiteProfile
    is_strict: bool
    same_host: bool

    @computed
    def _new_rows(self) -> Sequence[_Row]:
        rows = [row for row in _read_rows(self.new) if row.block.size and not _is_frame(row, self.site)]
        return [row for row in rows if row.block.is_fact or row.hash not in self.kept_site.common]

    @computed
    def compared(self) -> Sequence[CoverBlock]:
        """The blocks of the new page that the kept page has to have."""
        same_links = self.new.link_digest == self.kept.link_digest
        return [row.block for row in self._new_rows if self._is_compared(row, same_links=same_links)]

    def _is_compared(self, row: _Row, *, same_links: bool) -> bool:
        traits, size = row.block.traits, row.block.size
        if traits & _NAME:
            return False
        if traits & (_MAIN | _EMBEDDED):  # the data from which a script fills the page are as its main text
            return self.is_strict or not traits & _ENTRY or size > LONG
        if traits & _ENTRY:
            return self.is_strict and row.is_near and not same_links and bool(traits & _LINKED)
        # In another design, too, a text between the heading and the main text says something.
        return self.is_strict or (row.is_near and size > DESCRIPTION) or (size > LONG and self._is_answered)

    @computed
    def _is_answered(self) -> bool:
        """Whether the main text is rather an opening that others answer: a question, a product with reviews."""
        beside = [
            row.block for row in self._new_rows if not row.block.traits & (_MAIN | _ENTRY) and not row.block.is_fact
        ]
        return size_of(beside) > ANSWERS * size_of([row.block for row in self._new_rows if row.block.traits & _MAIN])

    @computed
    def _kept(self) -> Sequence[CoverBlock]:
        """The blocks of the kept page, without those that it hides and the new page shows."""
        shown = self._shown
        return [block for block in decode_cover(self.kept.cover) if not (block.traits & _HIDDEN and block.key in shown)]

    @computed
    def _shown(self) -> frozenset[int]:
        return frozenset(row.block.key for row in self._new_rows if not row.block.traits & _HIDDEN)

    @property
    def is_partly_concealed(self) -> bool:
        """Whether the kept page hides a block that the new page shows."""
        return any(block.traits & _HIDDEN and block.key in self._shown for block in decode_cover(self.kept.cover))

    @computed
    def _visible_keys(self) -> frozenset[int]:
        return frozenset(block.key for block in self._kept)

    @computed
    def missing(self) -> Sequence[CoverBlock]:
        """The blocks that the kept page lacks, in the same words or as an edit."""
        return [*self._missing_texts, *self._missing_entries]

    @property
    def _missing_entries(self) -> Sequence[CoverBlock]:
        """The entries beside the main text that the kept page lacks, on one host: another page of a list below a text.

        Few entries may belong to the frame ("next", "newer"), and in another design all of them until the site is known.
        """
        if not self.same_host or self.new.link_digest == self.kept.link_digest:
            return ()
        kept = {block.hash: block.traits & _HIDDEN for block in unpack_blocks(self.kept.blocks)}
        entries = [row for row in self._new_rows if _is_entry_beside(row.block)]
        missing = [
            row.block
            for row in entries
            if kept.get(row.hash, _HIDDEN) > row.block.traits & _HIDDEN and row.block.key not in self._visible_keys
        ]
        is_list = (self.is_strict or self.site.is_known) and size_of(missing) > LIST_SHARE * self.new.chars
        return missing if is_list else ()

    @property
    def _missing_texts(self) -> Sequence[CoverBlock]:
        if all(block.key in self._visible_keys for block in self.compared):
            return ()
        added: list[CoverBlock] = []
        edited: list[list[tuple[CoverBlock, Sequence[CoverBlock]]]] = []
        changed: list[CoverBlock] = []
        surplus = 0.0
        for new, kept in self._gaps():
            if not self.is_strict:
                changed += [block for block in new if not block.is_fact and _has_other_numbers(block, kept)]
            facts = [block for block in new if block.is_fact] if self.is_strict else []
            added += facts
            texts = [block for block in new if not block.is_fact] if self.is_strict else new
            more = size_of(texts) - GROWTH * size_of(kept) - sum([min(block.size, GROWTH_LETTERS) for block in texts])
            if more > 0:
                surplus += more
                added += texts
            if more <= 0 or not self.is_strict:
                edited.append([*self._pair_up(texts, kept)])
        least = ALIKE if sum(map(len, edited)) > 1 else ALONE_ALIKE
        runs = [[block for block, places in pairs if self._is_replaced(block, places, least)] for pairs in edited]
        replaced = [block for run in runs for block in run]
        if self.is_strict:
            return added + replaced
        most = max(FRAME_LETTERS, FRAME_SHARE * self.new.chars)
        size = sum([max(block.size, CELL) for block in replaced])
        is_much = size > most or any(len(run) > 1 and size_of(run) > FRAME_LETTERS for run in runs)
        return changed + (added if surplus > FRAME_LETTERS else []) + (replaced if is_much else [])

    @property
    def differing(self) -> Sequence[CoverBlock]:
        """The compared blocks that the kept page does not have in the same words, as far as keys show it."""
        return [block for block in self.compared if block.key not in self._visible_keys]

    def with_hashes(self, blocks: Iterable[CoverBlock]) -> list[tuple[int, CoverBlock]]:
        """Return *blocks* of the new page with their hashes, by which their texts are known where the page is at hand."""
        wanted = frozenset(blocks)
        return [(row.hash, row.block) for row in self._new_rows if row.block in wanted]

    def _pair_up(
        self, texts: Sequence[CoverBlock], kept: Sequence[CoverBlock]
    ) -> Iterator[tuple[CoverBlock, Sequence[CoverBlock]]]:
        """Yield each of *texts* with the blocks in its place of which it can be an edit.

        The blocks follow each other in one order, so a block has moved by no more places than one page has more blocks.
        """
        if self.is_strict:
            kept = [block for block in kept if not block.is_fact]
        if not all(block.traits & _HIDDEN for block in texts):  # hidden text covers no text that is shown
            kept = [block for block in kept if not block.traits & _HIDDEN]
        moved = min(abs(len(texts) - len(kept)), MOST_MOVED) if self.is_strict else MOST_MOVED
        for at, block in enumerate(texts):
            yield block, kept[max(at - moved, 0) : at + moved + 1]

    def _is_replaced(self, block: CoverBlock, places: Sequence[CoverBlock], least: int) -> bool:
        """Return whether no block in the same place has *least* min-hashes of *block* and, if strict, its facts."""
        texts = [other for other in places if not other.is_fact]
        if self.is_strict:
            return not any(_is_edit(block, other, least) for other in texts)
        if block.is_fact:  # a cell of another table
            return bool(block.traits & _NUMBER and places) and not texts
        near_size = any(CUT * other.size > block.size > other.size / CUT for other in places)
        return not any(count_common(block, other) >= (least if near_size else 1) for other in texts)

    def _gaps(self) -> Iterator[tuple[list[CoverBlock], list[CoverBlock]]]:
        """Yield the blocks that only one of the pages has, between those that both have in one order."""
        new, kept = self.compared, [block for block in self._kept if not block.traits & _NAME]
        place = {block.key: at for at, block in enumerate(kept)}
        new_keys = {block.key for block in decode_cover(self.new.cover)}
        matched = longest_increasing([(at, place[block.key]) for at, block in enumerate(new) if block.key in place])
        begin, kept_begin = 0, 0
        for end, kept_end in [*matched, (len(new), len(kept))]:
            lacking = [block for block in new[begin:end] if block.key not in self._visible_keys]
            if lacking:
                yield lacking, [block for block in kept[kept_begin:kept_end] if block.key not in new_keys]
            begin, kept_begin = end + 1, kept_end + 1

    @property
    def lacks_text_above(self) -> bool:
        """Whether the kept page lacks more than a caption of the longer blocks above the new main text, links left out.

        Such a main text is rather what the pages of many hosts have below their subject: a consent text.
        """
        above = takewhile(lambda row: not row.block.traits & _MAIN, self._new_rows)
        texts = [row.block for row in above if not (row.block.is_fact or row.block.traits & _ENTRY)]
        return size_of(block for block in texts if block.key not in self._visible_keys) > CAPTION

    def find_missing_headings(self, *, beside_text: bool) -> Sequence[CoverBlock]:
        """Return those headings that the kept page lacks, if the new page has several texts, each under a heading.

        Only headings that are links, or outside the main text, count.

        Args:
            beside_text: whether headings outside the main text count, which may belong to a frame.
        """
        headings = [
            row.block
            for row in self._new_rows
            if row.block.traits & _HEADING
            and not row.block.traits & _NAME
            and row.hash not in self.site.common
            and row.block.size >= DISTINCTIVE_HEADING
            and (
                row.block.traits & (_MAIN | _ENTRY) == _MAIN | _ENTRY or (beside_text and not row.block.traits & _MAIN)
            )
        ]
        return [block for block in headings if block.key not in self._visible_keys] if len(headings) > 1 else ()


def _is_edit(new: CoverBlock, kept: CoverBlock, least: int) -> bool:
    """Return whether two longer blocks have *least* min-hashes in common, and *kept* the numbers and names of *new*."""
    has_facts = not (lacks_numbers(new, kept) or lacks_names(new, kept, is_part=is_part_of(new, kept)))
    return has_facts and count_common(new, kept) >= least


def is_part_of(new: CoverBlock, kept: CoverBlock) -> bool:
    """Return whether a block is so much shorter than the kept one that it is rather a part of it."""
    return kept.size > GROWTH * new.size + GROWTH_LETTERS


def _has_other_numbers(block: CoverBlock, kept: Sequence[CoverBlock]) -> bool:
    """Return whether the same text with other numbers is in the place of *block*."""
    same = [
        other
        for other in kept
        if not other.is_fact
        and other.size <= SAME_TEXT * block.size
        and block.size <= SAME_TEXT * other.size
        and count_common(block, other) >= ALIKE
    ]
    return bool(same) and all(lacks_numbers(block, other) for other in same)


def size_of(blocks: Iterable[CoverBlock | PackedBlock]) -> int:
    """Return the size of *blocks*, in letters."""
    return sum([block.size for block in blocks])


def longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of *pairs*, ascending by their first numbers, in which the second numbers rise, too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for at, (_, kept) in enumerate(pairs):
        length = bisect_left(ends, kept)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [kept]
        last[length : length + 1] = [at]
    rising = []
    at = last[-1] if last else -1
    while at >= 0:
        rising.append(pairs[at])
        at = before[at]
    return rising[::-1]
