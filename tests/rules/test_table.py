from dataclasses import replace
from typing import Any

import msgspec
import pytest

from crawler_dedup import SignedPage
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.limits import MAX_LIST_VARIANTS, MIN_PAGES
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile, is_list, trim, with_site_keys
from crawler_dedup.rules.table import TABLE, compare, decide, first_match
from crawler_dedup.signedpage import PageKind, Trait
from crawler_dedup.signing.cover import cover_of
from crawler_dedup.signing.lookup import Lookup
from tests.support.signedpages import CONFIG, PAGE, SIMHASH, block, hash_of, kept, links, new, thin

MANY = {"chars": 1000, "inner_link_chars": 500}
"""Makes a page with text a list."""
ENTRY, HEADING, NUMBER, NAME, MAIN, HIDDEN, PICTURE, _ = map(int, Trait)

THREE = block(1), block(2), block(3)
THIN = thin(*THREE)
SEVEN = tuple(map(block, range(1, 8)))
ENTRIES = tuple(block(number, ENTRY) for number in range(11, 14))
LIST = thin(*ENTRIES, **links(1, 2, 3, 4))


TWO_TEXTS = block(1, HEADING | ENTRY, 16) + block(2, HEADING, 16) + block(4, MAIN, 400)
THREE_TEXTS = TWO_TEXTS + block(3, HEADING, 16)


def known_site(*navigation: int, title: str = "Tea House") -> SiteProfile:
    """Return a known site with these links and this part of the title on all of its pages."""
    counts = SiteCounts()
    for number in range(MIN_PAGES):
        counts.add(kept(title=f"Story {number} | {title}", **links(*navigation, 1000 + number)))
    assert counts.snapshot_due
    return counts.make_snapshot()


TEA = known_site(1, 2)
"""Its navigation are links 1 and 2."""
FURNISHED = replace(TEA, furniture=frozenset([hash_of(91), hash_of(92)]), shared=frozenset([hash_of(81), hash_of(82)]))
"""Blocks 91 and 92 stand on half of its pages, and 81 and 82 on many."""

Case = tuple[Pair, str]
DUPLICATE = ("same bytes", "alike")
"""The rows that decide that a page is a duplicate."""


def case(
    new: SignedPage,
    kept: SignedPage,
    row: str,
    new_site: SiteProfile = UNKNOWN_SITE,
    kept_site: SiteProfile = UNKNOWN_SITE,
) -> Case:
    return Pair(new, kept, CONFIG, SIMHASH, new_site, kept_site), row


def on_the_site(new: SignedPage, kept: SignedPage, row: str) -> Case:
    return case(new, kept, row, FURNISHED, FURNISHED)


def numbered_cells(first: int) -> bytes:
    """Return a table of short cells with numbers."""
    return b"".join(block(number, MAIN | NUMBER, 8) for number in range(first, first + 30))


OTHER_HOST = "http://mirror.net/"

