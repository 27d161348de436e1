"""The decision table: may a new page be dropped because of a kept page?

One ordered table of rules. Each rule looks at the pair and calls it a duplicate, calls it different, or leaves it to
the next rule; the name of the rule that decides goes into the decision. Rules look only at the two signed pages and at
what is known about their sites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from crawler_dedup.decision import Match
from crawler_dedup.rules.comparison import size_of
from crawler_dedup.rules.limits import MAX_LIST_VARIANTS
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import is_list
from crawler_dedup.signedpage import SignedPage


@dataclass(frozen=True)
class Rule:
    """A row of the table.

    Attributes:
        name: the name of the rule in decisions, journals and statistics.
        applies: returns whether the rule decides about a pair; if not, the next rule is asked.
        describe: returns in a few words what was measured for that. Called to explain a decision, never to make it.
        is_duplicate: what the rule decides: whether the new page is a duplicate of the kept one.
    """

    name: str
    applies: Callable[[Pair], bool]
    describe: Callable[[Pair], str]
    is_duplicate: bool = False


def _has_same_bytes(pair: Pair) -> bool:
    # The same bytes at another path may lead elsewhere, by relative links.
    return pair.new.digest == pair.kept.digest and (pair.same_links or not pair.links_decide)


# Descriptions of what the predicates measure


def _describe_links(pair: Pair) -> str:
    if not pair.links_decide:
        return "links that are followed anyway"
    return "the same links" if pair.same_links else "all links known" if pair.links_covered else "other links"


def _describe_bytes(pair: Pair) -> str:
    return f"{'the same' if pair.new.digest == pair.kept.digest else 'other'} bytes, {_describe_links(pair)}"


def _describe_signatures(pair: Pair) -> str:
    if pair.are_thin:
        return "not asked about thin pages"
    if not pair.are_texts:
        return "a text and a thin page are not compared"
    if pair.agreement is None:
        return "the titles name the same parts" if pair.is_named_alike else "they do not agree"
    if pair.distance is None:
        return f"{pair.scheme.name} finds the same text"
    return f"{pair.distance} bits, limit {pair.config.max_distance}"


def _describe_titles(pair: Pair) -> str:
    return "the same title" if pair.same_title else "the same blocks and links" if pair.is_twin else "other titles"


def _describe_own_size(pair: Pair) -> str:
    return f"{size_of(pair.own)} letters of its own" if pair.are_thin else "it has a main text"


def _describe_coverage(pair: Pair) -> str:
    missing = len(pair.missing)
    lacks = f"the kept page lacks {missing} block{'s' * (missing > 1)}"
    return lacks if missing else "every own block is on the kept page"


def _describe_list(pair: Pair) -> str:
    hosts = "one host" if pair.same_host else "two hosts"
    return f"{'a list' if is_list(pair.new) else 'no list'}, {hosts}, {_describe_links(pair)}"


# The table

SAME_BYTES = "same bytes"
OTHER_LINKS = "other links"
TOO_MANY_VARIANTS = "too many variants of a list"

TABLE: tuple[Rule, ...] = (
    Rule(
        "too little text",
        lambda pair: bool(pair.new.unsigned or pair.kept.unsigned),
        lambda pair: pair.new.unsigned or pair.kept.unsigned,
    ),
    Rule(SAME_BYTES, _has_same_bytes, _describe_bytes, is_duplicate=True),
    Rule("signatures far apart", lambda pair: pair.signatures_far_apart, _describe_signatures),
    Rule("other titles", lambda pair: not (pair.same_title or pair.is_twin), _describe_titles),
    Rule("nothing of its own", lambda pair: pair.has_nothing_of_its_own, _describe_own_size),
    Rule("not covered", lambda pair: not pair.is_covered, _describe_coverage),
    # One new link is reason enough to keep a list: it may lead to a page that was not crawled.
    Rule(OTHER_LINKS, lambda pair: pair.links_lead_further, _describe_list),
    Rule("alike", lambda _: True, lambda _: "", is_duplicate=True),
)
"""The rules in the order in which they are asked; the last one always decides."""


def decide(pair: Pair, rules: Sequence[Rule] = TABLE) -> tuple[str, bool]:
    """Return the name of the first of *rules* that decides, and whether it calls the new page a duplicate.

    The last of *rules* must always decide.
    """
    rule = next(rule for rule in rules if rule.applies(pair))
    return rule.name, rule.is_duplicate


def compare(pair: Pair) -> Match | None:
    """Return the match if the kept page covers the new one, else ``None``.

    Directional: a longer page is not covered by its excerpt.
    """
    rule, duplicate = decide(pair)
    return _match(rule, pair) if duplicate else None


def first_match(pairs: Iterable[Pair]) -> tuple[SignedPage, Match] | None:
    """Return the first kept page that covers the new one, with the match.

    A list with new links is not covered by any page, until :data:`~crawler_dedup.rules.limits.MAX_LIST_VARIANTS` are kept.
    """
    variants = 0
    for pair in pairs:
        rule, duplicate = decide(pair)
        if duplicate:
            return pair.kept, _match(rule, pair)
        variants += rule == OTHER_LINKS and not pair.is_revisit
        if variants == MAX_LIST_VARIANTS:
            return pair.kept, _match(TOO_MANY_VARIANTS, pair)
    return None


def _match(rule: str, pair: Pair) -> Match:
    return Match(rule, pair.distance, *pair.shares)
