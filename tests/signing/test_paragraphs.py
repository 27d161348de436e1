import re
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest

from crawler_dedup.signing.maintext import find_main_blocks, join_text
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import parse
from tests.support.cases import read_cases
from tests.support.crawling import words
from tests.support.data import documents, saved

CASES = read_cases(__file__)["paragraphs"]


def main_text(html: str, title: str = "") -> str:
    return join_text(find_main_blocks(read_outline(parse(html.encode())), title))


def sentence(seed: object, count: int) -> str:
    return " ".join(words(seed, count)).capitalize() + "."


PARAGRAPHS = [sentence(f"paragraph {number}", 35) for number in range(5)]
ARTICLE = f"""
    <h2>{sentence("heading", 5)}</h2><p>{PARAGRAPHS[0]}</p><p>{PARAGRAPHS[1]} <a href="/there">Look there</a>.</p>
    <p>Short it is.</p><p>{PARAGRAPHS[2]}</p><h3>And more</h3><p>{PARAGRAPHS[3]}</p><p>{PARAGRAPHS[4]}</p>"""
MENU = [f"menu entry {number}" for number in range(12)]
MENU_LIST = "<ul>" + "".join(f'<li><a href="/{entry}">{entry}</a></li>' for entry in MENU) + "</ul>"
MENU_LINE = " | ".join(f'<a href="/{entry}">{entry}</a>' for entry in MENU)
ABOUT = f"<h4>About us</h4><p>menu {sentence('about', 25)}</p>"
COPYRIGHT = (
    "Copyright © 2024 menu of the house by the river, where every word and picture belongs to the people who made it"
)
TEASERS = "".join(f'<div class="teaser"><p>menu {sentence(f"teaser {number}", 18)}</p></div>' for number in range(6))

FURNITURE = {"menu_list": MENU_LIST, "menu_line": MENU_LINE, "about": ABOUT, "copyright": COPYRIGHT, "teasers": TEASERS}
FURNITURE["bare_links"] = MENU_LINE.replace("|", "<br>")


def test_an_article_gives_the_same_text_in_every_template() -> None:
    for template in CASES["templates"].values():
        text = main_text(template.format(article=ARTICLE, **FURNITURE))
        assert text.splitlines() == [
            sentence("heading", 5),
            PARAGRAPHS[0],
            f"{PARAGRAPHS[1]} Look there.",
            "Short it is.",
            PARAGRAPHS[2],
            "And more",
            *PARAGRAPHS[3:],
        ]


# Content


ITEMS = [sentence(f"item {number}", 3) for number in range(12)]


SERIES = {
    "ul": "<ul>" + "".join(f"<li>{item}</li>" for item in ITEMS) + "</ul>",
    "ol": "<ol>" + "".join(f"<li><p>{item}</p></li>" for item in ITEMS) + "</ol>",
    "dl": "<dl>" + "".join(f"<{'dt dd'.split()[at % 2]}>{item}" for at, item in enumerate(ITEMS)) + "</dl>",
    "table": "<table>" + "".join(f"<tr><td><div>{item}</div></td></tr>" for item in ITEMS) + "</table>",
    "div": "<div>" + "".join(f"<p>{item}</p>" for item in ITEMS) + "</div>",
    "blockquote": "<blockquote>" + "".join(f"<p>{item}</p>" for item in ITEMS) + "</blockquote>",
}
CODE = "<span>for</span> <b>cup</b> in house:\n    pour(cup)\n    serve(cup, to=guest)\n" * 3


def test_many_short_lines_of_one_list_table_or_poem_are_text() -> None:
    for markup in SERIES.values():
        assert main_text(f"<div>{MENU_LIST}</div><div>{markup}</div>").splitlines() == ITEMS