# fmt: off
CASES = {
    # Pages without a signature
    "new unsigned": case(new(unsigned="too little text"), PAGE, "too little text"),
    "kept unsigned": case(PAGE, new(unsigned="too many nodes"), "too little text"),
    # Equal bytes
    "equal": case(PAGE, PAGE, "same bytes"),
    "equal and unsigned": case(kept(unsigned="too many nodes"), kept(unsigned="too many nodes"), "too little text"),
    "equal with another signature": case(kept(signature=2**64 - 1), PAGE, "same bytes"),
    "equal and almost empty": case(kept(**thin(block(1, size=8)), key="new"), kept(**thin(block(1, size=8))), "same bytes"),
    "equal with other links": case(kept(**links(1, 2, 4)), PAGE, "alike"),
    "equal lists with other links": case(kept(**MANY, **links(1, 2, 4)), kept(**MANY), "other links"),
    # Thin pages of a site that is not known
    "thin": case(new(**THIN), kept(**THIN), "alike"),
    "thin, which does not name its title": case(new(**{**THIN, "named": 0}), kept(**{**THIN, "named": 0}), "alike"),
    "thin with other links": case(new(**THIN, **links(4)), kept(**THIN), "other links"),
    "thin with a link less": case(new(**THIN, **links(1, 2)), kept(**THIN), "alike"),
    "thin with another title": case(new(**THIN, title="Brewing | Tea House"), kept(**THIN), "other titles"),
    "thin in another order": case(new(**thin(*THREE[::-1])), kept(**THIN), "alike"),
    "thin with another block": case(new(**thin(*THREE, block(4))), kept(**THIN), "not covered"),
    "thin with a block less": case(new(**thin(*THREE[:2])), kept(**THIN), "not covered"),
    "thin with another short entry": case(new(**thin(*THREE, block(4, ENTRY, 16))), kept(**THIN), "not covered"),
    "thin with another entry on another host": case(new(**thin(*THREE, block(4, ENTRY, 16)), url=OTHER_HOST),
        kept(**THIN), "not covered"),
    "thin with another picture on another host": case(new(**thin(*THREE, block(4, PICTURE, 0)), url=OTHER_HOST),
        kept(**THIN), "alike"),
    "thin, of which both pages hide a block": case(new(**thin(*THREE[:2], block(3, HIDDEN))),
        kept(**thin(*THREE[:2], block(3, HIDDEN))), "alike"),
    "thin with its name again": case(new(**thin(*THREE, block(4, NAME))), kept(**THIN), "alike"),
    "thin with hardly a word": case(new(**thin(block(1, size=16), block(4, NAME)), signature=1),
        kept(**thin(block(1, size=16))), "nothing of its own"),
    "thin with a few words": case(new(**thin(block(1, size=20), block(4, NAME))), kept(**thin(block(1, size=20))), "alike"),
    "frame without a name": case(new(**thin(block(1, size=96), named=0)), kept(**thin(block(1, size=96))),
        "nothing of its own"),
    "no frame": case(new(**thin(block(1, size=100), named=0)), kept(**thin(block(1, size=100))), "alike"),
    "thin and text": case(new(**THIN), PAGE, "signatures far apart"),
    # Thin pages of a known site
    "thin but for furniture": on_the_site(new(**thin(*THREE, block(91), block(92, HEADING))), kept(**THIN),
        "alike"),
    "thin but for shared blocks": on_the_site(new(**thin(*THREE, block(81, size=12), block(82, size=12))), kept(**THIN),
        "not covered"),
    "thin but for large blocks that are shared and on the kept page": on_the_site(new(**THIN),
        kept(**thin(*THREE, block(81), block(82))), "alike"),
    "thin with furniture alone": on_the_site(new(**thin(block(91)), signature=1), kept(**thin(block(91))),
        "nothing of its own"),
    "thin, known, with hardly a word more": on_the_site(new(**thin(*SEVEN, block(8, size=28))), kept(**thin(*SEVEN)),
        "not covered"),
    "thin, known, in another order": on_the_site(new(**thin(*SEVEN[::-1])), kept(**thin(*SEVEN)), "alike"),
    "thin, known, with some words more": on_the_site(new(**thin(*THREE, block(4, size=40))), kept(**THIN), "not covered"),
    "thin, known, with some words less": on_the_site(new(**THIN), kept(**thin(*THREE, block(4, size=40))), "not covered"),
    "thin, known, of few words": on_the_site(new(**thin(block(1, size=92), block(4, size=4))),
        kept(**thin(block(1, size=92))), "not covered"),
    "thin, known, with new navigation": on_the_site(new(**THIN, **links(1, 2, 3)), kept(**THIN, **links(3, 5, 6)), "alike"),
    "thin, known, with a new link": on_the_site(new(**THIN, **links(1, 2, 3, 4)), kept(**THIN, **links(3, 5, 6)),
        "other links"),
    "thin, known on the other site": case(new(**thin(*SEVEN), url=OTHER_HOST), kept(**thin(*SEVEN, block(8))), "alike",
        UNKNOWN_SITE, FURNISHED),
    # Lists of a known site
    "list of the same entries under another title": on_the_site(new(**LIST, title="Brewing | Tea House"), kept(**LIST),
        "alike"),
    "list of the same entries under another title, with a heading that repeats it": on_the_site(
        new(**thin(*ENTRIES, block(5, NAME)), **links(1, 2, 3, 4), title="Brewing | Tea House"),
        kept(**thin(*ENTRIES, block(6, NAME)), **links(1, 2, 3, 4)), "alike"),
    # Signatures
    "farthest": case(new(signature=0b111111), PAGE, "alike"),
    "too far": case(new(signature=0b1111111), PAGE, "signatures far apart"),
    # Titles
    "another title": case(new(title="Brewing | Tea House", features=99), kept(features=99), "other titles"),
    "another title, the very same words": case(new(title="Brewing | Tea House"), PAGE, "other titles"),
    "another title, the very same words on another site": case(
        new(title="Brewing - Mirror", url=OTHER_HOST, features=100), kept(features=100), "other titles"),
    "no title of its own, and no links": case(new(title="", **links()), PAGE, "alike"),
    "no title of its own, and links to other pages": case(new(title=""), PAGE, "other titles"),
    "nothing but the site's title": on_the_site(new(title="Tea House"), PAGE, "alike"),
    "kept without title": case(new(), kept(title=""), "other titles"),
    "kept with nothing but the site's title": on_the_site(new(), kept(title="Tea House", blocks=block(1)), "other titles"),
    "the part that both pages name": case(new(url=OTHER_HOST, title="Leaves - Mirror", named=1, features=99),
        kept(title="Leaves | Tea House", named=1, features=99), "alike"),
    "different parts that the pages name": case(new(url=OTHER_HOST, title="Leaves - Mirror", named=2, features=99),
        kept(title="Leaves | Tea House", named=1, features=99), "other titles"),
    "another part beside the one that both pages name": on_the_site(
        new(title="Leaves | Black", named=2, **links()), kept(title="Leaves | Green", named=2), "other titles"),
    "the site's title missing": on_the_site(new(title="How to steep leaves", features=99), kept(features=99),
        "alike"),
    "the title of another site": case(new(url=OTHER_HOST, title="How to steep leaves - Mirror", features=99),
        kept(features=99), "alike"),
    "a short title on another site": case(new(url=OTHER_HOST, title="Leaves - Mirror", features=99),
        kept(title="Leaves | Tea House", features=99), "other titles"),
    "a title that is cut short": case(new(title="How to steep leave… | Tea House", features=99), kept(features=99),
        "alike"),
    "a text in no block of the page, beside a link, on another host": case(new(url=OTHER_HOST, blocks=block(1, ENTRY)),
        kept(blocks=block(2, ENTRY)), "alike"),
    "another title on another known site": case(new(url=OTHER_HOST, title="Tea House - Mirror", features=99),
        kept(features=99), "other titles", known_site(title="Mirror"), TEA),
    # Facts
    "another fact": case(new(blocks=block(1, MAIN)), kept(blocks=block(2, MAIN)), "not covered"),
    "another fact on another host": case(new(blocks=block(1, MAIN), url=OTHER_HOST), kept(blocks=block(2, MAIN)),
        "not covered"),
    "a fact more": case(new(blocks=block(1, MAIN) + block(2, MAIN)), kept(blocks=block(1, MAIN)), "not covered"),
    "the same facts elsewhere": case(new(blocks=block(1, MAIN) + block(2, MAIN)), kept(blocks=block(2, MAIN) + block(1)),
        "alike"),
    "a table of other numbers on another host": case(new(blocks=numbered_cells(20), url=OTHER_HOST),
        kept(blocks=numbered_cells(60)), "not covered"),
    "a fact that the kept page hides": case(new(blocks=block(1, MAIN)), kept(blocks=block(1, MAIN | HIDDEN)),
        "not covered"),
    "a fact that only repeats the title": case(new(blocks=block(1, MAIN | NAME)), PAGE, "alike"),
    "a fact that repeats the part in which the titles differ": case(
        new(title="Flight BA12: Delayed", named=2, blocks=block(1, MAIN | NAME)),
        kept(title="Flight BA12: On time", named=1, blocks=block(2, MAIN | NAME)), "not covered"),
    "furniture more": on_the_site(new(blocks=block(91, MAIN) + block(92)), PAGE, "alike"),
    "a shared fact beside the text": on_the_site(new(blocks=block(81) + block(1, MAIN)), kept(blocks=block(1, MAIN)),
        "alike"),
    "a shared fact in the text": on_the_site(new(blocks=block(81, MAIN) + block(1, MAIN)), kept(blocks=block(1, MAIN)),
        "not covered"),
    # Headings
    "a text more": on_the_site(new(blocks=THREE_TEXTS), kept(blocks=TWO_TEXTS), "not covered"),
    # Texts
    "a text of its own beside that of the site": on_the_site(new(blocks=block(1) + block(91, MAIN, 1000)),
        kept(blocks=block(2) + block(91, MAIN, 1000)), "not covered"),
    "a text below the main text": case(new(blocks=block(2, MAIN, 500) + block(1, size=400)),
        kept(blocks=block(2, MAIN, 500)), "not covered"),
    "a text above the main text": case(new(blocks=block(1, size=252) + block(2, MAIN, 500)),
        kept(blocks=block(2, MAIN, 500)), "not covered"),
    "a text above the main text, which the kept page has below it": case(
        new(blocks=block(1, size=252) + block(2, MAIN, 500)), kept(blocks=block(2, MAIN, 500) + block(1, size=252)),
        "alike"),
    "linked headings above the main text": case(new(blocks=block(1, ENTRY | HEADING, 600) + block(2, MAIN, 500)),
        kept(blocks=block(2, MAIN, 500)), "alike"),
    "a text above the main text, on another host": case(new(blocks=block(1, size=252) + block(2, MAIN, 500)),
        kept(url=OTHER_HOST, blocks=block(2, MAIN, 500)), "alike"),
    "a line beside a text that is the smaller part of its page, on another host": case(
        new(url=OTHER_HOST, blocks=block(1, size=40) + block(2, MAIN, 100) + block(3, size=400)),
        kept(blocks=block(2, MAIN, 100) + block(3, size=400)), "not covered"),
    "another text of the same name, which is furniture": on_the_site(
        new(signature=2**64 - 1, named=1, blocks=block(91, MAIN)), kept(named=1), "not covered"),
    # Links of texts
    "more links": case(new(link_chars=500, **links(*range(14))), kept(**links(*range(3))), "alike"),
    "far more links": case(new(link_chars=500, **links(*range(15))), kept(**links(*range(3))), "other links"),
    "far more links, which say little": case(new(link_chars=499, **links(*range(15))), kept(**links(*range(3))), "alike"),
    "far more links on another host": case(new(link_chars=500, **links(*range(15)), url=OTHER_HOST),
        kept(**links(*range(3))), "alike"),
    # Lists with a text
    "list with text and a new link": case(new(**MANY, **links(1, 2, 3, 4)), kept(**MANY), "other links"),
    "list with text and new navigation": on_the_site(new(**MANY), kept(**MANY, **links(3, 4, 5)), "alike"),
    "list with text and more links than are kept": case(new(**MANY, link_digest=b"others", links=b""), kept(**MANY),
        "other links"),
    "no list, with a new link": case(new(**links(1, 2, 3, 4)), kept(**MANY), "alike"),
}
# fmt: on


