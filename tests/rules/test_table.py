from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from crawler_dedup import Config, SignedPage
from crawler_dedup.rules.pair import Pair, is_list, needs_links
from crawler_dedup.rules.sites import MIN_PAGES, UNKNOWN_SITE, SiteCounts, SiteProfile
from crawler_dedup.rules.table import NAMES, TABLE, compare, decide, first_match
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.sketch import resemblance, sketch
from tests.support.signedpages import HASHES, LIMITS, PAGE, SIMHASH, kept, links, new, numbers, words

MANY = {"chars": 1000, "inner_link_chars": 500}
"""Makes a page with text a list."""
LIST = {"kind": PageKind.LIST, "chars": 0}
SHORT = {"kind": PageKind.SHORT, "chars": 0, "signature": 77}


def known_site(*navigation: int, title: str = "Tea House") -> SiteProfile:
    """A site of which enough was seen: these links and this part of the title stand on all of its pages."""
    counts = SiteCounts()
    for number in range(MIN_PAGES):
        counts.add(kept(title=f"Story {number} | {title}", **links(*navigation, 1000 + number)))
    assert counts.is_due
    return counts.publish()


TEA = known_site(1, 2)

Case = tuple[Pair, str, bool]


def case(
    new: SignedPage,
    kept: SignedPage,
    row: str,
    duplicate: bool,
    new_site: SiteProfile = UNKNOWN_SITE,
    kept_site: SiteProfile = UNKNOWN_SITE,
) -> Case:
    return Pair(new, kept, LIMITS, SIMHASH, new_site, kept_site), row, duplicate


def on_the_site(new: SignedPage, kept: SignedPage, row: str, duplicate: bool) -> Case:
    return case(new, kept, row, duplicate, TEA, TEA)


OTHER_HOST = "http://mirror.net/"

