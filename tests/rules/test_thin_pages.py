"""Pages with little main text are compared by the blocks that stand on them alone."""

from contextlib import closing
from pathlib import Path

import pytest

from crawler_dedup import Config, Decision, Deduplicator, Verdict
from crawler_dedup.index import opening
from crawler_dedup.rules.limits import MIN_PAGES
from tests.support.crawling import words
from tests.support.indexing import FILING
from tests.support.sitepages import (
    MENU,
    SITE,
    STORIES,
    Crawl,
    is_duplicate,
    knowing,
    listing,
    page,
    story,
)
from tests.support.verification import verify

# Short texts


NOTICE = "The house by the river is closed on Monday, open again from Tuesday noon"


def notice(
    text: str = NOTICE, *, title: str = "Notice | Tea House", name: str = "Notice", extra: str = "", menu: str = ""
) -> str:
    heading = f"<h1>{name}</h1>" if name else ""
    return page(title, f"{heading}<p>{text}</p>{extra}<p>See <a href='/hours'>hours</a></p>", menu)


@knowing
@pytest.mark.parametrize("title", ["Remark | Tea House", "Notice 2 | Tea House", "Tea House", ""])
def test_pages_of_a_known_site_that_differ_only_in_the_title_are_copies(crawl: Crawl, title: str) -> None:
    is_known = crawl.deduplicator.check("http://h/1", notice().encode()).snapshot > 0
    assert (crawl.check("/2", notice(title=title)).verdict is Verdict.DUPLICATE) is is_known


@pytest.mark.parametrize(
    "difference",
    [
        "<img src='/photo/{}.jpg'>",
        "<aside>number {}</aside>",
        "<textarea>number {}</textarea>",
        "<iframe src='/player/{}'></iframe>",
        "<button>number {}</button>",
        '<script id=__NEXT_DATA__ type=application/json>{{"id": {}}}</script>',
    ],
)
@knowing
def test_short_pages_that_differ_in_elements_without_text_are_all_kept(crawl: Crawl, difference: str) -> None:
    for number in (1, 2):
        assert crawl.check(f"/{number}", notice(extra=difference.format(number))).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/again", notice(extra=difference.format(1) + "<!-- -->")), "http://h/1")


@knowing
@pytest.mark.parametrize("other_answers", [("Yes", "No", "No", "No"), ("Yes", "No", "Yes")])
def test_a_repeated_line_counts_as_often_as_it_occurs(crawl: Crawl, other_answers: tuple[str, ...]) -> None:
    for path, answers in (("/1", ("Yes", "No", "Yes", "Yes")), ("/2", other_answers)):
        assert crawl.check(path, notice(extra=f"<p>{'</p><p>'.join(answers)}</p>")).verdict is Verdict.NEW


# The blocks of a page alone


def remark(name: object, *, frame: str = "") -> str:
    """Return a page of some 400 letters of its own, in eight lines of two words."""
    lines = [line_of_two(f"{name} {number}") for number in range(8)]
    table = "".join(f"<tr><td>{line}</td></tr>" for line in lines)
    return page(
        f"Remark {name} | {SITE}", f"{frame}<h1>Remark {name}</h1><table>{table}</table><a href=/>home</a>", MENU
    )


def line_of_two(seed: str) -> str:
    parts = words(seed, 8)
    return f"{''.join(parts[:4])} {''.join(parts[4:])}".capitalize()


# Pages without content


LOG_IN = (
    "<form><p>Please tell us who you are before we show you this page</p><input name=who><input type={} name=x></form>"
)
NO_TEXT = {
    "log in": page("Log in | Tea House", LOG_IN.format("password") + "<a href='/help'>help</a>"),
    "error of an application": page(
        "Error", "<h1>Something went wrong</h1><p>The server could not answer, try again later</p><script></script>"
    ),
    "shell": '<!doctype html><title>App</title><div id="root"></div><script src="/app.js">var a = "b c d e f g h";</script>',
    "shell with a hint": "<title>App</title><noscript>You need to enable scripts to run this app, it is made of them"
    '</noscript><a href="/app"></a>',
    "hardly a word": page("Tea House", "<p>Please wait <a href='/on'>go on</a></p>"),
    "empty": "",
    "empty body": page("", ""),
    "only a title": page("Story of the house by the river and of all that came to pass there", ""),
}