def test_a_poem_with_line_breaks_and_code_are_text() -> None:
    assert main_text(f"<div>{MENU_LIST}</div><div>{'<br>'.join(ITEMS)}</div>") == " ".join(ITEMS)
    text = main_text(f"<div>{MENU_LIST}</div><div><pre><code>{CODE}</code></pre></div>")
    assert text == " ".join(["for cup in house: pour(cup) serve(cup, to=guest)"] * 3)


def test_a_page_of_furniture_has_no_main_text() -> None:
    for furniture in CASES["furniture"]:
        assert main_text(f"<html><body>{furniture.format(**FURNITURE)}</body></html>") == ""


def test_a_line_with_a_copyright_sign_is_text_only_if_it_is_long() -> None:
    notice, text = "© its author, all rights reserved", f"{PARAGRAPHS[1]} © {PARAGRAPHS[3]} {PARAGRAPHS[4]}"
    assert len(text) > 200
    taken = main_text(f"<div><p>{PARAGRAPHS[0]}</p><p>{notice}</p><p>{text}</p><p>{PARAGRAPHS[2]}</p></div>")
    assert taken.splitlines() == [PARAGRAPHS[0], text, PARAGRAPHS[2]]


def test_at_most_a_third_of_a_text_is_links() -> None:
    for linked, is_text in [(40, True), (50, True), (51, False), (150, False)]:
        assert bool(main_text(f"<p><a href=/x>{'l' * linked}</a>{'t' * (150 - linked)}</p>")) is is_text


def test_a_chinese_text_is_long_enough_with_a_third_of_the_characters() -> None:
    for text, is_text in [("x" * 99, False), ("x" * 100, True), ("茶" * 33, False), ("茶" * 34, True)]:
        assert main_text(f"<p>{text}</p>") == (text if is_text else "")


# The choice among several texts


LONG = "".join(f"<p>{sentence(f'long {number}', 60)}</p>" for number in range(10))
COMMENTS = [f"remark {sentence(f'comment {number}', 13)}" for number in range(40)]


TWICE = [f"{comment} {comment}" for comment in COMMENTS]


def test_comments_do_not_outweigh_an_article() -> None:
    for comments, around_all, around_each in [
        *((TWICE, *tags) for tags in (("div", "div"), ("section", "article"))),  # together twice as long
        *((COMMENTS[:26], *tags) for tags in (("ol", "li"), ("ul", "li"), ("table", "td"), ("div", "p"))),  # two thirds
        ([f"<div>remark by somebody</div><p>{comment}</p>" for comment in TWICE], "ol", "li"),
    ]:
        blocks = "".join(f"<{around_each}>{comment}</{around_each}>" for comment in comments)
        text = main_text(f"<div><div>{LONG}</div><{around_all}>{blocks}</{around_all}></div>")
        assert "remark" not in text
        assert len(text.splitlines()) == 10


NAME = "How the ferry of the reed cutters came back"
STORY = "".join(f"<p>{sentence(f'story {number}', 30)}</p>" for number in range(6))
LETTERS = "".join(
    f"<div><p>{sentence(f'letter {number}', 30)}</p><p>{sentence(f'letter {number} too', 50)}</p></div>"
    for number in range(9)
)


AT_LAST = f"<h1><a href=/>The Reed</a></h1><h2>{NAME} at last</h2>"


@pytest.mark.parametrize("heading", [f"<h1>{NAME}</h1>", f"<h2>{NAME}</h2>", AT_LAST, "<h1>河边的老茶馆又开门了</h1>"])
@pytest.mark.parametrize("letters", [f"<div>{LETTERS}</div>", LETTERS], ids=["in one element", "side by side"])
def test_an_article_beside_its_title_is_not_outweighed_by_comments(letters: str, heading: str) -> None:
    parts = [letters, f"<article>{heading}<div>{STORY}</div></article>"]
    for html in (f"<div>{''.join(parts)}</div>", f"<div>{''.join(parts[::-1])}</div>"):
        text = main_text(html, f"{NAME} | 河边的老茶馆又开门了 | The Reed")
        assert text.splitlines() == main_text(f"<div>{STORY}</div>").splitlines()
        assert "ferry" not in main_text(html, "The Reed")


