"""Pages that one host makes from one form, and the facts in them: the place of a job, the size of a shirt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.blocks import PackedBlock, Trait

FEW_FEATURES = 100
"""The short lines of a text with fewer features are kept, and compared one by one."""

_FACT = 60  # letters: in labelled duplicates that were edited, only longer lines differ
_LABEL = 24  # letters: "Place" or "Size"
_SAME_NUMBER, _SAME_SHARE = 2, 0.1
_HEADING, _MAIN = int(Trait.HEADING), int(Trait.MAIN)
_LINKED_HEADING, _NAMED = int(Trait.ENTRY | Trait.HEADING), int(Trait.HEADING | Trait.NAME)


class Fact(NamedTuple):
    """A short line of a form, and the line before it."""

    before: PackedBlock
    line: PackedBlock

    @property
    def has_label(self) -> bool:
        """Whether the line before it can be its label."""
        return self.before.size <= _LABEL and not self.before.traits & _HEADING


def same_form(new: SignedPage, kept: SignedPage) -> bool:
    """Return whether two pages have the same links, or about as many, with about as much text outside of the main texts.

    Of the labelled duplicates on one host, this is false only for two designs of one page.
    """
    if new.link_digest == kept.link_digest and new.link_count:
        return True
    outside_new, outside_kept = (page.link_chars - page.inner_link_chars for page in (new, kept))
    return _is_about(new.link_count, kept.link_count) and _is_about(outside_new, outside_kept)


def is_fact(block: PackedBlock) -> bool:
    """Return whether a block is a short line that is neither link nor heading."""
    return block.size <= _FACT and not block.traits & _LINKED_HEADING


def find_facts(blocks: Sequence[PackedBlock]) -> Iterator[Fact]:
    """Yield the facts of a page: short lines below the heading that names it, or else in its main text."""
    main = [place for place, block in enumerate(blocks) if block.traits & _MAIN]
    if not main:
        return
    names = [place for place in range(main[0] + 1) if blocks[place].traits & _NAMED == _NAMED]
    for before, block in pairwise(blocks[max(names, default=main[0]) : main[-1] + 1]):
        if is_fact(block):
            yield Fact(before, block)


def _is_about(new: int, kept: int) -> bool:
    return abs(new - kept) <= max(_SAME_NUMBER, _SAME_SHARE * max(new, kept))
