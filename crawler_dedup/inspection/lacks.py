"""Name what a kept page lacks of a new page: a fact, another number or name in a sentence, a heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from crawler_dedup.decision import Match
from crawler_dedup.index.index import Index
from crawler_dedup.inspection.compare import InspectedPage, inspect_page
from crawler_dedup.inspection.sites import PairSites
from crawler_dedup.rules.cover import is_part_of
from crawler_dedup.rules.limits import ALONE_ALIKE, SAME_TEXT
from crawler_dedup.rules.matcher import Comparing, RuleMatcher
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.table import NAMES, decide
from crawler_dedup.rules.trimming import trim
from crawler_dedup.signedpage import PageKind, SignedPage, Trait
from crawler_dedup.signing.cover import (
    LONG,
    CoverBlock,
    count_common,
    decode_cover,
    keys_of_texts,
    lacks_names,
    lacks_numbers,
)
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.lines import find_facts
from crawler_dedup.signing.names import NAME_BITS, find_names
from crawler_dedup.signing.signer import Signer

if TYPE_CHECKING:
    from crawler_dedup.index.profiles import Snapshot
    from crawler_dedup.warc.droppedpage import DroppedPage

_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_KINDS = {Trait.EMBEDDED: "a picture or the like", Trait.HEADING: "a heading", Trait.ENTRY: "a link"}


@dataclass(frozen=True)
class Lack:
    """A block of the new page that the kept page lacks.

    Attributes:
        kind: what it is, in words.
        text: its text or, of a sentence that the kept page has with another number or name, this number or name;
            ``""`` if it is not known.
        letters: the size of the block, in letters.
    """

    kind: str
    text: str
    letters: int


def find_lacks(new: InspectedPage, pair: Pair) -> list[Lack]:
    """Return what the kept page of *pair* lacks of the *new* page.

    Nothing for a page that is visited again, which is compared by its words, and for a text and a thin page.
    """
    if pair.new.unsigned or pair.kept.unsigned or pair.new.key == pair.kept.key:
        return []
    if pair.are_thin:
        thin = pair.missing_blocks
        return [Lack(_kind_of(block.traits, block.size), new.blocks.get(block.hash, ""), block.size) for block in thin]
    if not pair.new.kind is pair.kept.kind is PageKind.TEXT:
        return []
    missing = pair.cover.with_hashes([*pair.missing_headings, *pair.cover.missing])
    return [_name_lack(block, new.blocks.get(number, ""), pair) for number, block in missing]


def find_compared(new: InspectedPage, pair: Pair) -> frozenset[str]:
    """Return those blocks of the *new* page that the rules look for on the kept page of *pair*."""
    hashes: Iterable[int] = ()
    if pair.new.unsigned or pair.kept.unsigned or pair.new.key == pair.kept.key:
        pass  # compared not at all, or by its words
    elif pair.are_thin:
        hashes = new.blocks.keys() - pair.site_of_new.furniture
    elif pair.are_texts:
        hashes = (number for number, _ in pair.cover.with_hashes([*pair.missing_headings, *pair.cover.compared]))
    return frozenset(new.blocks.get(number, "") for number in hashes)


def find_edits(new: InspectedPage, pair: Pair) -> list[Lack]:
    """Return the blocks of the *new* page that the kept page of *pair*, which covers it, has in other words.

    The index has sketches of the blocks of the kept page and not their words, so that some changes of single words are
    overlooked.
    """
    if not pair.new.kind is pair.kept.kind is PageKind.TEXT:
        return []
    edited = pair.cover.with_hashes(pair.cover.differing)
    return [Lack("a text in these words", new.blocks.get(number, ""), block.size) for number, block in edited]


def inspect_stored(
    dropped: DroppedPage, kept: SignedPage, signer: Signer, sites: PairSites
) -> tuple[InspectedPage, list[Lack]]:
    """Return a dropped page that is in a WARC file, and what its representative lacks of it, also words of a block."""
    drop = dropped.drop
    new = inspect_page(signer, drop.url, dropped.body, drop.charset or None, scope=drop.scope)
    pair = sites.pair_up(new.page, kept, signer)
    return new, [*find_lacks(new, pair), *find_edits(new, pair)]


def swap_pages(pair: Pair, kept: InspectedPage) -> Pair:
    """Return the pair in which the *kept* page of *pair* is the new page, and its new page is kept."""
    return Pair(kept.page, trim(pair.new), pair.max_distance, pair.scheme, pair.kept_site, pair.new_site)


def _kind_of(traits: int, size: int) -> str:
    named = (name for trait, name in _KINDS.items() if traits & trait)
    return next(named, "a fact" if size <= LONG else "a text")


def _name_lack(block: CoverBlock, text: str, pair: Pair) -> Lack:
    """Name what is missing of a *block*: if the kept page has the same sentence with other facts, only these."""
    texts = [
        kept
        for kept in decode_cover(pair.kept.cover)
        if not (kept.is_fact or block.is_fact) and block.size <= SAME_TEXT * kept.size
    ]
    # Of fifty unrelated texts, one often has as much in common as an edit may have.
    nearest = max(texts, key=lambda kept: count_common(block, kept), default=None)
    if nearest is not None and count_common(block, nearest) > ALONE_ALIKE:
        facts = [fact for fact in find_facts(normalise(text)) if lacks_numbers(_block_of([fact]), nearest)]
        if facts or (lacks_numbers(block, nearest) and not text):
            shortest = [fact for fact in facts if not any(other != fact and other in fact for other in facts)]
            return Lack("another number in a sentence", ", ".join(dict.fromkeys(shortest)), block.size)
        if pair.cover.is_strict and lacks_names(block, nearest, is_part=is_part_of(block, nearest)):
            words = dict.fromkeys(_WORD.findall(text))
            names = [word for word in words if lacks_names(_block_of([], word, block.needed), nearest, is_part=True)]
            if names or lacks_names(block._replace(needed=block.needed & NAME_BITS), nearest, is_part=True):
                return Lack("another name in a sentence", ", ".join(names), block.size)
            return Lack("a sentence that is negated on one of the pages only", text, block.size)
    return Lack(_kind_of(block.traits, block.size), text, block.size)


def _block_of(numbers: list[str], name: str = "", needed: int = 0) -> CoverBlock:
    """Return a block that has only *numbers*, and a *name* if it is among those that are *needed*."""
    names = find_names(f"a {name}")[0] & needed & NAME_BITS
    return CoverBlock(keys_of_texts([(b"", numbers, 0)])[0], 0, 0, names)


def find_nearest(pages: Index, signer: Signer, page: SignedPage, recorded: str) -> Pair | None:
    """Return *page* with the other kept page that gets furthest in the rule table, by what the index knows of the sites now.

    Of several such pages it is the one that a crawl compares first.

    Args:
        recorded: the address under which the page was kept, from which it may be redirected now.
    """
    others = _list_candidates(pages, signer, page, recorded)
    return max(others, key=lambda pair: NAMES.index(decide(pair)[0]), default=None)


def find_similar(pages: Index, comparing: Comparing, page: SignedPage) -> str:
    """Return the address of the other kept page that resembles a kept *page* most; ``""`` if there is no candidate.

    It goes by resemblance: the index no longer has all that the rules need of a new page.
    """
    others = _list_candidates(pages, comparing, page, page.url)
    nearest = max(others, key=lambda pair: pair.resemblance, default=None)
    return "" if nearest is None else nearest.kept.url


def _list_candidates(pages: Index, comparing: Comparing, page: SignedPage, recorded: str) -> list[Pair]:
    """Return *page* with each other kept page that a crawl would compare it with, in the same order."""
    matcher = _RecordingMatcher(comparing)
    pages.preview(msgspec.structs.replace(page, key=""), matcher)
    return [pair for pair in matcher.pairs if pair.kept.url not in (page.url, recorded)]


class _RecordingMatcher(RuleMatcher):
    """Notes the pairs that would be compared, and calls none a duplicate."""

    def __init__(self, comparing: Comparing) -> None:
        super().__init__(comparing)
        self.pairs: list[Pair] = []

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        self.pairs += self.pair_up(new, kept, snapshot_of)
        return None