def test_a_short_opening_is_no_article_and_a_single_word_no_heading_of_one() -> None:
    for name, story in [
        (NAME, STORY[: STORY.index("</p>") + 4]),
        ("Ferry", STORY),
        ("What the reeve of another parish wrote to us", STORY),
    ]:
        html = f"<div><article><h1>{name}</h1><div>{story}</div></article><div>{LETTERS}</div></div>"
        assert main_text(html, f"{NAME} | The Reed").splitlines()[-1] == main_text(LETTERS).splitlines()[-1]


def test_two_or_three_articles_on_a_page_are_all_main_text() -> None:
    for lengths in [(60, 80, 70), (80, 80), (100, 80), (80, 90)]:
        articles = "".join(
            f"<article><p>{sentence(f'opening {number}', 20)}</p><p>{sentence(f'rest {number}', length)}</p></article>"
            for number, length in enumerate(lengths)
        )
        assert len(main_text(f"<div>{MENU_LIST}</div><div>{articles}</div>").splitlines()) == 2 * len(lengths)


OPENING = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS[:4])
REST = f"<p>{PARAGRAPHS[4]}</p>"
SHORT = "".join(f"<p>{sentence(f'remark {number}', 12)}</p>" for number in range(6))


def test_an_article_in_several_elements_below_its_name_is_the_main_text() -> None:
    for article in CASES["continued"]:
        text = main_text(f"<div>{MENU_LIST}<h1>{NAME}</h1>{article.format(OPENING, REST)}{TEASERS}</div>")
        assert {*PARAGRAPHS} <= {*text.splitlines()}
        assert "menu" not in text


ENTRIES = "".join(f"<li>{paragraph}</li>" for paragraph in PARAGRAPHS)


@pytest.mark.parametrize("longer", [f"<ul>{ENTRIES}</ul>", f"<div><section>{OPENING}{REST}</section></div>"])
def test_the_text_around_a_longer_list_or_section_is_main_text(longer: str) -> None:
    before, after = (sentence(f"around {number}", 18) for number in range(2))
    page = f"<div>{TEASERS}<p>{before}</p>{longer}<p>{after}</p>{TEASERS}</div>"
    assert main_text(page).splitlines() == [before, *PARAGRAPHS, after]


def test_what_is_not_known_to_continue_an_article_is_not_main_text() -> None:
    for page in CASES["not_continued"]:
        lines = main_text(f"<div>{page.format(OPENING, REST, short=SHORT)}</div>").splitlines()
        assert lines[-4:] == PARAGRAPHS[:4]
        assert PARAGRAPHS[4] not in lines


# Pages of every kind


def test_the_main_text_of_a_page_of_every_kind_is_found() -> None:
    for page in read_cases(__file__, "kindsofpages").values():
        assert main_text(page["html"]).splitlines() == page["main_text"]


def titles(count: int, length: int = 4) -> list[str]:
    return [sentence(f"title {number}", length) for number in range(count)]


def linked(lines: list[str]) -> str:
    return "".join(f"<div><a href=/{number}>{line}</a></div>" for number, line in enumerate(lines))


@pytest.mark.parametrize(("count", "is_text"), [(3, False), (4, True), (12, True)])
def test_the_titles_of_a_list_are_text_if_there_are_at_least_four(count: int, is_text: bool) -> None:
    assert main_text(linked(titles(count))).splitlines() == (titles(count) if is_text else [])


def test_titles_are_distinguished_from_the_entries_of_a_menu() -> None:
    menu = [f"our house no. {number}" for number in range(9)]
    assert main_text(linked(menu)) == ""
    assert main_text(linked([f"{entry}, rebuilt" for entry in menu])) != ""