CASES = {
    # Pages without a signature
    "new unsigned": case(new(unsigned="too little text"), PAGE, "too little text", False),
    "kept unsigned": case(PAGE, new(unsigned="too many nodes"), "too little text", False),
    # Equal bytes
    "equal": case(PAGE, PAGE, "same bytes", True),
    "equal with other links": case(kept(**links(1, 2, 4)), PAGE, "same bytes", False),
    "equal at another host": case(kept(url=OTHER_HOST), PAGE, "same bytes", True),
    # Kinds
    "text and list": case(new(), kept(**LIST), "other kinds of page", False),
    "list and text": case(new(**LIST), PAGE, "other kinds of page", False),
    "short page and list": case(new(**SHORT), kept(**LIST), "other kinds of page", False),
    # Lists of a site that is not known
    "list": case(new(**LIST), kept(**LIST), "same list", True),
    "list with another signature": case(new(**LIST, signature=2**64 - 1), kept(**LIST), "same list", True),
    "list with a link less": case(new(**LIST, **links(1, 2)), kept(**LIST), "same list", False),
    "list with another title": case(new(**LIST, title="Brewing | Tea House"), kept(**LIST), "same list", False),
    "list with another word": case(new(**LIST, **words(0, 60)), kept(**LIST, **words(0, 61)), "same list", False),
    # Lists of a known site
    "list known by its links": on_the_site(
        new(**LIST, title="Brewing | Tea House", **links(1, 2, 3, 4)),
        kept(**LIST, **links(1, 2, 3, 4)),
        "same list",
        True,
    ),
    "list known by its links, of other text": on_the_site(
        new(**{**LIST, **links(1, 2, 3, 4), **words(0, 60)}),
        kept(**{**LIST, **links(1, 2, 3, 4), **words(0, 56)}),
        "same list",
        False,
    ),
    "list known by its links, of nearly the same text": on_the_site(
        new(**{**LIST, **links(1, 2, 3, 4), **words(0, 60)}),
        kept(**{**LIST, **links(1, 2, 3, 4), **words(0, 58)}),
        "same list",
        True,
    ),
    "list known by its links, of nearly the same text with another title": on_the_site(
        new(**{**LIST, **links(1, 2, 3, 4), **words(0, 60)}, title="Brewing | Tea House"),
        kept(**{**LIST, **links(1, 2, 3, 4), **words(0, 58)}),
        "same list",
        False,
    ),
    "list known by its links, of which one is new": on_the_site(
        new(**LIST, **links(1, 2, 3, 4, 5)), kept(**LIST, **links(1, 2, 3, 4)), "same list", False
    ),
    "list with nothing but navigation": on_the_site(
        new(**LIST, title="Brewing | Tea House", **links(1, 2, 3)), kept(**LIST, **links(1, 2, 3)), "same list", False
    ),
    # Short pages
    "short": case(new(**SHORT), kept(**SHORT), "same short page", True),
    "short with a word more": case(new(**{**SHORT, "signature": 78}), kept(**SHORT), "same short page", False),
    "short with a link less": case(new(**SHORT, **links(1, 2)), kept(**SHORT), "same short page", True),
    "short with a new link": case(new(**SHORT, **links(1, 2, 3, 4)), kept(**SHORT), "same short page", False),
    "short with other navigation": on_the_site(
        new(**SHORT, **links(1, 2, 3)), kept(**SHORT, **links(3, 5)), "same short page", True
    ),
    # Signatures
    "farthest": case(new(signature=0b111111), PAGE, "alike", True),
    "too far": case(new(signature=0b1111111), PAGE, "signatures far apart", False),
    # Titles
    "another title": case(
        new(title="Brewing | Tea House", **words(0, 99)), kept(**words(0, 99)), "other titles", False
    ),
    "another title, the very same words": case(new(title="Brewing | Tea House"), PAGE, "other titles", False),
    "another title, the very same words on another site": case(
        new(title="Brewing - Mirror", url=OTHER_HOST, **words(0, 100)), kept(**words(0, 100)), "alike", True
    ),
    "another title, a word less on another site": case(
        new(title="Brewing - Mirror", url=OTHER_HOST, **words(0, 199)), PAGE, "other titles", False
    ),
    "no title, the very same words on another site": case(new(title="", url=OTHER_HOST), PAGE, "other titles", False),
    "no title of its own": case(new(title=""), PAGE, "other titles", False),
    "nothing but the site's title": on_the_site(new(title="Tea House"), PAGE, "other titles", False),
    "kept without title": case(new(), kept(title=""), "alike", True),
    "kept with nothing but the site's title": on_the_site(new(), kept(title="Tea House"), "alike", True),
    "the site's title missing": on_the_site(
        new(title="How to steep leaves", **words(0, 99)), kept(**words(0, 99)), "alike", True
    ),
    "the title of another site": case(
        new(url=OTHER_HOST, title="How to steep leaves - Mirror", **words(0, 99)), kept(**words(0, 99)), "alike", True
    ),
    "a short title on another site": case(
        new(url=OTHER_HOST, title="Leaves - Mirror", **words(0, 99)),
        kept(title="Leaves | Tea House", **words(0, 99)),
        "other titles",
        False,
    ),
    "a short title on another known site": case(
        new(url=OTHER_HOST, title="Leaves - Mirror", **words(0, 99)),
        kept(title="Leaves | Tea House", **words(0, 99)),
        "alike",
        True,
        known_site(title="Mirror"),
        TEA,
    ),
    "a title that is cut short": case(
        new(title="How to steep leave… | Tea House", **words(0, 99)), kept(**words(0, 99)), "alike", True
    ),
    "another title on another site": case(
        new(url=OTHER_HOST, title="Brewing - Mirror", **words(0, 99)), kept(**words(0, 99)), "other titles", False
    ),
    "another title on another known site": case(
        new(url=OTHER_HOST, title="Tea House - Mirror", **words(0, 99)),
        kept(**words(0, 99)),
        "other titles",
        False,
        known_site(title="Mirror"),
        TEA,
    ),
    # Numbers
    "other numbers": case(new(numbers=numbers(0, 10)), kept(numbers=numbers(8, 18)), "other numbers", False),
    "three of ten numbers in common": case(new(numbers=numbers(0, 10)), kept(numbers=numbers(7, 17)), "alike", True),
    "five other numbers": case(new(numbers=numbers(0, 5)), kept(numbers=numbers(5, 55)), "other numbers", False),
    "four other numbers": case(new(numbers=numbers(0, 4)), kept(numbers=numbers(5, 55)), "alike", True),
    "no numbers": case(new(), kept(numbers=numbers(0, 10)), "alike", True),
    "many other numbers": case(new(numbers=numbers(0, 100)), kept(numbers=numbers(100, 200)), "other numbers", False),
    "many numbers, some in common": case(new(numbers=numbers(0, 100)), kept(numbers=numbers(50, 150)), "alike", True),
    # Words
    "other words": case(new(**words(500, 700)), PAGE, "other words", False),
    "a few other words": case(new(**words(10, 210)), PAGE, "alike", True),
    "longer": case(new(**words(0, 270)), PAGE, "not covered", False),
    "shorter": case(new(**words(0, 145)), PAGE, "alike", True),
    # Lists with a text
    "list with text": case(new(**MANY), kept(**MANY), "alike", True),
    "list with text and a new link": case(
        new(**MANY, **links(1, 2, 3, 4)), kept(**MANY), "lists with other links", False
    ),
    "list with text and a link less": case(new(**MANY, **links(1, 2)), kept(**MANY), "alike", True),
    "list with text and new navigation": on_the_site(new(**MANY), kept(**MANY, **links(3, 4)), "alike", True),
    "list with text and more links than are kept": case(
        new(**MANY, link_digest=b"others", links=b""), kept(**MANY), "lists with other links", False
    ),
    "list with text at another host": case(
        new(**MANY, **links(1, 2, 3, 4), url=OTHER_HOST), kept(**MANY), "alike", True
    ),
    "no list, with a new link": case(new(**links(1, 2, 3, 4)), kept(**MANY), "alike", True),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_row_that_speaks_decides(name: str) -> None:
    pair, row, duplicate = CASES[name]
    assert decide(pair) == (row, duplicate)
    match = compare(pair)
    assert (match is not None) == duplicate
    if match is not None:
        assert (match.rule, match.distance) == (row, pair.distance)
        assert (match.resemblance, match.coverage) == (pair.resemblance, pair.coverage)


@pytest.mark.parametrize("count", [0, 4])
def test_a_page_with_hardly_any_numbers_has_no_other_ones(count: int) -> None:
    pair = Pair(new(numbers=numbers(0, count)), kept(numbers=numbers(100, 165)), LIMITS, SIMHASH)
    assert decide(pair) == ("alike", True)


def test_every_row_decides_somewhere() -> None:
    deciding = {row for _, row, _ in CASES.values()}
    assert [rule.name for rule in TABLE if rule.name not in deciding] == []


def test_every_row_has_its_own_name() -> None:
    assert len(set(NAMES)) == len(NAMES) == len(TABLE) + 1


# Order


CONTRADICTIONS: dict[tuple[str, str], tuple[SignedPage, SignedPage]] = {
    ("too little text", "same bytes"): (kept(unsigned="too many nodes"), kept(unsigned="too many nodes")),
    ("same bytes", "other kinds of page"): (kept(**LIST), PAGE),
    ("same bytes", "signatures far apart"): (kept(signature=2**64 - 1), PAGE),
    ("other kinds of page", "same list"): (new(**LIST), PAGE),
    ("other kinds of page", "same short page"): (new(**SHORT), kept(signature=77)),
    ("same list", "signatures far apart"): (new(**LIST, signature=2**64 - 1), kept(**LIST)),
    ("same list", "alike"): (new(**LIST, **links(1, 2)), kept(**LIST)),
    ("same short page", "other words"): (new(**SHORT, **words(500, 700)), kept(**SHORT)),
    ("same short page", "alike"): (new(**SHORT), kept(**{**SHORT, "signature": 78})),
    ("lists with other links", "alike"): (new(**MANY, **links(4)), kept(**MANY)),
}


def predicate(name: str) -> Callable[[Pair], bool | None]:
    return next(rule.predicate for rule in TABLE if rule.name == name)


@pytest.mark.parametrize(("rows", "pages"), CONTRADICTIONS.items(), ids=[" – ".join(one) for one in CONTRADICTIONS])
def test_of_two_rows_that_contradict_each_other_the_upper_one_decides(
    rows: tuple[str, str], pages: tuple[SignedPage, SignedPage]
) -> None:
    pair = Pair(*pages, LIMITS, SIMHASH)
    upper, lower = (predicate(name)(pair) for name in rows)
    assert upper is not None
    assert lower is (not upper)
    assert decide(pair) == (rows[0], upper)


REASONS = [
    "signatures far apart",
    "other titles",
    "other numbers",
    "other words",
    "not covered",
    "lists with other links",
]


@pytest.mark.parametrize(("upper", "lower"), [*pairwise(REASONS)])
def test_a_list_with_other_links_is_a_variant_only_if_nothing_else_speaks_against_it(upper: str, lower: str) -> None:
    differences: dict[str, dict[str, Any]] = {
        "signatures far apart": {"signature": 2**64 - 1},
        "other titles": {"title": ""},
        "other numbers": {"numbers": numbers(20, 30)},
        "other words": words(500, 700),
        "not covered": words(0, 270),
        "lists with other links": links(4),
    }
    fields = {**differences[lower], **differences[upper]}
    pair = Pair(new(**MANY, **fields), kept(**MANY, numbers=numbers(0, 10)), LIMITS, SIMHASH)
    assert predicate(upper)(pair) is predicate(lower)(pair) is False
    assert decide(pair) == (upper, False)


# Direction


@pytest.mark.parametrize(
    ("covered", "covers"),
    [
        (words(0, 145), words(0, 200)),
        ({"title": "How to steep leaves | Tea House"}, {"title": ""}),
        ({**MANY, **links(1, 2)}, {**MANY, **links(1, 2, 3)}),
        ({**SHORT, **links(1, 2)}, {**SHORT, **links(1, 2, 3)}),
        (links(1, 2, 3, 4), {**MANY, **links(1, 2, 3, 5)}),
    ],
    ids=["excerpt", "start page", "list", "short page", "page and list"],
)
def test_what_covers_a_page_need_not_be_covered_by_it(covered: dict[str, Any], covers: dict[str, Any]) -> None:
    one, other = new(**covered), kept(**covers)
    assert compare(Pair(one, other, LIMITS, SIMHASH)) is not None
    assert compare(Pair(other, one, LIMITS, SIMHASH)) is None


def test_an_excerpt_is_covered_more_than_it_resembles() -> None:
    match = compare(Pair(new(**words(0, 145)), PAGE, LIMITS, SIMHASH))
    assert match is not None
    assert match.rule == "alike"
    assert match.coverage > match.resemblance


# Limits


def test_limits_move_the_rows() -> None:
    far, longer = new(signature=0b1111111), new(**words(0, 270))
    assert compare(Pair(far, PAGE, Config(max_distance=7), SIMHASH)) is not None
    assert compare(Pair(far, PAGE, Config(max_distance=0), SIMHASH)) is None
    assert compare(Pair(longer, PAGE, Config(min_coverage=0.5), SIMHASH)) is not None
    assert decide(Pair(longer, PAGE, Config(min_resemblance=0.95), SIMHASH)) == ("other words", False)
    assert compare(Pair(longer, PAGE, Config(min_resemblance=0, min_coverage=0), SIMHASH)) is not None


# Lists


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (kept(inner_link_chars=499), False),
        (kept(inner_link_chars=500), True),
        (kept(link_chars=1999), False),
        (kept(link_chars=2000), True),
        (kept(kind=PageKind.LIST, chars=10**6), True),
        (kept(kind=PageKind.SHORT), False),
    ],
)
def test_a_list_is_a_place_to_go_on_from(page: SignedPage, expected: bool) -> None:
    assert is_list(page) is expected