def test_the_first_row_that_applies_decides() -> None:
    for name, (pair, row) in CASES.items():
        duplicate = row in DUPLICATE
        assert decide(pair) == (row, duplicate), name
        match = compare(pair)
        assert (match is not None) == duplicate
        if match is not None:
            assert (match.rule, match.distance) == (row, pair.distance)
            assert (match.resemblance, match.coverage) == pair.shares


def test_every_row_decides_in_some_case() -> None:
    deciding = {row for _, row in CASES.values()}
    assert [rule.name for rule in TABLE if rule.name not in deciding] == []


# Lists


def test_a_list_is_recognised_by_its_links() -> None:
    for page, expected in [
        (kept(inner_link_chars=499), False),
        (kept(inner_link_chars=500), True),
        (kept(link_chars=1999), False),
        (kept(link_chars=2000), True),
        (kept(kind=PageKind.THIN, chars=10**6), True),
        (kept(chars=0, link_chars=100), False),
    ]:
        assert is_list(page) is expected


# What is kept of a page


ABOVE, NEAR, BELOW = (
    (block(1), block(2, ENTRY), block(81), block(91)),
    (block(3, HEADING | NAME), block(4, ENTRY), block(82), block(81, size=80), block(92), block(5, MAIN)),
    (block(6, ENTRY), block(7, ENTRY | HEADING), block(8)),
)


