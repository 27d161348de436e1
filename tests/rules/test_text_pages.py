"""Pages with a main text: which of them represents which."""

from __future__ import annotations

import pytest

from crawler_dedup import Verdict
from crawler_dedup.rules.limits import MAX_LIST_VARIANTS, MIN_PAGES
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


def test_a_mirror_of_a_list_with_text_is_a_duplicate_whatever_its_links(crawl: Crawl, mirror: Crawl) -> None:
    crawl.check("/calendar", calendar(1))
    assert mirror.check("/calendar", calendar(3)).verdict is Verdict.DUPLICATE


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


def without_name(*stories: str, below: str = "") -> str:
    shown = "".join(f"<article><h2>Story {name}</h2>{paragraphs(words(name, 150))}</article>" for name in stories)
    return page(SITE, f"{shown}{below}", MENU)


@knowing
def test_a_start_page_is_no_duplicate_of_the_story_that_it_shows(crawl: Crawl) -> None:
    assert crawl.check("/story", story("a")).verdict is Verdict.NEW
    assert crawl.check("/", without_name("a", below='<a href="/older">older stories</a>')).verdict is Verdict.NEW
    copy = without_name("a", below='<a href="/3">older stories</a>')
    assert crawl.check("/page/2", copy).verdict is Verdict.DUPLICATE


@knowing
def test_a_mirror_with_other_links_around_the_text_is_a_duplicate(crawl: Crawl, mirror: Crawl) -> None:
    crawl.check("/story/a", story("a", below=f"<ul>{MENU}</ul>"))
    menu = "".join(f'<li><a href="/cgi/{number}">room {number}</a></li>' for number in range(40))
    for title in (SITE, "Mirror of the house", "Tea | Mirror"):
        copy = story("a", site=title, menu=menu, below="<p>Mirrored by friends</p>")
        assert is_duplicate(mirror.check(f"/{title}", copy), "http://h/story/a", "alike")


def test_titles_made_of_few_words_distinguish_pages_of_a_known_site(crawl: Crawl) -> None:
    text = paragraphs(words("manual", 80))
    for _ in range(3):
        for kind in ("Installation", "Manual", "Repair", "Parts"):
            for thing in ("Router X", "Router Y", "Switch A", "Switch B"):
                body = page(f"{kind} | {thing}", f"<article>{text}</article>", MENU)
                assert crawl.check(f"/{kind}/{thing}", body).verdict in (Verdict.NEW, Verdict.UNCHANGED)


def test_a_text_whose_relative_link_leads_ever_deeper_is_dropped(crawl: Crawl) -> None:
    trap = page(f"Trap | {SITE}", f"<article>{paragraphs(words('trap', 100))}</article><a href='x/'>deeper</a>")
    assert [crawl.check("/" + "x/" * depth, trap).passes for depth in range(3)] == [True, False, False]


# What the rules for texts compare beside the words


def teasers(*names: str) -> str:
    texts = [(name, " ".join(words(f"teaser {name}", 30))) for name in names]
    shown = "".join(
        f"<div><h2><a href='/story/{name}'>The long story of {name}</a></h2><p>{text}</p></div>" for name, text in texts
    )
    return page(SITE, f"{shown}<article>{paragraphs(words('longest', 150))}</article>", MENU)


