from __future__ import annotations

import html as markup
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_dedup import Config, Decision, Deduplicator, Verdict
from crawler_dedup.rules.sites import MIN_PAGES
from crawler_dedup.signedpage import PageKind
from tests.support.crawling import paragraphs, words

MENU = "".join(f'<li><a href="/menu/{number}">section {number}</a></li>' for number in range(6))
SITE = "Tea House"
INTRODUCTION = "Stories from the river, written by guests, waiters and passing sailors, newest above, oldest below"


def page(title: str, body: str, menu: str = "") -> str:
    head = f"<!doctype html><html><head><title>{markup.escape(title)}</title></head>"
    return f"{head}<body><ul>{menu}</ul><div>{body}</div></body></html>"


def story(name: object, count: int = 150, *, site: str = SITE, menu: str = MENU, below: str = "") -> str:
    body = f"<article><h1>Story {name}</h1>{paragraphs(words(name, count))}</article>{below}"
    return page(f"Story {name} | {site}", body, menu)


def listing(name: str, stories: list[str], *, introduction: str = INTRODUCTION, menu: str = MENU) -> str:
    """A page that leads to stories and says little itself."""
    items = "".join(f'<li><a href="{href}">{" ".join(words(href, 4))}</a></li>' for href in stories)
    return page(f"{name} | {SITE}", f"<h1>{introduction}</h1><p>{name}</p><ul>{items}</ul>", menu)


STORIES = [f"/story/{number}" for number in range(8)]


class Crawl:
    """One host after the other on one index."""

    def __init__(self, deduplicator: Deduplicator, host: str = "http://h") -> None:
        self.deduplicator = deduplicator
        self.host = host

    def check(self, path: str, body: str) -> Decision:
        return self.deduplicator.check(self.host + path, body.encode())

    def kind(self, body: str) -> PageKind | str:
        signed = self.deduplicator.sign(self.host + "/x", body.encode())
        return signed.unsigned or signed.kind

    def get_known(self) -> Crawl:
        for number in range(MIN_PAGES):
            assert self.check(f"/known/{number}", story(f"known {number}")).verdict is Verdict.NEW
        return self


@pytest.fixture
def crawl(deduplicator: Deduplicator) -> Crawl:
    return Crawl(deduplicator)


@pytest.fixture
def bounded(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Crawl]:
    """A crawl with the bound of variants that the test gives."""
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", max_list_variants=request.param)) as opened:
        yield Crawl(opened)


def is_duplicate(decision: Decision, of: str, rule: str = "") -> bool:
    assert decision.match is None or not rule or decision.match.rule == rule
    return decision.verdict is Verdict.DUPLICATE and decision.duplicate_of == of


# Short pages


NOTICE = "The house by the river is closed on Monday, open again from Tuesday noon"


def notice(
    text: str = NOTICE,
    *,
    title: str = "Notice | Tea House",
    link: str = "/hours",
    extra: str = "",
    label: str = "hours",
) -> str:
    return page(title, f"<p>{text}</p>{extra}<p>See <a href='{link}'>{label}</a></p>")


def test_short_pages_with_the_same_text_title_and_links_are_duplicates(crawl: Crawl) -> None:
    assert crawl.kind(notice()) is PageKind.SHORT
    assert crawl.check("/1", notice()).verdict is Verdict.NEW
    copy = notice(extra="<!-- made on another day -->")
    assert is_duplicate(crawl.check("/2", copy), "http://h/1", "same short page")
    assert is_duplicate(Crawl(crawl.deduplicator, "http://mirror").check("/1", copy), "http://h/1")