@pytest.mark.parametrize("kind", PageKind)
@pytest.mark.parametrize("inner_link_chars", [0, 500])
def test_links_are_kept_of_pages_that_they_tell(kind: PageKind, inner_link_chars: int) -> None:
    assert needs_links(kept(kind=kind, inner_link_chars=inner_link_chars)) is (
        kind is not PageKind.TEXT or inner_link_chars > 0
    )


# Many kept pages


def pairs(page: SignedPage, *others: SignedPage, variants: int = 50) -> list[Pair]:
    return [Pair(page, one, Config(max_list_variants=variants), SIMHASH) for one in others]


def variant(number: int) -> SignedPage:
    """A list with the text of all others, and links of its own."""
    return new(key=f"{number}", digest=f"{number}".encode(), **MANY, **links(100 + number))


def test_the_first_page_that_covers_a_new_one_is_its_match() -> None:
    found = first_match(pairs(new(), kept(**words(500, 700)), kept(key="one", signature=1), kept(key="two")))
    assert found is not None
    assert (found[0].key, found[1].rule, found[1].distance) == ("one", "alike", 1)
    assert first_match(pairs(new(), kept(**words(500, 700)))) is None
    assert first_match([]) is None


def test_pages_behind_the_match_are_not_looked_at() -> None:
    looked_at = iter(pairs(new(), kept(**words(500, 700)), PAGE, kept(key="behind")))
    assert first_match(looked_at) is not None
    assert [pair.kept.key for pair in looked_at] == ["behind"]


