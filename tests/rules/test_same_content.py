"""The same content again, at another address or in another state of a known site."""

from collections.abc import Sequence
from urllib.parse import quote

import pytest

from crawler_dedup import Verdict
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signedpage import PageKind
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, STORIES, Crawl, entries, is_duplicate, knowing, listing, page, story

LATER = 64
"""With so many pages, a block that only half of the first eight have is no longer shared."""
RULES = " ".join(words("rules of the house", 24)).capitalize() + "."


def chapter(*, above: str = "", below: str = "") -> str:
    text = f"<article><h1>Preparing the kettle</h1>{above}{paragraphs(words('kettle', 150))}</article>"
    return page(f"Preparing the kettle | {SITE}", f"{text}{below}", MENU)


# Addresses


def listing_with_link(link: str) -> str:
    stories = "".join(f"<li><a href='/story/{number}'>{' '.join(words(number, 4))}</a></li>" for number in range(8))
    heading = f"<h1>Stories of the kettle</h1><p><a href='{link}'>permanent address</a></p>"
    return page(f"Stories of the kettle | {SITE}", f"{heading}<ul>{stories}</ul>", MENU)


@knowing
@pytest.mark.parametrize(
    ("paths", "links"),
    [
        (("/v1/list.html", "/v2/list.html"), ("list.html", "list.html")),
        (("/list?view=1", "/list?view=2"), ("?view=1", "?view=2#top")),
        (("/list", "/copy"), ("http://h/list", "/list")),
        (("/list", "/copy"), ("/list", "/copy")),
    ],
)
def test_a_list_that_links_to_itself_is_the_same(crawl: Crawl, paths: tuple[str, str], links: tuple[str, str]) -> None:
    kept, new = map(listing_with_link, links)
    assert crawl.kind(kept) is PageKind.THIN
    assert crawl.check(paths[0], kept).verdict is Verdict.NEW
    assert is_duplicate(crawl.check(paths[1], new + "<!-- -->"), f"http://h{paths[0]}")
    assert crawl.check("/elsewhere", listing_with_link("/third")).verdict is Verdict.NEW


TWO_ADDRESSES = ("/topics/view.php?f=2&t=7", "/topics/view.php?f=2&p=19&t=7")


@knowing
@pytest.mark.parametrize(
    ("paths", "links", "duplicate"),
    [
        (TWO_ADDRESSES, ("/login?to=view.php%3Ft%3D7%26f%3D2", "/login?to=view.php%3Ff%3D2%26p%3D19%26t%3D7"), True),
        (TWO_ADDRESSES, [f"/login?mode=1&next={quote(path, safe='')}" for path in TWO_ADDRESSES], True),
        (TWO_ADDRESSES, [f"/login?url={quote('http://h' + path)}" for path in TWO_ADDRESSES], True),
        (("/a.php?title=Old_tea", "/a.php?title=Tea"), ("/login?returnto=Old+tea", "/login?returnto=Tea"), True),
        (("/wiki/Old_tea", "/wiki/Tea"), ("/login?returnto=Old_tea", "/login?returnto=Tea"), True),
        (TWO_ADDRESSES, ("/login?to=/topics/view.php?t=8", "/login?to=/topics/view.php?t=9"), False),
        (("/tea/5", "/tea/6"), ("/reviews?product=5", "/reviews?product=6"), False),
        (("/list?page=1", "/list?page=2"), ("/list?page=2", "/list?page=3"), False),
    ],
)
def test_a_link_that_carries_the_address_of_its_page_is_no_other_link(
    crawl: Crawl, paths: Sequence[str], links: Sequence[str], duplicate: bool
) -> None:
    kept, new = map(listing_with_link, links)
    assert crawl.check(paths[0], kept).verdict is Verdict.NEW
    assert (crawl.check(paths[1], new).verdict is Verdict.DUPLICATE) is duplicate


POST = "/2026/01/13/kettle"


@knowing
@pytest.mark.parametrize("date", ["Jan 13, 2026", "13 janvier 2026", "2026-01-13 12:00"])
def test_a_date_that_both_addresses_contain_makes_no_other_page(crawl: Crawl, date: str) -> None:
    assert crawl.check(f"{POST}.html", chapter()).verdict is Verdict.NEW
    assert is_duplicate(crawl.check(f"{POST}/", chapter(above=f"<p>{date}</p>")), f"http://h{POST}.html", "alike")