@pytest.mark.parametrize(
    ("fields", "has_links"),
    [({}, False), (MANY, True), ({"kind": PageKind.THIN}, True)],
    ids=["text", "list with text", "thin"],
)
def test_links_and_blocks_of_texts_are_stored_if_a_rule_reads_them(fields: dict[str, Any], has_links: bool) -> None:
    """A block that many pages have stays: if fewer pages have it later, it is compared again."""
    page = kept(**fields, blocks=b"".join((*ABOVE, *NEAR, *BELOW)))
    trimmed = trim(page)
    assert cover_of(trimmed).shown == {hash_of(number) for number in (1, 2, 3, 4, 5, 6, 7, 8, 81, 82, 91, 92)}
    assert not trimmed.blocks
    assert bool(trimmed.links) is has_links
    assert trim(trimmed) == trimmed


def test_rules_decide_the_same_if_the_kept_page_lacks_what_no_rule_reads() -> None:
    for pair, row in CASES.values():
        trimmed = replace(pair, kept=trim(pair.kept))
        assert decide(trimmed) == (row, row in DUPLICATE)


def test_thin_pages_are_filed_under_their_title_and_their_largest_blocks() -> None:
    def keys(*blocks: bytes, site: SiteProfile = UNKNOWN_SITE, **fields: Any) -> set[int]:
        page = with_site_keys(new(**{**thin(*blocks), **fields}), site)
        return {*Lookup(SIMHASH).keys(page)}

    sizes = [block(number, size=4 * number) for number in range(1, 11)]
    alone = [keys(row, title="", named=0) for row in sizes]
    assert all(len(keys) == 1 for keys in alone)
    assert keys(*sizes, title="", named=0) == set().union(*alone[-4:])
    assert not keys(block(1, NAME), block(2, PICTURE), title="", named=0)
    assert keys(*sizes, block(91, size=400), block(81, size=400), site=FURNISHED) & alone[-1]
    assert not keys(block(91), block(81), site=FURNISHED) & (keys(block(91)) - keys())
    assert len(keys()) == len({*keys(), *keys(title="Tea House | How to steep leaves")})
    for named in (0, 1):
        mirrored = keys(title="How to steep leaves - Mirror", site=known_site(title="Mirror"), named=named)
        assert keys(site=FURNISHED, named=named) & mirrored
    assert keys() & keys(title="How to steep leaves - Mirror")
    assert not keys() & keys(title="Brewing | Tea House")


