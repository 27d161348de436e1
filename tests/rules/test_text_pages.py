"""Pages with a main text: which of them represents which."""

import pytest

from crawler_dedup import Verdict
from crawler_dedup.rules.limits import MAX_LIST_VARIANTS
from crawler_dedup.signedpage import PageKind
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, knowing, page, story

# Lists with text


ESSAY = paragraphs(words("essay", 90))


def calendar(number: int) -> str:
    """Return a page with the text of all other pages and links of its own."""
    days = "".join(f'<li><a href="/day/{number}/{day}">at the river, {day}</a></li>' for day in range(60))
    return page(f"Calendar | {SITE}", f"<div>{ESSAY}<ul>{days}</ul></div>")


def test_a_limited_number_of_variants_of_a_list_passes(crawl: Crawl) -> None:
    assert crawl.kind(calendar(0)) is PageKind.TEXT
    passing = [crawl.check(f"/calendar/{number}", calendar(number)).passes for number in range(MAX_LIST_VARIANTS + 2)]
    assert passing == [True] * MAX_LIST_VARIANTS + [False] * 2
    last = crawl.check("/calendar/last", calendar(1000))
    assert is_duplicate(last, last.duplicate_of, "too many variants of a list")
    assert last.duplicate_of.startswith("http://h/calendar/")


# Which page represents which


def category(number: int, entries: int = 20) -> str:
    """Return a page of a category that has a text above its list."""
    names = [" ".join(words(f"entry {number} {place}", 2)) for place in range(entries)]
    items = "".join(f"<li><a href='/tea/{name}'>{name}</a><p>9.50</p></li>" for name in names)
    pages = "".join(f"<a href='?page={other}'>{other}</a> " for other in range(1, 5))
    text = f"<h1>Green teas</h1><div>{paragraphs(words('green teas', 150))}</div><ol>{items}</ol><p>{pages}</p>"
    return page(f"Green teas | {SITE}", text, MENU)


@knowing
def test_each_page_of_a_list_below_a_text_is_kept_and_found_again(crawl: Crawl) -> None:
    assert crawl.kind(category(1)) is PageKind.TEXT
    for number in range(1, 4):
        assert crawl.check(f"/green?page={number}", category(number)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/copy", category(2) + "<!-- copy -->"), "http://h/green?page=2")
    assert is_duplicate(crawl.check("/less", category(3, 19)), "http://h/green?page=3")


@pytest.mark.parametrize("crawl", [True], ids=["site known"], indirect=True)
def test_a_last_page_with_few_entries_below_a_text_is_kept(crawl: Crawl) -> None:
    assert crawl.check("/green?page=1", category(1)).verdict is Verdict.NEW
    assert crawl.check("/green?page=2", category(2, 3)).verdict is Verdict.NEW
    assert crawl.check("/red?page=1", category(3, 0)).verdict is Verdict.DUPLICATE


@pytest.mark.parametrize("separator", ["<br>", ", ", " | ", "、", "&nbsp;· "])
@knowing
def test_a_list_in_one_block_below_a_text_is_compared(crawl: Crawl, separator: str) -> None:
    for number in range(3):
        links = separator.join(
            f"<a href='/tea/{number}/{place}'>{' '.join(words((number, place), 2))}</a>" for place in range(6)
        )
        content = story("tea", below=f"<div>{links}</div>")
        assert crawl.check(f"/?page={number}", content).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/copy", content + "<!-- copy -->"), "http://h/?page=2")


def test_links_to_the_pages_beside_a_text_in_another_design_are_no_list(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.check("/story", story("tea")).verdict is Verdict.NEW
    beside = "".join(f"<a href='/{name}'><p>{name}</p></a>" for name in ("older", "newer"))
    archive = "".join(f"<li><a href='/{year}'>All of our stories of {year}</a>" for year in range(8))
    assert crawl.check("/2024/story", story("tea", below=beside)).verdict is Verdict.DUPLICATE
    assert crawl.check("/list", story("tea", below=f"<ul>{archive}</ul>")).verdict is Verdict.NEW


def test_a_text_whose_relative_link_leads_ever_deeper_is_dropped(crawl: Crawl) -> None:
    trap = page(f"Trap | {SITE}", f"<article>{paragraphs(words('trap', 100))}</article><a href='x/'>deeper</a>")
    assert [crawl.check("/" + "x/" * depth, trap).passes for depth in range(3)] == [True, False, False]
