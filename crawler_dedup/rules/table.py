"""New page against kept page: may the new one be dropped because the other is kept?

One ordered table of rules. Each rule looks at the pair and calls it a duplicate, calls it different, or leaves it to
the next rule; the name of the rule that decides goes into the decision. Rules look at the two signed pages and at what
is known of their sites, at nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from crawler_dedup.decision import Match
from crawler_dedup.rules.pair import Pair, is_list
from crawler_dedup.signedpage import PageKind, SignedPage

_CONTENT_LINKS = 2  # one may be the way back


@dataclass(frozen=True)
class Rule:
    """A row of the table.

    Attributes:
        name: what decisions, journals and statistics call it.
        predicate: whether the new page is a duplicate of the kept one; ``None`` leaves that to the next rule.
        describe: says in a few words what the predicate measures. Called to explain a decision, never to make it.
    """

    name: str
    predicate: Callable[[Pair], bool | None]
    describe: Callable[[Pair], str]


# Predicates


def _same_bytes(pair: Pair) -> bool | None:
    if pair.new.digest != pair.kept.digest:
        return None
    # Relative links of the same bytes at another path lead elsewhere.
    return pair.same_links


def _same_list(pair: Pair) -> bool | None:
    if pair.new.kind is not PageKind.LIST:
        return None
    # A list is known by where it leads, but navigation leads everywhere from the whole site.
    known_by_links = pair.new_site.is_known and len(pair.new_content_links) >= _CONTENT_LINKS
    words = pair.same_words or (known_by_links and pair.same_title and pair.nearly_same_words)
    return pair.same_links and pair.same_links_or_pictures_visible and words and (known_by_links or pair.same_title)


def _same_short_page(pair: Pair) -> bool | None:
    if pair.new.kind is not PageKind.SHORT:
        return None
    # The signature is made of title, words and pictures.
    visible = pair.same_words_visible and pair.same_links_or_pictures_visible
    return pair.new.signature == pair.kept.signature and visible and pair.links_covered


def _different_if(condition: Callable[[Pair], bool]) -> Callable[[Pair], bool | None]:
    return lambda pair: False if condition(pair) else None


# What they measure


def _describe_links(pair: Pair) -> str:
    return "the same links" if pair.same_links else "all links known" if pair.links_covered else "other links"


def _describe_bytes(pair: Pair) -> str:
    return f"{'the same' if pair.new.digest == pair.kept.digest else 'other'} bytes, {_describe_links(pair)}"


def _describe_kinds(pair: Pair) -> str:
    return f"{pair.new.kind.name.lower()} and {pair.kept.kind.name.lower()}"


def _describe_links_and_words(pair: Pair) -> str:
    hidden = "" if pair.same_links_or_pictures_visible else ", other ones hidden"
    return f"{_describe_links(pair)}, {'the same' if pair.same_words else 'other'} words{hidden}"


def _describe_list_content(pair: Pair) -> str:
    return f"{_describe_links_and_words(pair)}, {_describe_titles(pair)}"


def _describe_signatures(pair: Pair) -> str:
    if pair.agreement is None:
        return "they do not agree"
    if pair.distance is None:
        return f"{pair.scheme.name} sees one text"
    return f"{pair.distance} bits, limit {pair.limits.max_distance}"


def _describe_titles(pair: Pair) -> str:
    return "the same title" if pair.same_title else "renamed" if pair.is_retitled_copy else "other titles"


def _describe_numbers(pair: Pair) -> str:
    return "hardly a number in common" if pair.numbers_differ else "no two tables"


def _describe_least(pair: Pair, least: float) -> str:
    return f"least {least:.2f}" if pair.is_estimated else f"decided by {pair.scheme.spec}"


def _describe_resemblance(pair: Pair) -> str:
    return f"resemblance {pair.resemblance:.2f}, {_describe_least(pair, pair.limits.min_resemblance)}"


def _describe_coverage(pair: Pair) -> str:
    least = pair.limits.min_coverage
    visible = f"; of what is shown {pair.visible_coverage:.2f}, least {least:.2f}" if pair.any_partly_hidden else ""
    return f"coverage {pair.coverage:.2f}, {_describe_least(pair, least)}{visible}"


def _describe_list(pair: Pair) -> str:
    hosts = "one host" if pair.same_host else "two hosts"
    return f"{'a list' if is_list(pair.new) else 'no list'}, {hosts}, {_describe_links(pair)}"


# The table

SAME_BYTES = "same bytes"
OTHER_LINKS = "lists with other links"
TOO_MANY_VARIANTS = "too many variants of a list"

TABLE: tuple[Rule, ...] = (
    Rule(
        "too little text",
        _different_if(lambda pair: bool(pair.new.unsigned or pair.kept.unsigned)),
        lambda pair: pair.new.unsigned or pair.kept.unsigned,
    ),
    Rule(SAME_BYTES, _same_bytes, _describe_bytes),
    Rule("other kinds of page", _different_if(lambda pair: pair.new.kind is not pair.kept.kind), _describe_kinds),
    Rule("same list", _same_list, _describe_list_content),
    Rule("same short page", _same_short_page, _describe_links_and_words),
    Rule("signatures far apart", _different_if(lambda pair: pair.signatures_far_apart), _describe_signatures),
    Rule(
        "other titles",
        _different_if(lambda pair: not pair.same_title and not pair.is_retitled_copy),
        _describe_titles,
    ),
    Rule("other numbers", _different_if(lambda pair: pair.numbers_differ), _describe_numbers),
    Rule(
        "other words",
        _different_if(lambda pair: pair.is_estimated and pair.resemblance < pair.limits.min_resemblance),
        _describe_resemblance,
    ),
    Rule("not covered", _different_if(lambda pair: not pair.words_covered), _describe_coverage),
    # One new link is reason enough to keep a list: behind it stands a page that nobody has seen.
    # Between two hosts links say nothing: mirrors differ in them.
    Rule(
        OTHER_LINKS,
        _different_if(lambda pair: is_list(pair.new) and pair.same_host and not pair.links_covered),
        _describe_list,
    ),
    Rule("alike", lambda _: True, lambda _: ""),
)
"""In the order in which they are asked; the last one always decides."""

NAMES = (*(rule.name for rule in TABLE), TOO_MANY_VARIANTS)
"""Every name by which a decision can name its rule."""

_VARIANTS = (SAME_BYTES, OTHER_LINKS)


def decide(pair: Pair, rules: Sequence[Rule] = TABLE) -> tuple[str, bool]:
    """Return the name of the first of *rules* that decides, and whether it calls the new page a duplicate.

    The last of *rules* must always decide.
    """
    for rule in rules:
        duplicate = rule.predicate(pair)
        if duplicate is not None:
            return rule.name, duplicate
    raise AssertionError("the last rule always decides")


def compare(pair: Pair) -> Match | None:
    """Return the match if the kept page covers the new one, else ``None``.

    Directional: a longer page is not covered by its excerpt.
    """
    rule, duplicate = decide(pair)
    return _match(rule, pair) if duplicate else None


def first_match(pairs: Iterable[Pair]) -> tuple[SignedPage, Match] | None:
    """Return the first kept page that covers the new one, with the match.

    A list with new links is covered by no page, nor are the same bytes where their links lead elsewhere, until as many
    variants are kept as the limits allow.
    """
    variants = 0
    for pair in pairs:
        rule, duplicate = decide(pair)
        if duplicate:
            return pair.kept, _match(rule, pair)
        if rule in _VARIANTS and pair.kept.key != pair.new.key:
            variants += 1
            if variants == pair.limits.max_list_variants:
                return pair.kept, _match(TOO_MANY_VARIANTS, pair)
    return None


def _match(rule: str, pair: Pair) -> Match:
    return Match(rule, pair.distance, pair.resemblance, pair.coverage)