def test_texts_are_filed_under_the_keys_of_their_scheme() -> None:
    assert with_site_keys(PAGE, TEA) is PAGE


# Many kept pages


def pairs(page: SignedPage, *kept_pages: SignedPage) -> list[Pair]:
    return [Pair(page, kept_page, CONFIG, SIMHASH) for kept_page in kept_pages]


def variant(number: int) -> SignedPage:
    """Return a list with the text of all others, and links of its own."""
    return new(key=f"{number}", digest=f"{number}".encode(), **MANY, **links(100 + number))


SAME = {"blocks": block(1, MAIN)}
NEW = new(**SAME)


def test_the_first_page_that_covers_a_new_one_is_its_match() -> None:
    decided = first_match(pairs(NEW, kept(), kept(key="one", signature=1, **SAME), kept(key="two", **SAME)))
    assert decided is not None
    assert (decided[0].key, decided[1].rule, decided[1].distance) == ("one", "alike", 1)
    assert first_match(pairs(NEW, kept())) is None
    assert first_match([]) is None


def test_pages_after_the_match_are_not_compared() -> None:
    candidates = iter(pairs(NEW, kept(), kept(**SAME), kept(key="behind")))
    assert first_match(candidates) is not None
    assert [pair.kept.key for pair in candidates] == ["behind"]


def test_a_list_that_covers_the_new_one_is_its_match_whatever_other_lists_there_are() -> None:
    same_links = msgspec.structs.replace(variant(0), key="x", digest=b"x")
    decided = first_match(pairs(variant(0), variant(1), same_links))
    assert decided is not None
    assert (decided[0].key, decided[1].rule) == ("x", "alike")


def test_an_earlier_version_of_a_list_is_not_a_variant_of_it() -> None:
    before = msgspec.structs.replace(variant(1), key="0")
    others = [variant(number) for number in range(1, MAX_LIST_VARIANTS)]
    assert first_match(pairs(variant(0), before, *others)) is None


def test_pages_that_differ_in_more_than_links_are_not_variants() -> None:
    other_lists = [new(key=f"{number}", **MANY, **links(number)) for number in range(2 * MAX_LIST_VARIANTS)]
    assert first_match(pairs(msgspec.structs.replace(variant(0), **SAME), *other_lists)) is None
