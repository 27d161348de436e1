"""What a kept page lacks of a new page is named, in both directions of a pair."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crawler_dedup import Config
from crawler_dedup.inspection.comparison import Lack, find_lacks, swap_pages
from crawler_dedup.inspection.inspectedpage import InspectedPage, inspect_page
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import trim
from crawler_dedup.rules.table import decide
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import INTRODUCTION, MENU, SITE, STORIES, listing, page

SIGNER = Signer(Config(tokenizer="bigrams"))
POST = " ".join(words("post", 14)).capitalize() + "."


def inspect(content: str, path: str, host: str = "h") -> InspectedPage:
    return inspect_page(SIGNER, f"http://{host}/{path}", content.encode())


def pair_of(new: InspectedPage, kept: InspectedPage) -> Pair:
    return Pair(new.page, trim(kept.page), SIGNER.config, SIGNER.scheme)


def text(*parts: str) -> str:
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    return page(f"A rigger | {SITE}", f"<h1>A rigger</h1>{body}{paragraphs(words('rigger', 300))}", MENU)


def test_the_block_that_decided_is_named_in_both_directions() -> None:
    for new, kept, kept_lacks, new_lacks in [
        (text("€ 59.95"), text("€ 89.95"), ("a fact", "€ 59.95"), ("a fact", "€ 89.95")),
        (text("<h2>Where</h2>"), text("<h2>When</h2>"), ("a heading", "Where"), ("a heading", "When")),
        (text(POST), text(), ("a text", POST), None),
        (text(POST), text(f"{POST[:-1]} not."), ("a text", POST), ("a text", f"{POST[:-1]} not.")),
        (listing("A", [*STORIES, "/9"]), listing("A", STORIES), ("a link", " ".join(words("/9", 4))), None),
        (
            listing("A", STORIES, heading="Part 2"),
            listing("A", STORIES, heading="Part 1"),
            ("a heading", "Part 2"),
            ("a heading", "Part 1"),
        ),
    ]:
        new_page, kept_page = inspect(new, "new"), inspect(kept, "kept")
        pair = pair_of(new_page, kept_page)
        assert [(lack.kind, lack.text) for lack in find_lacks(new_page, pair)] == [kept_lacks]
        lacks = find_lacks(kept_page, swap_pages(pair, kept_page))
        assert [(lack.kind, lack.text) for lack in lacks] == ([] if new_lacks is None else [new_lacks])
        # The two directions have contrary answers only where one page says more. Lists of an unknown site have to be equal.
        assert decide(pair)[1] is False
        assert decide(swap_pages(pair, kept_page))[1] is (new_lacks is None and not pair.are_thin)


LINES = st.lists(
    st.sampled_from(["Leith", "Hull", "€ 45.90", "Anna Ruiz", POST, *words("line", 4)]), max_size=6, unique=True
)
MARKUP = ("<p>{}</p>", "<h2>{}</h2>", "<ul><li>{}</li></ul>", "<p><a href=/x>{}</a></p>", "<table><td>{}</table>")


def visible_lines(content: str) -> set[str]:
    """Return the lines that a reader sees, without the title."""
    lines = re.split(r"<(?!/?a\b)[^>]*>", content.partition("<body>")[2])
    return {re.sub("<[^>]*>", "", line).strip() for line in lines} - {""}


@given(new=LINES, kept=LINES, markup=st.sampled_from(MARKUP), is_text=st.booleans(), host=st.sampled_from("hm"))
def test_each_line_that_only_the_new_page_shows_is_named_with_the_reason_if_it_does_not_count(
    new: list[str], kept: list[str], markup: str, *, is_text: bool, host: str
) -> None:
    rest = paragraphs(words("rest", 60 if is_text else 9))
    new_html, kept_html = (
        page(
            f"A rigger | {SITE}",
            "".join([markup.format(line) for line in lines[:3]])
            + rest
            + "".join([markup.format(line) for line in lines[3:]]),
        )
        for lines in (new, kept)
    )
    new_page, kept_page = inspect(new_html, "new", host), inspect(kept_html, "kept")
    assume(new_page.page.kind is kept_page.page.kind)
    pair = pair_of(new_page, kept_page)
    lacks = find_lacks(new_page, pair)
    assert {lack.text for lack in lacks} == visible_lines(new_html) - visible_lines(kept_html)
    if decide(pair)[1]:
        assert all(lack.exemption for lack in lacks)


def test_of_a_thin_page_and_a_text_the_lines_that_only_one_shows_are_named() -> None:
    new, kept = inspect(listing("A", STORIES), "new"), inspect(text(), "kept")
    lacks = {(lack.text, lack.exemption) for lack in find_lacks(new, pair_of(new, kept), kept)}
    assert lacks == {(line, "") for line in ("A", INTRODUCTION, *(" ".join(words(path, 4)) for path in STORIES))}


BESIDE = "in navigation, a footer or the like"
LINES_WITHOUT_BLOCKS = {
    "<p>123 views</p>": ("<p>48 views</p>", "123 views", "a count"),
    "<p>Anna, 3 minutes ago</p>": ("<p>Anna, 2 hours ago</p>", "Anna, 3 minutes ago", "a count"),
    "<p>Advertisement</p>": ("", "Advertisement", "an advertisement"),
    "<p>Aug 10th, 2011</p>": ("<p>2011-08-10</p>", "Aug 10th, 2011", "the same date"),
    "<p>CLOSED on Monday.</p>": ("<p>closed on Monday</p>", "CLOSED on Monday.", "the same words, written differently"),
    "<pre>1\n2</pre><pre>go</pre>": ("<pre>4\n5</pre><pre>go</pre>", "1 2", "numbers of lines"),
    "<p>· · ·</p>": ("", "· · ·", "no letter, digit or symbol"),
    "<nav>Home</nav>": ("<nav>Start</nav>", "Home", BESIDE),
    "<footer><p>Imprint</p></footer>": ("", "Imprint", BESIDE),
}


@pytest.mark.parametrize(("new", "kept", "line", "exemption"), [(new, *of) for new, of in LINES_WITHOUT_BLOCKS.items()])
def test_a_line_that_is_not_compared_or_not_as_it_is_written_is_named_with_the_reason(
    new: str, kept: str, line: str, exemption: str
) -> None:
    new_page, kept_page = inspect(text(new), "new"), inspect(text(kept), "kept")
    pair = pair_of(new_page, kept_page)
    assert decide(pair)[1] is True
    assert find_lacks(new_page, pair, kept_page) == [Lack("a line", line, len(line), exemption)]
    # Without the text of the kept page, only that it has the same words is known.
    unknown = find_lacks(new_page, pair)
    assert unknown == ([] if "same words" in exemption else [Lack("a line", line, len(line), exemption)])
    assert find_lacks(new_page, pair_of(new_page, new_page), new_page) == []


def test_lines_of_an_element_for_navigation_that_holds_the_page_are_compared() -> None:
    swallowed = inspect(f"<title>A rigger</title><nav><h1>A rigger</h1>{paragraphs(words('rigger', 300))}", "new")
    assert find_lacks(swallowed, pair_of(swallowed, swallowed)) == []


def test_each_of_several_lines_with_the_same_words_is_named() -> None:
    written = ["Open on 10 August 2011 at 9:58", "Open on Aug 10th, 2011 at 17:07"]
    new, kept = inspect(text(*written), "new"), inspect(text(), "kept")
    assert {(lack.text, lack.exemption) for lack in find_lacks(new, pair_of(new, kept))} == {
        (line, "") for line in written
    }


def test_pictures_are_named() -> None:
    pictures = inspect(listing("A", STORIES, picture="<img src='/{}.png'>"), "pictures")
    other = inspect(listing("A", STORIES), "other")
    lacks = find_lacks(pictures, pair_of(pictures, other))
    assert lacks == [Lack("a picture or the like", f"/{number}.png", 0, "a picture of a list") for number in range(8)]