@pytest.mark.parametrize(
    "other",
    [
        notice(NOTICE.replace("Monday", "Sunday")),
        notice(NOTICE + " sharp"),
        notice(NOTICE.replace("closed on", "closed")),
        notice(title="Remark | Tea House"),
        notice(title="Notice 2 | Tea House"),
        notice(title="Tea House"),
        notice(title=""),
    ],
    ids=["word", "longer", "stop word", "title", "number in title", "no title of its own", "no title"],
)
def test_a_short_page_with_another_text_or_title_is_kept(crawl: Crawl, other: str) -> None:
    crawl.check("/1", notice())
    assert crawl.kind(other) is PageKind.SHORT
    assert crawl.check("/2", other).verdict is Verdict.NEW
    assert Crawl(crawl.deduplicator, "http://mirror").check("/2", other).verdict is Verdict.DUPLICATE


@pytest.mark.parametrize(
    "other",
    [notice(link="/hours/today"), notice(extra='<p><a href="/files/day.pdf">the paper</a></p>')],
    ids=["leads elsewhere", "one link more"],
)
def test_a_short_page_with_another_link_is_kept(crawl: Crawl, other: str) -> None:
    crawl.check("/1", notice())
    assert crawl.kind(other) is PageKind.SHORT
    assert crawl.check("/2", other).verdict is Verdict.NEW


def test_a_short_page_with_another_title_on_another_host_is_kept(crawl: Crawl) -> None:
    crawl.check("/1", notice())
    other = notice(title="Remark | Tea House")
    assert Crawl(crawl.deduplicator, "http://mirror").check("/1", other).verdict is Verdict.NEW


def test_a_short_page_is_no_duplicate_of_an_article_that_quotes_it(crawl: Crawl) -> None:
    crawl.check("/article", page("Notice | Tea House", f"<p>{NOTICE}</p>{paragraphs(words('article', 100))}"))
    assert crawl.check("/notice", notice()).verdict is Verdict.NEW


# Pages that say nothing