@pytest.mark.parametrize("variants", [1, 2, 3])
def test_a_list_with_new_links_passes_until_so_many_variants_are_kept(variants: int) -> None:
    page, others = variant(0), [variant(number) for number in range(1, variants + 1)]
    assert first_match(pairs(page, *others[:-1], variants=variants)) is None
    found = first_match(pairs(page, *others, variants=variants))
    assert found is not None
    assert (found[0], found[1].rule) == (others[-1], "too many variants of a list")


def test_without_a_bound_a_list_with_new_links_always_passes() -> None:
    assert first_match(pairs(variant(0), *(variant(number) for number in range(1, 200)), variants=0)) is None


def test_a_list_that_covers_the_new_one_stands_for_it_whatever_others_there_are() -> None:
    same_links = msgspec.structs.replace(variant(0), key="x", digest=b"x")
    found = first_match(pairs(variant(0), variant(1), same_links, variants=2))
    assert found is not None
    assert (found[0].key, found[1].rule) == ("x", "alike")


def test_what_a_list_was_before_is_no_variant_of_it() -> None:
    before = msgspec.structs.replace(variant(1), key="0")
    assert first_match(pairs(variant(0), before, variants=1)) is None


def test_pages_that_differ_in_more_than_links_are_no_variants() -> None:
    others = [new(key=f"{number}", **MANY, **{**links(number), **words(500, 700)}) for number in range(5)]
    assert first_match(pairs(variant(0), *others, variants=1)) is None


def test_the_texts_of_these_tests_resemble_each_other_as_they_should() -> None:
    """The sketches of large sets are estimates: no case of this file may hang on one."""
    for first, last, expected in ((0, 145, 145 / 200), (0, 270, 200 / 270), (10, 210, 190 / 210), (500, 700, 0)):
        assert resemblance(sketch(HASHES[first:last]), PAGE.sketch) == pytest.approx(expected, abs=0.08)