@pytest.mark.parametrize("name", NO_TEXT)
@knowing
def test_a_page_without_content_passes_unchecked_at_every_address(crawl: Crawl, name: str) -> None:
    before = len(crawl.deduplicator)
    for number in range(20):
        decision = crawl.check(f"/page/{number}", NO_TEXT[name])
        assert (decision.verdict, decision.reason, decision.passes) == (Verdict.UNCHECKED, "too little text", True)
    assert len(crawl.deduplicator) == before
    for path, content in (("/story/x", story("x")), ("/notice", notice()), ("/page/1", story("y"))):
        assert crawl.check(path, content).verdict is Verdict.NEW  # it represents none


# Lists


def test_pictures_in_a_list_belong_to_its_entries(crawl: Crawl) -> None:
    """Pictures of entries have new addresses in each visit. On one host a page of two photographs is not a list."""
    crawl.get_known()
    pictures = [f"<img src=/thumb/{visit}/{{}}.jpg>" for visit in range(2)]
    first, second = (listing("Archive", STORIES, picture=picture) for picture in pictures)
    assert crawl.check("/archive", first).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/archive/again", second), "http://h/archive", "alike")


# Which candidates are found


@knowing
def test_a_copy_is_found_among_many_pages_with_its_title(crawl: Crawl) -> None:

    def check(number: int, extra: str = "") -> Decision:
        text = " ".join(words(f"same title {number}", 6))
        return crawl.check(f"/{number}{extra}", notice(text.capitalize(), extra=extra and f"<!-- {extra} -->"))

    assert all(check(number).verdict is Verdict.NEW for number in range(60))
    for number in (0, 31, 59):
        assert is_duplicate(check(number, "again"), f"http://h/{number}")


# Visited again, and removed


VISITED = [notice(text="Loading", name="", title=SITE, menu=MENU), listing("Archive", STORIES), remark("a"), notice()]


@knowing
@pytest.mark.parametrize("body", VISITED, ids=["frame", "list", "lines", "notice"])
def test_a_page_that_is_visited_again_is_unchanged(crawl: Crawl, body: str) -> None:
    assert crawl.check("/1", body).verdict is Verdict.NEW
    assert crawl.check("/1", f"{body}<!-- token -->").verdict is Verdict.UNCHANGED


def test_a_page_is_recognised_after_its_site_stops_showing_a_block_on_every_page(crawl: Crawl) -> None:
    banner = "<h2>Our summer fair begins on the first of May</h2>"
    for number in range(MIN_PAGES):
        crawl.check(f"/known/{number}", story(f"known {number}", below=banner))
    club = remark("club", frame=banner)
    assert crawl.check("/club", club).verdict is Verdict.NEW
    for number in range(MIN_PAGES, 32):
        crawl.check(f"/known/{number}", story(f"known {number}"))
    assert is_duplicate(crawl.check("/club/again", f"{club}<!-- again -->"), "http://h/club")
    assert crawl.check("/club", f"{club}<!-- token -->").verdict is Verdict.UNCHANGED


def test_pages_with_the_same_blocks_are_found_and_removed_whether_or_not_the_site_was_known(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        crawl = Crawl(deduplicator)
        early = crawl.check("/early", remark("a"))
        crawl.get_known()
        late = crawl.check("/late", remark("a").replace("href=/", "href=/lower"))
        assert (early.verdict, late.verdict) == (Verdict.NEW, Verdict.NEW)
        deduplicator.release(early)
        assert is_duplicate(crawl.check("/copy", remark("a").replace("href=/", "href=/lower")), "http://h/late")
        deduplicator.release(late)
    with closing(opening.open_index(tmp_path)) as pages:
        assert verify(pages, FILING) == []


def test_what_another_host_writes_on_all_its_pages_is_not_ignored_here(crawl: Crawl, mirror: Crawl) -> None:
    heading = "<h2>The motion was rejected on Monday</h2>"
    crawl.get_known()
    for number in range(2 * MIN_PAGES):
        mirror.check(f"/{number}", story(f"mirrored {number}", below=heading))
    assert mirror.check("/remark", remark("a")).verdict is Verdict.NEW
    assert crawl.check("/remark", remark("a", frame=heading)).verdict is Verdict.NEW


@knowing
def test_another_picture_makes_another_page_also_on_another_host(crawl: Crawl, mirror: Crawl) -> None:
    river, lake = (notice(extra=f"<img src='/photo/{name}.jpg'>") for name in ("river", "lake"))
    assert crawl.check("/1", river).verdict is Verdict.NEW
    assert mirror.check("/1", lake).verdict is Verdict.NEW