LOG_IN = (
    "<form><p>Please tell us who you are before we show you this page</p><input name=who><input type={} name=x></form>"
)
NO_TEXT = {
    "log in": page("Log in | Tea House", LOG_IN.format("password") + "<a href='/help'>help</a>"),
    "error without links": page(
        "Error", "<h1>Something went wrong</h1><p>The server could not answer, try again later please</p>"
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
@pytest.mark.parametrize("known", [False, True])
def test_what_says_nothing_passes_unchecked_at_every_address(crawl: Crawl, name: str, known: bool) -> None:
    if known:
        crawl.get_known()
    before = len(crawl.deduplicator)
    for number in range(20):
        decision = crawl.check(f"/page/{number}", NO_TEXT[name])
        assert (decision.verdict, decision.reason, decision.passes) == (Verdict.UNCHECKED, "too little text", True)
    assert len(crawl.deduplicator) == before


@pytest.mark.parametrize("name", NO_TEXT)
def test_what_says_nothing_stands_for_nobody(crawl: Crawl, name: str) -> None:
    crawl.check("/1", NO_TEXT[name])
    assert crawl.check("/2", story("x")).verdict is Verdict.NEW
    assert crawl.check("/3", notice()).verdict is Verdict.NEW
    assert crawl.check("/1", story("y")).verdict is Verdict.NEW


def test_the_same_form_without_a_password_is_a_short_page(crawl: Crawl) -> None:
    assert crawl.kind(page("Search | Tea House", LOG_IN.format("text") + "<a href='/help'>help</a>")) is PageKind.SHORT


def test_a_log_in_form_inside_the_sites_frame_passes_unchecked_too(crawl: Crawl) -> None:
    form = page("Log in | Tea House", LOG_IN.format("password"), MENU)
    for number in range(3):
        assert crawl.check(f"/private/{number}", form).verdict is Verdict.UNCHECKED


def test_pages_that_differ_behind_an_early_end_of_the_page_are_kept_apart(crawl: Crawl) -> None:
    banner = f"<html><head><title>Tea House</title></head><body><p>{NOTICE}</p><a href='/'>home</a></body></html>"
    for number in range(3):
        assert crawl.check(f"/{number}", banner + paragraphs(words(number, 150))).verdict is not Verdict.DUPLICATE


# Lists


def test_two_tag_pages_with_the_same_links_are_duplicates_once_the_site_is_known(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.kind(listing("Green", STORIES)) is PageKind.LIST
    assert crawl.check("/tag/green", listing("Green", STORIES)).verdict is Verdict.NEW
    other = crawl.check("/tag/leaf", listing("Leaf", STORIES[::-1]))
    assert is_duplicate(other, "http://h/tag/green", "same list")


def test_before_the_site_is_known_they_are_not_unless_title_and_text_agree(crawl: Crawl) -> None:
    green = listing("Green", STORIES)
    assert crawl.check("/tag/green", green).verdict is Verdict.NEW
    assert crawl.check("/tag/leaf", listing("Leaf", STORIES)).verdict is Verdict.NEW
    other_text = green.replace(INTRODUCTION, INTRODUCTION + " harbours")
    assert crawl.check("/tag/green?text", other_text).verdict is Verdict.NEW
    other_title = green.replace("<title>Green", "<title>Leaf")
    assert crawl.check("/tag/green?title", other_title).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/tag/green/1", green + "<!-- -->"), "http://h/tag/green", "same list")


def test_a_site_is_known_by_its_own_pages_only(crawl: Crawl) -> None:
    crawl.get_known()
    other = Crawl(crawl.deduplicator, "http://other")
    assert other.check("/tag/green", listing("Green", STORIES)).verdict is Verdict.NEW
    assert other.check("/tag/leaf", listing("Leaf", STORIES)).verdict is Verdict.NEW


def test_a_known_list_with_a_quite_other_text_is_kept(crawl: Crawl) -> None:
    crawl.get_known()
    crawl.check("/tag/green", listing("Green", STORIES))
    other = listing("Shop", STORIES, introduction="What customers bought last week, with prices and weights")
    assert crawl.check("/shop", other).verdict is Verdict.NEW


@pytest.mark.parametrize("stories", [[], STORIES[:1]], ids=["navigation only", "one link beside it"])
def test_lists_with_only_navigation_in_common_are_kept_apart(crawl: Crawl, stories: list[str]) -> None:
    crawl.get_known()
    for name in ("Green", "Leaf", "River"):
        empty = listing(name, stories)
        assert crawl.kind(empty) is PageKind.LIST
        assert crawl.check(f"/tag/{name}", empty).verdict is Verdict.NEW


def test_one_new_link_lets_a_list_pass(crawl: Crawl) -> None:
    crawl.get_known()
    for count in range(3, 9):
        assert crawl.check(f"/archive/{count}", listing("Archive", STORIES[:count])).verdict is Verdict.NEW
    assert crawl.check("/archive/again", listing("Archive", STORIES)).verdict is Verdict.DUPLICATE


def test_parameters_of_the_visit_make_no_new_link(crawl: Crawl) -> None:
    crawl.get_known()
    crawl.check("/archive", listing("Archive", STORIES))
    for visit in ("sid={}", "PHPSESSID={}&utm_source=list", "utm_medium={}#top", "fbclid={}"):
        for number in range(2):
            visited = [f"{story}?{visit.format(number)}" for story in STORIES]
            decision = crawl.check(f"/archive?{visit.format(number)}", listing("Archive", visited))
            assert decision.verdict is Verdict.DUPLICATE
    visited = [f"{story};jsessionid=A1" for story in STORIES]
    assert crawl.check("/archive;jsessionid=A1", listing("Archive", visited)).verdict is Verdict.DUPLICATE
    assert crawl.check("/archive?page=2", listing("Archive", [f"{story}?page=2" for story in STORIES])).passes


# Lists with text


ESSAY = paragraphs(words("essay", 90))


def calendar(number: int) -> str:
    """The same text on every page, and links that no other has."""
    days = "".join(
        f'<li><a href="/day/{number}/{day}">on this day in the house by the river {day}</a></li>' for day in range(28)
    )
    return page(f"Calendar | {SITE}", f"<div>{ESSAY}<ul>{days}</ul></div>")


def verdicts(crawl: Crawl, count: int) -> list[bool]:
    assert crawl.kind(calendar(0)) is PageKind.TEXT
    return [crawl.check(f"/calendar/{number}", calendar(number)).passes for number in range(count)]


@pytest.mark.parametrize("bounded", [1, 3, 50], indirect=True)
def test_as_many_variants_of_a_list_pass_as_the_setting_says(bounded: Crawl, request: pytest.FixtureRequest) -> None:
    limit = request.node.callspec.params["bounded"]
    assert verdicts(bounded, limit + 5) == [True] * limit + [False] * 5
    last = bounded.check("/calendar/last", calendar(1000))
    assert last.match is not None
    assert last.match.rule == "too many variants of a list"
    assert last.duplicate_of.startswith("http://h/calendar/")
    assert bounded.check("/story", story("x")).verdict is Verdict.NEW


@pytest.mark.parametrize("bounded", [0], indirect=True)
def test_without_a_bound_every_variant_passes(bounded: Crawl) -> None:
    assert all(verdicts(bounded, 120))


@pytest.mark.parametrize("bounded", [64], indirect=True)
def test_the_largest_bound_is_a_bound_too(bounded: Crawl, request: pytest.FixtureRequest) -> None:
    limit = request.node.callspec.params["bounded"]
    assert verdicts(bounded, limit + 5) == [True] * limit + [False] * 5


# Which page stands for which


def without_name(*stories: str, below: str = "") -> str:
    shown = "".join(f"<article><h2>Story {name}</h2>{paragraphs(words(name, 150))}</article>" for name in stories)
    return page(SITE, f"{shown}{below}", MENU)


def test_a_start_page_is_no_duplicate_of_the_story_that_it_shows(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.check("/story", story("a")).verdict is Verdict.NEW
    assert crawl.check("/", without_name("a", below='<a href="/older">older stories</a>')).verdict is Verdict.NEW
    assert (
        crawl.check("/page/2", without_name("a", below='<a href="/3">older stories</a>')).verdict is Verdict.DUPLICATE
    )


def test_but_the_story_may_be_one_of_the_start_page(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.check("/", without_name("a")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/story", story("a")), "http://h/", "alike")


def test_nor_is_a_start_page_before_the_site_is_known(crawl: Crawl) -> None:
    assert crawl.check("/story", story("a")).verdict is Verdict.NEW
    assert crawl.check("/", without_name("a", below='<a href="/older">older stories</a>')).verdict is Verdict.NEW


def test_a_page_of_two_stories_is_no_duplicate_of_the_longer_one(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.check("/story", story("a", 200)).verdict is Verdict.NEW
    both = "".join(f"<article>{paragraphs(words(name, count))}</article>" for name, count in (("a", 200), ("b", 150)))
    second = page(f"Page 2 | {SITE}", f'{both}<a href="/story/b">Story b</a>', MENU)
    assert crawl.check("/page/2", second).verdict is Verdict.NEW


def template(name: str, count: int) -> str:
    text = f"<p>Ask {name} for a quiet table in the house by the river.</p>{paragraphs(words('template', count))}"
    return page(f"{name} | {SITE}", f"<article><h1>{name}</h1>{text}</article>", MENU)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    "count",
    [
        40,
        80,
        200,
        400,
    ],
)
def test_pages_of_a_template_with_another_name_in_the_title_are_kept_apart(
    crawl: Crawl, count: int, known: bool
) -> None:
    if known:
        crawl.get_known()
    for name in ("Adamson", "Bretherton", "Cavendish"):
        assert crawl.kind(template(name, count)) is PageKind.TEXT
        assert crawl.check(f"/{name}", template(name, count)).verdict is (Verdict.NEW)
    copy = crawl.check("/again", template("Cavendish", count) + "<!-- -->")
    assert is_duplicate(copy, "http://h/Cavendish", "alike")


@pytest.mark.parametrize("known", [False, True])
def test_a_page_that_holds_more_than_the_kept_one_is_kept(crawl: Crawl, known: bool) -> None:
    if known:
        crawl.get_known()
    text = words("a", 120) * 4  # it says most, so that both have nearly the same signature
    short = page(f"Story a | {SITE}", paragraphs(text), MENU)
    long = page(f"Story a | {SITE}", paragraphs(text + words("more", 34)), MENU)
    assert crawl.check("/short", short).verdict is Verdict.NEW
    assert crawl.check("/long", long).verdict is Verdict.NEW


def test_and_the_shorter_one_is_dropped_if_it_comes_later(crawl: Crawl) -> None:
    text = words("a", 300)
    short = page(f"Story a | {SITE}", paragraphs(text[:290]), MENU)
    long = page(f"Story a | {SITE}", paragraphs(text), MENU)
    assert crawl.check("/long", long).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/short", short), "http://h/long", "alike")


@pytest.mark.parametrize("known", [False, True])
def test_a_mirror_with_other_links_around_the_text_is_a_duplicate(crawl: Crawl, known: bool) -> None:
    if known:
        crawl.get_known()
    mirror = Crawl(crawl.deduplicator, "http://mirror")
    crawl.check("/story/a", story("a", below=f"<ul>{MENU}</ul>"))
    menu = "".join(f'<li><a href="/cgi/{number}">room {number}</a></li>' for number in range(40))
    for title in (SITE, "Mirror of the house", "Tea | Mirror"):
        copy = story("a", site=title, menu=menu, below="<p>Mirrored by friends</p>")
        assert is_duplicate(mirror.check(f"/{title}", copy), "http://h/story/a", "alike")


def test_a_mirror_of_a_list_with_text_is_a_duplicate_whatever_its_links(crawl: Crawl) -> None:
    crawl.check("/calendar", calendar(1))
    assert crawl.check("/calendar/2", calendar(2)).verdict is Verdict.NEW
    assert Crawl(crawl.deduplicator, "http://mirror").check("/calendar", calendar(3)).verdict is Verdict.DUPLICATE


def test_kinds_of_pages_are_not_compared_with_each_other(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.check("/list", listing("Green", STORIES)).verdict is Verdict.NEW
    with_text = listing("Green", STORIES).replace("</h1>", f"</h1>{ESSAY}")
    assert crawl.kind(with_text) is PageKind.TEXT
    assert crawl.check("/text", with_text).verdict is Verdict.NEW


# What once lost a page


SHIPPING = paragraphs(words("shipping", 220))


@pytest.mark.parametrize("known", [False, True])
def test_things_for_sale_with_the_same_text_below_are_kept_apart(crawl: Crawl, known: bool) -> None:
    if known:
        crawl.get_known()
    for name, price in (("Red mug", "7 €"), ("Blue kettle", "30 €"), ("Desk lamp", "19 €")):
        body = f"<div><h1>{name}</h1></div><div>{price}</div><div>{name}, hand made</div><div>{SHIPPING}</div>"
        assert crawl.check(f"/{name}", page(f"{name} | {SITE}", body, MENU)).verdict is Verdict.NEW


def test_a_thread_of_short_posts_is_not_told_by_the_rules_beside_it(crawl: Crawl) -> None:
    rules = f"<div>{paragraphs(words('rules', 45))}</div>"
    for name in ("a", "b"):
        posts = "".join(f"<div><div>{' '.join(words((name, number), 12))}</div></div>" for number in range(40))
        assert crawl.check(f"/{name}", page(SITE, f"{posts}{rules}", MENU)).verdict is Verdict.NEW


@pytest.mark.parametrize("count", [60, 65, 110])
def test_two_tables_of_other_numbers_in_the_same_words_are_kept_apart(crawl: Crawl, count: int) -> None:
    text = paragraphs(words("report", 1500))
    for first in (10_000, 50_000):
        cells = "".join(f"<tr><td>{first + 7 * number}</td></tr>" for number in range(count))
        body = f"<article>{text}<table>{cells}</table></article>"
        assert crawl.check(f"/{first}", page(f"Report | {SITE}", body, MENU)).verdict is Verdict.NEW


@pytest.mark.parametrize(
    "titles", [("Lecture 1", "Lecture 12"), ("Annual report", "Annual report 2023"), ("C jobs", "C++ jobs")]
)
def test_a_title_that_goes_on_is_another(crawl: Crawl, titles: tuple[str, str]) -> None:
    text = paragraphs(words("lecture", 60))
    for title in titles:
        assert crawl.check(f"/{title}", page(f"{title} | {SITE}", f"<article>{text}</article>", MENU)).passes


def test_titles_made_of_few_words_tell_pages_apart_on_a_site_that_is_known(crawl: Crawl) -> None:
    text = paragraphs(words("manual", 80))
    for _ in range(3):
        for kind in ("Installation", "Manual", "Repair", "Parts"):
            for thing in ("Router X", "Router Y", "Switch A", "Switch B"):
                body = page(f"{kind} | {thing}", f"<article>{text}</article>", MENU)
                assert crawl.check(f"/{kind}/{thing}", body).verdict in (Verdict.NEW, Verdict.UNCHANGED)


def test_two_things_with_the_same_site_name_on_two_hosts_are_kept_apart(crawl: Crawl) -> None:
    text = f"<article>{paragraphs(words('maker', 80))}</article>"
    assert crawl.check("/widget", page("Widget | Acme", text)).verdict is Verdict.NEW
    other = Crawl(crawl.deduplicator, "http://other")
    assert other.check("/gadget", page("Gadget | Acme", text)).verdict is Verdict.NEW


def test_a_long_text_that_begins_with_a_notice_of_copyright_is_read(crawl: Crawl) -> None:
    for name in ("a", "b"):
        text = f"<pre>Copyright © 2020 Somebody\n{' '.join(words(name, 400))}</pre><a href='/source'>source</a>"
        assert crawl.check(f"/{name}", page("Source", text)).verdict is Verdict.NEW


def test_two_lists_with_the_same_links_and_other_words_under_other_titles_are_kept_apart(crawl: Crawl) -> None:
    crawl.get_known()
    table = " ".join(words("sizes", 15))
    for number, length in ((17, 355), (18, 912)):
        one = listing(f"Widget {number}", STORIES, introduction=f"{table} length {length}")
        assert crawl.check(f"/{number}", one).verdict is Verdict.NEW


@pytest.mark.parametrize(
    "other",
    [
        "<img src='/photo/{}.jpg'>",
        "<aside>number {}</aside>",
        "<textarea>number {}</textarea>",
        '<script id=__NEXT_DATA__ type=application/json>{{"id": {}}}</script>',
    ],
)
def test_short_pages_that_differ_in_what_is_not_read_are_kept_apart(crawl: Crawl, other: str) -> None:
    for number in (1, 2):
        assert crawl.check(f"/{number}", notice(extra=other.format(number))).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/again", notice(extra=other.format(1) + "<!-- -->")), "http://h/1")


@pytest.mark.parametrize("bounded", [3], indirect=True)
def test_a_page_whose_relative_link_leads_ever_deeper_comes_to_an_end(bounded: Crawl) -> None:
    trap = page(f"Trap | {SITE}", f"<article>{paragraphs(words('trap', 100))}</article><a href='x/'>deeper</a>")
    assert [bounded.check("/" + "x/" * depth, trap).passes for depth in range(6)] == [True] * 3 + [False] * 3