@knowing
@pytest.mark.parametrize(
    ("kept", "paths", "new"),
    [
        ("", (f"{POST}.html", f"{POST}/"), "Jan 14, 2026"),
        ("", (f"{POST}.html", f"{POST}/"), "Cancelled on Jan 13, 2026"),
        ("", (f"{POST}.html", f"{POST}/"), "<td>Day<td>Jan 13, 2026"),
        ("Jan 20, 2026", (f"{POST}.html", f"{POST}/"), "Jan 13, 2026"),
        ("<h2>Closing day</h2>", (f"{POST}.html", f"{POST}/"), "<h2>Closing day</h2><p>Jan 13, 2026"),
        ("", ("/kettle.html", f"{POST}/"), "Jan 13, 2026"),
        ("", ("/2026/01/14/kettle", f"{POST}/"), "Jan 13, 2026"),
        ("", ("/03.04.2026/kettle.html", "/03.04.2026/kettle/"), "03/04/2026"),
    ],
)
def test_a_date_counts_if_the_kept_page_does_not_say_it_too(
    crawl: Crawl, kept: str, paths: tuple[str, str], new: str
) -> None:
    for path, line in zip(paths, (kept, new), strict=True):
        content = chapter(above=f"<table><tr>{line}</table>" if line[:3] == "<td" else f"<p>{line}</p>")
        assert crawl.check(path, content).verdict is Verdict.NEW


@knowing
def test_a_date_counts_on_a_page_with_little_text_although_both_addresses_contain_it(crawl: Crawl) -> None:
    for path, date in ((f"{POST}/1", ""), (f"{POST}/2", "<p>Jan 13, 2026</p>")):
        body = f"<h1>Kettles</h1><h2>Closing day</h2>{date}<ul>{entries(STORIES)}</ul>"
        content = page(f"Kettles | {SITE}", body, MENU)
        assert crawl.kind(content) is PageKind.THIN
        assert crawl.check(path, content).verdict is Verdict.NEW


def test_a_date_counts_if_the_kept_page_has_one_that_many_pages_have(crawl: Crawl) -> None:
    for number in range(2 * MIN_PAGES):
        known = page(
            f"Story {number} | {SITE}", f"<h1>Story {number}</h1><p>Jan 20, 2026</p>{paragraphs(words(number))}", MENU
        )
        assert crawl.check(f"/known/{number}", known).verdict is Verdict.NEW
    for path, date in ((f"{POST}.html", "Jan 20, 2026"), (f"{POST}/", "Jan 13, 2026")):
        assert crawl.check(path, chapter(above=f"<p>{date}</p>")).verdict is Verdict.NEW


@knowing
def test_a_picture_that_nobody_sees_is_no_other_picture(crawl: Crawl) -> None:
    def remark(number: int, size: int) -> str:
        picture = f"<img src='/count?{number}' width={size} height='1px'>"
        return page(f"A remark | {SITE}", f"<h1>A remark</h1><p>{'The kettle sings. ' * 20}</p>{picture}", MENU)

    assert crawl.kind(remark(1, 2)) is PageKind.THIN
    assert crawl.check("/1", remark(1, 2)).verdict is Verdict.NEW
    assert crawl.check("/2", remark(2, 1)).verdict is Verdict.DUPLICATE
    assert crawl.check("/3", remark(3, 40)).verdict is Verdict.NEW


# What the pages of a site have in common, and later have not

BOXES = {
    "paragraph in the text": {"above": f"<p>{RULES}</p>"},
    "fact in the text": {"above": "<h2>Members only</h2><p>Open until 6 pm</p>"},
    "paragraph below the text": {"below": f"<div><p>{RULES}</p></div>"},
}


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_a_text_is_found_after_its_site_stops_showing_a_block_on_most_pages(crawl: Crawl, box: dict[str, str]) -> None:
    (shown,) = box.values()
    for number in range(MIN_PAGES):
        crawl.check(f"/known/{number}", story(f"known {number}", below=shown if number % 2 else ""))
    assert crawl.check("/kept", chapter(**box)).verdict is Verdict.NEW
    for number in range(MIN_PAGES, LATER):
        crawl.check(f"/known/{number}", story(f"known {number}"))
    assert is_duplicate(crawl.check("/again", chapter(**box) + "<!-- -->"), "http://h/kept", "alike")


