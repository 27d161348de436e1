import random
from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from crawler_dedup import Config, SignedPage
from crawler_dedup.inspection.inspectedpage import InspectedPage, apply_rules, compare_signatures, inspect_page
from crawler_dedup.rules import table
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import UNKNOWN_SITE
from crawler_dedup.signedpage import Trait
from crawler_dedup.signing.schemes import NAMES, Agreement
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import article
from tests.support.prose import html, prose
from tests.support.signedpages import CONFIG, SIMHASH, block, kept, links, new, thin

SIGNER = Signer(Config(tokenizer="bigrams"))
TITLES = ("How to steep leaves | Tea House", "How to boil water | Tea House", "", "Tea House")
URLS = ("http://example.com/new", "http://www.example.com/other", "http://example.org/new", "file")


def examine(text: str, url: str = "http://a.org/1", *, signer: Signer = SIGNER) -> InspectedPage:
    return inspect_page(signer, url, text.encode())


def changed(page: SignedPage, source: random.Random) -> SignedPage:
    """Return *page* with some fields changed."""
    begin = source.choice((0, 0, 0, 20, 100))
    chosen = {
        "digest": source.choice((b"a", b"b")),
        "signature": source.choice((0, 1, 0b111, 0xFFFF)),
        "title": source.choice(TITLES),
        "url": source.choice(URLS),
        "blocks": block(begin, Trait.MAIN, source.choice((60, 80))),
        "link_chars": source.choice((100, 3_000)),
        "unsigned": source.choice(("", "", "", "", "too little text", "more bytes than DEDUP_MAX_BYTES")),
        **links(*source.sample(range(5), 3)),
        "features": source.choice((60, 200)),
    }
    some_fields = {name: value for name, value in chosen.items() if source.random() < 0.5}
    some_thin = {} if source.random() < 0.6 else changed_blocks(source)
    return msgspec.structs.replace(page, **{**some_fields, **some_thin})


def changed_blocks(source: random.Random) -> dict[str, Any]:
    """Return what makes a page thin, with some blocks."""
    traits = [0, 0, 0, int(source.choice([*Trait]))]
    blocks = [block(number, trait, source.choice((16, 40))) for number, trait in enumerate(traits)]
    return thin(*blocks[source.choice((0, 0, 3)) :], named=source.choice((0, 1)))


def pairs(count: int) -> list[Pair]:
    source = random.Random("pairs")
    return [Pair(changed(new(), source), changed(kept(), source), CONFIG, SIMHASH) for _ in range(count)]


def measured_by_row(pair: Pair) -> dict[str, str]:
    return {row.rule: row.measured for row in apply_rules(pair)}


# The scheme

EXCERPT, WHOLE = prose(3, 30), "\n".join([prose(4, 30), prose(3, 30), prose(5, 40)])


def test_a_scheme_measures_an_excerpt_even_if_its_look_up_does_not_find_it() -> None:
    for name in NAMES:
        signer = Signer(Config(tokenizer="bigrams", scheme=name))
        part, whole = (examine(html(text).decode(), signer=signer).page for text in (EXCERPT, WHOLE))
        comparison = compare_signatures(Pair(part, whole, signer.config, signer.scheme))
        assert comparison is not None
        assert comparison.scheme == signer.scheme.spec
        assert comparison.is_candidate == signer.scheme.finds(part.signed, whole.signed)
        measured = signer.scheme.measure(part.signed, whole.signed) or Agreement()
        for share in ("distance", "resemblance", "coverage"):
            assert getattr(comparison, share) == getattr(measured, share)
        if name in ("shingling", "winnowing"):
            assert not comparison.agree
            assert (comparison.coverage or 0) > 0.9


def test_a_scheme_measures_nothing_of_thin_or_unsigned_pages() -> None:
    assert compare_signatures(Pair(new(**thin(block(1))), kept(), CONFIG, SIMHASH)) is None
    assert compare_signatures(Pair(new(unsigned="too little text"), kept(), CONFIG, SIMHASH)) is None
    assert compare_signatures(Pair(new(), kept(), CONFIG, SIMHASH)) is not None


