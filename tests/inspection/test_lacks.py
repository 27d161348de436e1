"""What a kept page lacks of a new page is named, in both directions of a pair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crawler_dedup import Config
from crawler_dedup.inspection.compare import InspectedPage, inspect_page
from crawler_dedup.inspection.lacks import Lack, find_lacks, swap_pages
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.table import decide
from crawler_dedup.rules.trimming import trim
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, STORIES, listing, page

SIGNER = Signer(Config(tokenizer="bigrams"))
NUMBER = "another number in a sentence"
NAME = "another name in a sentence"
DENIAL = "a sentence that is negated on one of the pages only"
TEAM = "You will join our team in {}, where forty colleagues load vehicles by day and by night."
PRICE = "The jacket in recycled wool, which our readers tested on long walks, now costs {} in every shop."
BRIDGE = "The board has {}approved the plan for the bridge over the river, which will be built this year."
POST = " ".join(words("post", 14)).capitalize() + "."


def inspect(content: str, path: str) -> InspectedPage:
    return inspect_page(SIGNER, f"http://h/{path}", content.encode())


def pair_of(new: InspectedPage, kept: InspectedPage) -> Pair:
    return Pair(new.page, trim(kept.page), SIGNER.config.max_distance, SIGNER.scheme)


def text(*parts: str) -> str:
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    return page(f"A rigger | {SITE}", f"<h1>A rigger</h1>{body}{paragraphs(words('rigger', 300))}", MENU)


@pytest.mark.parametrize(
    ("new", "kept", "kept_lacks", "new_lacks"),
    [
        (text("€ 59.95"), text("€ 89.95"), ("a fact", "€ 59.95"), ("a fact", "€ 89.95")),
        (text("<h2>Where</h2>"), text("<h2>When</h2>"), ("a heading", "Where"), ("a heading", "When")),
        (text(PRICE.format("€ 59")), text(PRICE.format("€ 89")), (NUMBER, "59"), (NUMBER, "89")),
        (text(TEAM.format("5 kg")), text(TEAM.format("5 lbs")), (NUMBER, "5kg"), (NUMBER, "5lbs")),
        (text(TEAM.format("Merlin")), text(TEAM.format("Berlin")), (NAME, "Merlin"), (NAME, "Berlin")),
        (
            text(BRIDGE.format("not ")),
            text(BRIDGE.format("")),
            (DENIAL, BRIDGE.format("not ")),
            (DENIAL, BRIDGE.format("")),
        ),
        (text(POST), text(), ("a text", POST), None),
        (listing("A", [*STORIES, "/9"]), listing("A", STORIES), ("a link", " ".join(words("/9", 4))), None),
        (
            listing("A", STORIES, heading="Part 2"),
            listing("A", STORIES, heading="Part 1"),
            ("a heading", "Part 2"),
            ("a heading", "Part 1"),
        ),
    ],
)
def test_the_block_that_decided_is_named_in_both_directions(
    new: str, kept: str, kept_lacks: tuple[str, str], new_lacks: tuple[str, str] | None
) -> None:
    new_page, kept_page = inspect(new, "new"), inspect(kept, "kept")
    pair = pair_of(new_page, kept_page)
    assert [(lack.kind, lack.text) for lack in find_lacks(new_page, pair)] == [kept_lacks]
    lacks = find_lacks(kept_page, swap_pages(pair, kept_page))
    assert [(lack.kind, lack.text) for lack in lacks] == ([] if new_lacks is None else [new_lacks])
    # The two directions have contrary answers only where one page says more. Lists of an unknown site have to be equal.
    assert decide(pair)[1] is False
    assert decide(swap_pages(pair, kept_page))[1] is (new_lacks is None and not pair.are_thin)


@pytest.mark.parametrize(
    ("sentence", "values", "kind"),
    [
        (PRICE, ("€ 59", "€ 89"), NUMBER),
        (TEAM, ("Merlin", "Berlin"), NAME),
        (BRIDGE, ("not ", ""), DENIAL),
        ("{}", ("Hull", "Leith"), "a fact"),
    ],
)
def test_without_a_text_its_kind_and_its_size_are_named(sentence: str, values: tuple[str, str], kind: str) -> None:
    new, kept = (inspect(text(sentence.format(value)), f"{place}") for place, value in enumerate(values))
    (lack,) = find_lacks(replace(new, blocks={}), pair_of(new, kept))
    assert (lack.kind, lack.text) == (kind, "")
    assert lack.letters >= len(values[0])


def test_of_a_paragraph_that_the_kept_page_lacks_it_is_not_said_that_it_has_another_number_there() -> None:
    def paragraph(number: int) -> str:
        return f"{' '.join(words(f'paragraph {number}', 30)).capitalize()} {number}."

    kept = inspect(text(*map(paragraph, range(10, 70))), "kept")
    for number in range(80, 90):
        new = inspect(text(*map(paragraph, (*range(10, 70), number))), "new")
        assert [(lack.kind, lack.text) for lack in find_lacks(new, pair_of(new, kept))] == [
            ("a text", paragraph(number))
        ]


def test_pictures_are_named_and_a_thin_page_is_not_compared_with_a_text() -> None:
    new, kept = inspect(listing("A", STORIES, picture="<img src='/{0}.png'>"), "new"), inspect(text(), "kept")
    assert find_lacks(new, pair_of(new, kept)) == []
    pictures = inspect(listing("A", STORIES, picture="<img src='/{}.png'>"), "pictures")
    other = inspect(listing("A", STORIES), "other")
    assert find_lacks(pictures, pair_of(pictures, other)) == 8 * [Lack("a picture or the like", "", 0)]