def test_links_with_equal_texts_are_no_titles() -> None:
    buttons = ["Read on about all of this", "Show the comments of others"]
    assert main_text(linked(6 * buttons)) == ""
    assert main_text(linked(titles(6) + 2 * buttons)).splitlines() == titles(6) + 2 * buttons


def test_short_blocks_that_are_not_links_form_a_series_too() -> None:
    prices = [f"{number + 3} euros a piece" for number in range(5)]
    offers = "".join(f"<section><div>{price}</div><form>now</form></section>" for price in prices)
    assert main_text(f"<div>{MENU_LIST}</div><div>{offers}</div>").splitlines() == prices


@pytest.mark.parametrize(("count", "are_text"), [(6, False), (40, True)])
def test_titles_beside_a_text_are_main_text_if_they_are_a_third_of_it(count: int, are_text: bool) -> None:
    text = main_text(f"<div>{ARTICLE}{linked(titles(count))}</div>")
    assert (titles(count)[0] in text) is are_text
    assert PARAGRAPHS[4] in text


def test_content_for_wide_and_for_narrow_screens_is_counted_once() -> None:
    twice = f"<div><div><p>{PARAGRAPHS[0]}</p><p>{PARAGRAPHS[1]}</p></div><div><p>{PARAGRAPHS[0]}</p></div></div>"
    assert main_text(twice).splitlines() == PARAGRAPHS[:2]


def test_a_list_may_contain_the_same_entry_twice() -> None:
    lines = [*PARAGRAPHS[:2], PARAGRAPHS[0]]
    assert main_text("<ol>" + "".join(f"<li>{line}</li>" for line in lines) + "</ol>").splitlines() == lines


def test_a_text_is_not_the_main_text_if_most_of_the_page_stands_elsewhere() -> None:
    notice, remarks = sentence("notice", 54), [sentence(f"remark {number}", 3) for number in range(48)]
    assert len(notice) ** 1.5 > 0.6 * sum(len(line) ** 1.5 for line in (notice, *remarks))
    around = "".join(f"<div><div>{remark}</div></div>" for remark in remarks)
    assert main_text(f"<div><div><p>{notice}</p></div><div>{around}</div></div>").splitlines() == [notice, *remarks]


# Pages with a main text by people


_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def token_f1(main: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall, in words and Chinese characters."""
    tokens_of_main, tokens_of_gold = (Counter(_TOKEN.findall(text.lower())) for text in (main, gold))
    return 2 * (tokens_of_main & tokens_of_gold).total() / ((tokens_of_main.total() + tokens_of_gold.total()) or 1)


def test_the_main_text_agrees_with_the_one_that_people_marked(data: Path) -> None:
    scores: dict[str, list[float]] = {"en": [], "zh": []}
    for page in documents(data, "gold/gold.jsonl"):
        text = join_text(find_main_blocks(read_outline(parse(saved(data / page["html"])))))
        scores[page["lang"]].append(token_f1(text, page["text"]))
    assert mean(scores["en"] + scores["zh"]) >= 0.822
    assert mean(scores["en"]) >= 0.808
    assert mean(scores["zh"]) >= 0.915


def test_of_two_texts_the_one_of_the_title_is_the_main_text() -> None:
    for title, text, other_text in CASES["titles"]:
        parts = [f"<div><p>{text * 10}</p></div>", f"<div><p>{other_text * 11}</p></div>"]
        for html in ("".join(parts), "".join(parts[::-1])):
            assert text.strip() in main_text(html, title)
            assert other_text.strip() not in main_text(html, title)
            assert other_text.strip() in main_text(html), "without a title both are as good"


def test_a_title_does_not_outweigh_a_text_three_times_as_long() -> None:
    text, longer_text = "The cranes rest before they cross the sea. ", "Of the harbour little is left since the flood. "
    html = f"<div><p>{text * 3}</p></div><div><p>{longer_text * 12}</p></div>"
    assert text.strip() not in main_text(html, "How cranes cross the sea")