# The rows


def test_the_row_that_decides_is_that_of_the_crawl() -> None:
    deciding: Counter[tuple[str, bool | None]] = Counter()
    for pair in pairs(3_000):
        decided = [(row.rule, row.duplicate) for row in apply_rules(pair) if row.decides]
        assert decided == [table.decide(pair)]
        deciding.update(decided)
    assert {name for name, _ in deciding} == {rule.name for rule in table.TABLE}, "a row never decides in this test"


def test_every_row_shows_its_own_verdict_and_what_it_measured() -> None:
    for pair in pairs(300):
        rows = apply_rules(pair)
        rules = table.TABLE[:1] if pair.new.unsigned or pair.kept.unsigned else table.TABLE
        expected = [(rule.name, rule.is_duplicate if rule.applies(pair) else None) for rule in rules]
        assert [(row.rule, row.duplicate) for row in rows] == expected
        silent = {row.rule for row in rows if not row.measured}
        assert silent <= {"too little text", "alike"}


def test_an_unsigned_page_is_explained_by_one_row() -> None:
    for new_reason, kept_reason in [("too little text", ""), ("", "nested too deep")]:
        (row,) = apply_rules(Pair(new(unsigned=new_reason), kept(unsigned=kept_reason), CONFIG, SIMHASH))
        assert (row.rule, row.measured) == ("too little text", new_reason or kept_reason)
        assert (row.duplicate, row.decides) == (False, True)


def test_a_row_shows_what_it_measured() -> None:
    whole = thin(block(1), block(2))
    for both, row, fields, measured in [
        ({}, "same bytes", {}, "other bytes, the same links"),
        ({}, "same bytes", {"digest": b"a", **links(1, 2, 4)}, "the same bytes, other links"),
        ({}, "same bytes", links(1, 2), "other bytes, all links known"),
        ({}, "signatures far apart", {"signature": 0b111}, "3 bits, limit 6"),
        ({}, "signatures far apart", thin(), "a text and a thin page are not compared"),
        ({}, "other titles", {}, "the same title"),
        ({}, "other titles", {"title": "Another"}, "other titles"),
        ({}, "nothing of its own", {}, "it has a main text"),
        ({}, "not covered", {}, "every own block is on the kept page"),
        ({}, "not covered", {"blocks": block(1, Trait.MAIN)}, "the kept page lacks 1 block"),
        ({}, "other links", {}, "no list, one host, the same links"),
        ({}, "other links", {"link_chars": 3_000, "url": "http://b.org/"}, "a list, two hosts, the same links"),
        (whole, "signatures far apart", {"signature": 1}, "not asked about thin pages"),
        (whole, "other titles", {"title": "Another"}, "other titles"),
        (whole, "nothing of its own", {}, "120 letters of its own"),
        (whole, "not covered", thin(*map(block, range(1, 5))), "the kept page lacks 2 blocks"),
        (whole, "other links", links(1, 2), "a list, one host, all links known"),
    ]:
        pair = Pair(new(**{**both, **fields}), kept(**both), CONFIG, SIMHASH)
        assert measured_by_row(pair)[row] == measured


def test_two_pages_that_differ_in_their_titles_only_are_reported_as_such() -> None:
    listed = thin(block(1, Trait.ENTRY))
    site = replace(UNKNOWN_SITE, number=8)
    pair = Pair(new(**listed, title="Another"), kept(**listed), CONFIG, SIMHASH, site, site)
    assert measured_by_row(pair)["other titles"] == "the same blocks and links"


# The pages


@pytest.mark.parametrize("text", [article(1, links=["/1", "/2"]), "<p>short</p>", "<div>" * 1000, ""])
def test_a_page_is_signed_as_the_crawl_signs_it(text: str) -> None:
    signed, main_text = SIGNER.sign("http://a.org/1", text.encode(), encoding=None, key=None, scope="")
    examined = examine(text)
    assert (examined.page, examined.text) == (signed, main_text or "")