def printed(content: str, day: str) -> str:
    return content.replace("</body>", f"<div>Printed on {day}</div></body>")


def test_a_date_that_all_pages_of_a_state_share_makes_no_other_text_after_eight_pages(crawl: Crawl) -> None:
    contents = listing("Contents", STORIES)
    old, new = "12 May 2026", "7 October 2026"
    for number in range(23):
        assert crawl.check(f"/v1/{number}", printed(story(number), old)).verdict is Verdict.NEW
    assert crawl.check("/v1/contents", printed(contents, old)).verdict is Verdict.NEW
    for number in range(MIN_PAGES):
        assert crawl.check(f"/v2/{number}", printed(story(number), new)).verdict is Verdict.NEW
    for number in range(MIN_PAGES, 23):
        assert is_duplicate(crawl.check(f"/v2/{number}", printed(story(number), new)), f"http://h/v1/{number}")
    # On a thin page, a date may be all that distinguishes it: of a film, the day on which it is shown.
    assert crawl.check("/v2/contents", printed(contents, new)).verdict is Verdict.NEW


# Two sites that know different things of the same blocks


@pytest.mark.parametrize("shared_on_kept", [False, True], ids=["shared on new", "shared on kept"])
def test_blocks_that_only_one_of_two_sites_shares_make_no_other_thin_page(
    crawl: Crawl, mirror: Crawl, shared_on_kept: bool
) -> None:
    lines = "<h3>In the games of the guild</h3><p>Please switch on scripts to see the comments</p>"
    site = crawl if shared_on_kept else mirror
    for number in range(2 * MIN_PAGES):
        site.check(f"/known/{number}", story(f"{number}", below="" if number % 3 else lines))
    tiles = page("Tiles 2", f"{lines}<h2><a href='tiles'>Tiles 2, a game</a></h2><p>To be tried at once.</p>")
    assert crawl.kind(tiles) is PageKind.THIN
    assert crawl.check("/tiles", tiles).verdict is Verdict.NEW
    assert is_duplicate(mirror.check("/tiles", f"{tiles}<!-- -->"), "http://h/tiles")


# Titles


def test_pages_whose_titles_have_the_same_parts_in_another_order_are_two_directions(crawl: Crawl) -> None:
    for direction in ("Leith – Hull", "Hull – Leith"):
        fare = f"<h1>{direction}</h1><p>A ticket costs 3 €.</p>{paragraphs(words('fare', 60))}"
        assert crawl.check(f"/{direction[0]}", page(f"{direction} | {SITE}", fare, MENU)).verdict is Verdict.NEW


def test_a_state_that_many_titles_have_counts_where_the_page_shows_it(crawl: Crawl) -> None:
    states = "Sold", "For sale", "Let"
    houses = [(f"House {number}", states[number % 3]) for number in range(2 * MIN_PAGES)]
    for place, (name, state) in enumerate([*houses, ("The mill", "Sold"), ("The mill", "For sale")]):
        house = f"<h1>{name}</h1><p>{state}</p>{paragraphs(words(name, 60))}"
        assert crawl.check(f"/{place}", page(f"{name} | {state} | {SITE}", house, MENU)).verdict is Verdict.NEW


def test_a_heading_with_the_numbers_of_the_title_in_another_order_counts(crawl: Crawl) -> None:
    for path, result, verdict in [
        ("/1", "Lions 2 Bears 1", Verdict.NEW),
        ("/2", "Lions 1 Bears 2", Verdict.NEW),
        ("/3", "Bears 1 – Lions 2", Verdict.DUPLICATE),
    ]:
        match = f"<h1>The final</h1><h2>{result}</h2>{paragraphs(words('match', 60))}"
        title = f"The final: Lions 2 Bears 1 | {SITE}"
        assert crawl.check(path, page(title, match, MENU)).verdict is verdict


def test_a_title_may_end_with_a_minus(crawl: Crawl) -> None:
    text = f"<p>Blood group A- is rare.</p>{paragraphs(words('blood', 60))}"
    assert crawl.check("/1", page("Blood group A-", text)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/2", page("Blood group A-", f"<h1>Blood group A-</h1>{text}")), "http://h/1")