def test_a_page_of_several_texts_under_headings_is_covered_only_if_all_of_them_are(crawl: Crawl) -> None:
    """Most words of the new page are those of the longest text, which the kept page has too."""
    crawl.get_known()
    assert crawl.check("/1", teasers()).verdict is Verdict.NEW
    assert crawl.check("/2", teasers("a", "b", "c")).verdict is Verdict.NEW
    assert crawl.check("/3", teasers("a", "b", "d")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/4", teasers("a", "b")), "http://h/2", "alike")


NOTICE = f"<div><p>{' '.join(words('consent', 100))}</p><p>{' '.join(words('privacy', 100))}</p></div>"


@pytest.mark.parametrize("notice_first", [True, False], ids=["above", "below"])
@pytest.mark.parametrize("path", ["http://h/clock", "http://mirror/clock"], ids=["other design", "other host"])
def test_short_texts_beside_a_main_text_are_compared_line_by_line(crawl: Crawl, path: str, notice_first: bool) -> None:
    """Nothing is known of the sites. The main text of both pages is the notice, and is a small part of them."""

    def shop(name: str) -> str:
        lamps = zip(*[iter(words(name, 270))] * 3, strict=True)
        offers = "".join(f"<div><h3>{lamp} {glass}</h3><span>{price}</span></div>" for lamp, glass, price in lamps)
        content = f"<div><h2>Lamps</h2>{offers}</div>"
        return page(f"Lamps | {SITE}", NOTICE + content if notice_first else content + NOTICE, MENU)

    signer = crawl.deduplicator
    first, second = (signer.sign("http://h/x", shop(name).encode()) for name in ("swans", "clock"))
    assert first.signature == second.signature
    assert crawl.check("/swans", shop("swans")).verdict is Verdict.NEW
    menu = "".join(f'<a href="/other/{number}">another room {number}</a>' for number in range(9))
    clock = shop("clock").replace("</body>", f"<p>{menu}</p></body>").encode()
    assert crawl.deduplicator.check(path, clock).verdict is Verdict.NEW
    again = crawl.deduplicator.check(f"{path}/again", clock + b"<!-- -->")
    assert is_duplicate(again, path, "alike")


RULES = paragraphs(words("rules of the race", 150))


def race(name: str, below: str) -> str:
    return page(f"{name} | {SITE}", f"<article><h1>{name}</h1>{RULES}</article><div>{below}</div>", MENU)


def table(name: str) -> str:
    """Return a table of short cells below a text that the site repeats."""
    cells = "</td><td>".join(words(name, 120))
    return race("Results", f"<table><tr><td>{cells}</td></tr></table>")


def test_a_table_with_different_short_cells_below_a_repeated_text_is_another_page(crawl: Crawl) -> None:
    for number in range(MIN_PAGES):
        crawl.check(f"/race/{number}", race(f"Race {number}", paragraphs(words(number))))
    assert crawl.kind(table("spring")) is PageKind.TEXT
    assert crawl.check("/spring", table("spring")).verdict is Verdict.NEW
    assert crawl.check("/autumn", table("autumn")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/again", table("spring") + "<!-- -->"), "http://h/spring", "alike")


# Titles


def titled(title: str, heading: str = "", count: int = 120) -> str:
    named = f"<h1>{heading}</h1>" if heading else ""
    return page(title, f"<article>{named}{paragraphs(words('titled', count))}</article>", MENU)


def test_identical_titles_agree_even_if_one_site_writes_them_on_all_pages(crawl: Crawl, mirror: Crawl) -> None:
    for number in range(8):
        text = paragraphs(words(f"mirror {number}", 120))
        mirror.check(f"/{number}", page("Story a | Tea House", f"<article>{text}</article>", MENU))
    crawl.get_known()
    assert crawl.check("/a", titled("Story a | Tea House")).verdict is Verdict.NEW
    assert is_duplicate(mirror.check("/a", titled("Story a | Tea House") + "<!-- -->"), "http://h/a")


def test_before_the_site_is_known_a_title_part_in_a_heading_is_that_of_the_page(crawl: Crawl, mirror: Crawl) -> None:
    assert crawl.check("/ferry", titled("Ferry | Tea House", "Ferry")).verdict is Verdict.NEW
    assert crawl.check("/unnamed", titled("Ferry | River")).verdict is Verdict.NEW
    assert is_duplicate(mirror.check("/ferry", titled("Ferry - Mirror", "Ferry")), "http://h/ferry", "alike")
    assert mirror.check("/other", titled("Boats - Mirror", "Boats")).verdict is Verdict.NEW


def test_before_the_site_is_known_a_title_that_the_kept_page_names_may_name_the_site_otherwise(crawl: Crawl) -> None:
    name = "Ferries in winter: {}"
    kept = titled(f"{name.format('Helsinki')} - Tea House Weblog", name.format("Helsinki"))
    assert crawl.check("/a", kept).verdict is Verdict.NEW
    named = titled(f"{name.format('Helsinki')} | Tea House", name.format("Helsinki"))
    assert is_duplicate(crawl.check("/b", named), "http://h/a", "alike")
    other = titled(f"{name.format('Tallinn')} | Tea House", name.format("Tallinn"))
    assert crawl.check("/c", other).verdict is Verdict.NEW


def test_the_name_of_the_site_in_a_linked_heading_does_not_name_the_page(crawl: Crawl) -> None:
    for number, thing in enumerate(("Widget", "Gadget")):
        heading = "</h1><h1><a href=/>Acme</a>"
        other_shop = Crawl(crawl.deduplicator, f"http://shop{number}")
        assert other_shop.check("/", titled(f"{thing} | Acme", heading, 80)).verdict is Verdict.NEW
