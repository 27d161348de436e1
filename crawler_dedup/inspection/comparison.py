"""All that is known about how two pages agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from crawler_dedup.decision import Match
from crawler_dedup.index.index import Index
from crawler_dedup.inspection.inspectedpage import (
    InspectedPage,
    inspect_page,
)
from crawler_dedup.inspection.journals import Journals
from crawler_dedup.inspection.journaltable import IS_DUPLICATE, JournalTable, number_of
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile, decode_profile, trim
from crawler_dedup.signedpage import SignedPage, Trait
from crawler_dedup.signing.blocks import IS_ADDRESS, PackedBlock
from crawler_dedup.signing.cover import cover_of
from crawler_dedup.signing.pagelines import SHORT
from crawler_dedup.signing.signer import Signer
from crawler_dedup.urls import text_without_credentials

if TYPE_CHECKING:
    from crawler_dedup.config import Config
    from crawler_dedup.index.profiles import Snapshot
    from crawler_dedup.journal.entry import Entry
    from crawler_dedup.signing.schemes import Scheme


@dataclass(frozen=True)
class PairSites:
    """The profiles of the sites of two pages.

    Attributes:
        new: the profile of the site of the page that may be dropped.
        kept: the profile of the site of the page that would represent it.
        source: a sentence that says from which time the profiles are.
        links_followed: whether a crawl would follow the links of the new page although it is dropped; ``None``: the
            configuration says so.
    """

    new: SiteProfile = UNKNOWN_SITE
    kept: SiteProfile = UNKNOWN_SITE
    source: str = "Nothing is known about the sites."
    links_followed: bool | None = None

    def pair_up(self, new: SignedPage, kept: SignedPage, signer: Signer) -> Pair:
        """Return the pair in which *kept* may represent *new*."""
        if self.links_followed is not None:
            new = msgspec.structs.replace(new, links_followed=self.links_followed)
        return Pair(new, trim(kept), signer.config, signer.scheme, self.new, self.kept)


_KNOWN_NOW = "The rules used what the index now knows about the sites."
_AS_THEN = "The rules used what was known about the sites at the time of the decision."


def find_sites_then(pages: Index, entry: Entry) -> PairSites:
    """Find the profiles at the time of the decision of *entry*, a duplicate; if they are lost, the present profiles."""
    new, kept = (
        None if number is None else pages.find_snapshot(entry.scope, url, number, entry.seconds)
        for url, number in ((entry.url, entry.snapshot), (entry.duplicate_of, entry.kept_snapshot))
    )
    if new is None or kept is None:
        present = find_sites_now(pages, entry.scope, entry.url, entry.duplicate_of)
        source = f"{present.source} What was known at the time of the decision is no longer kept."
        return replace(present, source=source, links_followed=entry.links_followed)
    return PairSites(decode_profile(new.content), decode_profile(kept.content), _AS_THEN, entry.links_followed)


def find_sites(pages: Index, journals: Journals, scope: str, new: str, kept: str) -> PairSites:
    """Find the profiles at the time when *new* was last called a duplicate of *kept* in *scope*, or else the present ones.

    Raises:
        DedupError: index or journal cannot be read.
    """
    with closing(JournalTable()) as table:
        table.read_journals(journals)
        last = table.find_latest(f"pair = ? AND {IS_DUPLICATE}", [number_of(scope, new, kept)])
    return find_sites_now(pages, scope, new, kept) if last is None else find_sites_then(pages, last)


def find_sites_now(pages: Index, scope: str, new: str, kept: str) -> PairSites:
    """Find the present profiles of the sites of two addresses."""
    new_site, kept_site = (decode_profile(pages.latest_snapshot(scope, url).content) for url in (new, kept))
    unknown = f"The index knows nothing about these sites in the scope “{scope}” (`index stats` lists the scopes)."
    return PairSites(new_site, kept_site, _KNOWN_NOW if new_site.number or kept_site.number else unknown)


_KINDS = {Trait.EMBEDDED: "a picture or the like", Trait.HEADING: "a heading", Trait.ENTRY: "a link"}
_SAME_WORDS = "the same words, written differently"
_TOGETHER = "compared together with others: the page has too many blocks"


@dataclass(frozen=True)
class Lack:
    """A block of the new page that the kept page lacks.

    Attributes:
        kind: what it is, in words.
        text: its text, without the user names and passwords of addresses in it; ``""`` if it is not known.
        letters: the size of the block, in letters.
        exemption: why it does not count; ``""`` if it does.
    """

    kind: str
    text: str
    letters: int
    exemption: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", text_without_credentials(self.text))


def find_lacks(new: InspectedPage, pair: Pair, kept: InspectedPage | None = None) -> list[Lack]:
    """Return every block of the *new* page that the kept page of *pair* lacks, those that count first.

    Also every other line that the kept page does not show, such as a count, or a date in another notation. If the blocks are
    not compared (a page is not signed, or a text and a thin page), these lines are returned alone.

    Args:
        kept: the kept page with its texts; ``None``: its texts are not known.
    """
    are_compared = not (pair.new.unsigned or pair.kept.unsigned) and pair.new.kind is pair.kept.kind
    blocks = [*pair.blocks] if are_compared else []
    lacking = {
        block.hash: Lack(_kind_of(block), new.blocks.get(block.hash, ""), block.size, exemption)
        for block, is_there, exemption in blocks
        if not is_there and (block.size or block.traits & IS_ADDRESS == Trait.EMBEDDED)
    }
    numbers = {block.hash for block, *_ in blocks}
    lacks = list(lacking.values())
    shown = {"", *(lack.text for lack in lacks), *(line.text for line in (kept.lines if kept else ()))}
    for line in new.lines:
        lack = lacking.get(line.number)  # of another line with the same words
        text = text_without_credentials(line.text)
        if not shown.intersection((text, line.text)) and (kept or lack or line.exemption or not blocks):
            same = _SAME_WORDS if line.number in numbers else _TOGETHER if blocks else ""
            lacks.append(Lack("a line", text, len(text), lack.exemption if lack else line.exemption or same))
        shown.add(text)
    return sorted(lacks, key=lambda lack: bool(lack.exemption))


def find_drop_lacks(drop: Entry, new: bytes, kept: bytes | SignedPage, signer: Signer, sites: PairSites) -> list[Lack]:
    """Return what the representative of a *drop* lacks.

    Args:
        new: the dropped page as HTML that declares its charset.
        kept: the representative as such HTML, or as the index has it.
    """
    new_page = inspect_page(signer, drop.url, new, scope=drop.scope)
    if isinstance(kept, SignedPage):
        return find_lacks(new_page, sites.pair_up(new_page.page, kept, signer))
    kept_page = inspect_page(signer, drop.duplicate_of, kept, scope=drop.scope)
    return find_lacks(new_page, sites.pair_up(new_page.page, kept_page.page, signer), kept_page)


def swap_pages(pair: Pair, kept: InspectedPage) -> Pair:
    """Return the pair in which the *kept* page of *pair* is the new page, and its new page is kept."""
    return replace(pair, new=kept.page, kept=trim(pair.new), new_site=pair.kept_site, kept_site=pair.new_site)


def _kind_of(block: PackedBlock) -> str:
    named = (name for trait, name in _KINDS.items() if block.traits & trait)
    return next(named, "a fact" if block.size <= SHORT else "a text")


def find_similar(pages: Index, config: Config, scheme: Scheme, page: SignedPage) -> str:
    """Return the address of the other kept page that has most blocks of a kept *page*; ``""`` if there is no candidate.

    The index no longer has all that the rules need of a new page.
    """
    matcher, shown = _RecordingMatcher(config, scheme), cover_of(page).shown
    pages.preview(msgspec.structs.replace(page, key=""), matcher)
    others = [pair.kept for pair in matcher.pairs if pair.kept.url != page.url]
    return max(others, key=lambda other: len(shown & cover_of(other).shown)).url if others else ""


class _RecordingMatcher(RuleMatcher):
    """Notes the pairs that would be compared, and calls none a duplicate."""

    def __init__(self, config: Config, scheme: Scheme) -> None:
        super().__init__(config, scheme)
        self.pairs: list[Pair] = []

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        self.pairs += self.pair_up(new, kept, snapshot_of)
        return None
