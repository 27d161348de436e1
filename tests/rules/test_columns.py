"""Columns beside the text, which change with the time of the visit: they belong to the site, and not to the page."""

from collections.abc import Callable

import pytest

from crawler_dedup import Verdict
from tests.support.crawling import words
from tests.support.sitepages import Crawl, is_duplicate, story

PAGES, PAGES_EACH = 31, 3
HEADING = "<h2>Latest comments</h2>"
Column = Callable[[int], str]
"""Returns the column that pages show in a period."""


def comment(period: int, place: int, word: str = "on") -> str:
    name, *title = words(("comment", period, place), 5)
    return f"<li><a href=/by/{name}>{name}</a> {word} <a href=/about/{title[0]}#c{place}>{' '.join(title)}</a></li>"


def comments(period: int, *, heading: str = HEADING, lines: int = 5, word: str = "on") -> str:
    return f"{heading}<ul>{''.join(comment(period, place, word) for place in range(lines))}</ul>"


def get_known(crawl: Crawl, column: Column) -> None:
    """Handle pages of several periods, and then one more page, of the first one, which completes a snapshot."""
    for number in range(PAGES):
        content = story(f"known {number}", below=column(number // PAGES_EACH))
        assert crawl.check(f"/known/{number}", content).verdict is Verdict.NEW
    assert crawl.check("/tea", story("tea", below=column(0))).verdict is Verdict.NEW


def test_a_text_is_found_again_beside_the_latest_comments_of_another_day(crawl: Crawl) -> None:
    get_known(crawl, comments)
    assert is_duplicate(crawl.check("/tea?later", story("tea", below=comments(1))), "http://h/tea", "alike")
    assert crawl.check("/tea", story("tea", below=comments(2))).verdict is Verdict.UNCHANGED


WORDS = ("on", "cancelled", "delayed for", "approved by", "instead of")
LISTS: dict[str, Column] = {
    "different words in the lines": lambda period: (
        f"{HEADING}<ul>{''.join(comment(period, place, word) for place, word in enumerate(WORDS))}</ul>"
    ),
    "lines that link to whole pages, as those of a cast": lambda period: comments(period, word="as").replace("#c", ""),
    "two lines": lambda period: comments(period, lines=2),
    "lines of one link": lambda period: (
        comments(period).replace("<a href=/by/", "<b data-by=").replace("</a> on", "</b> on")
    ),
}


@pytest.mark.parametrize("column", LISTS.values(), ids=LISTS)
def test_lists_beside_a_text_that_may_be_its_own_count(crawl: Crawl, column: Column) -> None:
    get_known(crawl, column)
    assert crawl.check("/tea?later", story("tea", below=column(1))).verdict is Verdict.NEW


def test_lines_of_other_pages_count_below_a_heading_of_few_pages(crawl: Crawl) -> None:
    get_known(crawl, comments)
    for period, path in enumerate(("/guests", "/guests?later")):
        guests = story("guests", below=comments(period, heading="<h2>Guests</h2>"))
        assert crawl.check(path, guests).verdict is Verdict.NEW


def test_a_list_that_only_one_page_shows_counts_below_a_heading_of_the_site(crawl: Crawl) -> None:
    get_known(crawl, comments)
    assert crawl.check("/tea?page=2", story("tea", below=comments(PAGES))).verdict is Verdict.NEW
    assert crawl.check("/tea", story("tea", below=comments(PAGES))).verdict is Verdict.CHANGED


def values(*lines: tuple[str, str]) -> str:
    return "".join(f"<p><a href=/entry/{name}>{name}</a></p><p>{value}</p>" for name, value in lines)


def rates(period: int) -> str:
    """Return the rates of a room, which many rooms have."""
    names = "Saver Member Student Senior Children" if period % 2 else "Flexible Breakfast Board Suite Family"
    return values(*((name, f"{40 * (2 + period % 2) + place} EUR") for place, name in enumerate(names.split())))


def test_values_beside_links_count_although_many_pages_have_both(crawl: Crawl) -> None:
    get_known(crawl, rates)
    assert crawl.check("/tea?later", story("tea", below=rates(1))).verdict is Verdict.NEW
