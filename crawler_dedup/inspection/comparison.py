"""All that is known about how two pages agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crawler_dedup.inspection.compare import InspectedPage, RuleResult, SignatureResult, apply_rules, compare_signatures
from crawler_dedup.inspection.lacks import Lack, find_compared, find_lacks, swap_pages
from crawler_dedup.rules.filing import is_list
from crawler_dedup.rules.pair import Pair


@dataclass(frozen=True)
class ComparedPage:
    """One of the two pages of a comparison; ``None``: texts that were not asked for."""

    url: str
    title: str
    kind: str
    unsigned: str
    chars: int
    features: int
    links: int
    is_list: bool
    signature: str
    text: str | None
    beside: Sequence[str] | None
    boilerplate: Sequence[str] | None
    tokens_only_here: Mapping[str, int]


@dataclass(frozen=True)
class Comparison:
    """Two pages and how they agree; a measure is ``None`` if a page could not be signed."""

    new: ComparedPage
    kept: ComparedPage
    duplicate: bool | None
    rule: str | None
    distance: int | None
    signatures: SignatureResult | None
    kept_lacks: Sequence[Lack]
    new_lacks: Sequence[Lack]
    same_links: bool | None
    snapshot: int
    kept_snapshot: int
    rules: Sequence[RuleResult]


def compare_pages(new: InspectedPage, kept: InspectedPage, pair: Pair, *, brief: bool = False) -> Comparison:
    """Compare two pages; *brief*: without their texts."""
    swapped = swap_pages(pair, kept)
    is_signed = not (pair.new.unsigned or pair.kept.unsigned)
    rules = apply_rules(pair)
    deciding = next((rule for rule in rules if is_signed and rule.decides), None)
    return Comparison(
        new=_describe_page(new, kept, pair, brief=brief),
        kept=_describe_page(kept, new, swapped, brief=brief),
        duplicate=deciding.duplicate if deciding else None,
        rule=deciding.rule if deciding else None,
        distance=pair.distance if is_signed else None,
        signatures=compare_signatures(pair),
        kept_lacks=find_lacks(new, pair, kept),
        new_lacks=find_lacks(kept, swapped, new),
        same_links=pair.same_links if is_signed else None,
        snapshot=pair.new_site.number,
        kept_snapshot=pair.kept_site.number,
        rules=rules,
    )


def _describe_page(inspected: InspectedPage, other: InspectedPage, pair: Pair, *, brief: bool) -> ComparedPage:
    page, compared = inspected.page, find_compared(inspected, pair)
    return ComparedPage(
        url=page.url,
        title=page.title,
        kind=page.kind.name.lower(),
        unsigned=page.unsigned,
        chars=page.chars,
        features=page.features,
        links=page.link_count,
        is_list=is_list(page),
        signature=f"{page.signature:016x}",
        text=None if brief else inspected.text,
        beside=None if brief else [text for text in inspected.beside if text in compared],
        boilerplate=None if brief else [text for text in inspected.beside if text not in compared],
        tokens_only_here=dict(inspected.tokens_missing_in(other)),
    )
