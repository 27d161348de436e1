"""Pages with a main text: which of them represents which."""

from __future__ import annotations

import pytest

from crawler_dedup import Verdict
from crawler_dedup.rules.limits import MAX_LIST_VARIANTS, MIN_PAGES
from crawler_dedup.signedpage import PageKind
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, STORIES, Crawl, is_duplicate, knowing, listing, page, story

# Lists with text


ESSAY = paragraphs(words("essay", 90))


def calendar(number: int) -> str:
    """Return a page with the text of all other pages and links of its own."""
    days = "".join(f'<li><a href="/day/{number}/{day}">at the river, {day}</a></li>' for day in range(60))
    return page(f"Calendar | {SITE}", f"<div>{ESSAY}<ul>{days}</ul></div>")


def verdicts(crawl: Crawl, count: int) -> list[bool]:
    assert crawl.kind(calendar(0)) is PageKind.TEXT
    return [crawl.check(f"/calendar/{number}", calendar(number)).passes for number in range(count)]


def test_a_limited_number_of_variants_of_a_list_passes(crawl: Crawl) -> None:
    assert verdicts(crawl, MAX_LIST_VARIANTS + 5) == [True] * MAX_LIST_VARIANTS + [False] * 5
    last = crawl.check("/calendar/last", calendar(1000))
    assert is_duplicate(last, last.duplicate_of, "too many variants of a list")
    assert last.duplicate_of.startswith("http://h/calendar/")
    assert crawl.check("/story", story("x")).verdict is Verdict.NEW


# Which page represents which


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


def test_a_story_may_be_a_duplicate_of_the_start_page_that_shows_it(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.check("/", without_name("a")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/story", story("a")), "http://h/", "alike")


def test_before_the_site_is_known_a_start_page_is_no_duplicate_of_a_story_either(crawl: Crawl) -> None:
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


@knowing
@pytest.mark.parametrize("count", [40, 80, 200, 400])
def test_pages_of_a_template_with_different_names_in_the_title_are_both_kept(crawl: Crawl, count: int) -> None:
    for name in ("Adamson", "Bretherton", "Cavendish"):
        assert crawl.kind(template(name, count)) is PageKind.TEXT
        assert crawl.check(f"/{name}", template(name, count)).verdict is (Verdict.NEW)
    copy = crawl.check("/again", template("Cavendish", count) + "<!-- -->")
    assert is_duplicate(copy, "http://h/Cavendish", "alike")


@knowing
def test_a_mirror_with_other_links_around_the_text_is_a_duplicate(crawl: Crawl) -> None:
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


def test_pages_of_different_kinds_are_not_compared(crawl: Crawl) -> None:
    crawl.get_known()
    assert crawl.check("/list", listing("Green", STORIES)).verdict is Verdict.NEW
    with_text = listing("Green", STORIES).replace("</h1>", f"</h1>{ESSAY}")
    assert crawl.kind(with_text) is PageKind.TEXT
    assert crawl.check("/text", with_text).verdict is Verdict.NEW


# Mistakes of earlier versions that lost a page


SHIPPING = paragraphs(words("shipping", 220))


@knowing
def test_offers_with_the_same_text_below_them_are_all_kept(crawl: Crawl) -> None:
    for name, price in (("Red mug", "7 €"), ("Blue kettle", "30 €"), ("Desk lamp", "19 €")):
        body = f"<div><h1>{name}</h1></div><div>{price}</div><div>{name}, hand made</div><div>{SHIPPING}</div>"
        assert crawl.check(f"/{name}", page(f"{name} | {SITE}", body, MENU)).verdict is Verdict.NEW


def test_a_thread_of_short_posts_is_not_identified_by_the_house_rules_beside_it(crawl: Crawl) -> None:
    rules = f"<div>{paragraphs(words('rules', 45))}</div>"
    for name in ("a", "b"):
        posts = "".join(f"<div><div>{' '.join(words((name, number), 12))}</div></div>" for number in range(40))
        assert crawl.check(f"/{name}", page(SITE, f"{posts}{rules}", MENU)).verdict is Verdict.NEW


@pytest.mark.parametrize("count", [60, 65, 110])
def test_two_tables_with_different_numbers_and_the_same_words_are_both_kept(crawl: Crawl, count: int) -> None:
    text = paragraphs(words("report", 1500))
    for first in (10_000, 50_000):
        cells = "".join(f"<tr><td>{first + 7 * number}</td></tr>" for number in range(count))
        body = f"<article>{text}<table>{cells}</table></article>"
        assert crawl.check(f"/{first}", page(f"Report | {SITE}", body, MENU)).verdict is Verdict.NEW


@pytest.mark.parametrize(
    "titles",
    [
        ("Lecture 1", "Lecture 12"),
        ("Annual report", "Annual report 2023"),
        ("C jobs", "C++ jobs"),
        ("operator>", "operator>="),
    ],
)
def test_a_title_with_a_continuation_is_another_title(crawl: Crawl, titles: tuple[str, str]) -> None:
    text = paragraphs(words("lecture", 60))
    for title in titles:
        assert crawl.check(f"/{title}", page(f"{title} | {SITE}", f"<article>{text}</article>", MENU)).passes


def test_titles_made_of_few_words_distinguish_pages_of_a_known_site(crawl: Crawl) -> None:
    text = paragraphs(words("manual", 80))
    for _ in range(3):
        for kind in ("Installation", "Manual", "Repair", "Parts"):
            for thing in ("Router X", "Router Y", "Switch A", "Switch B"):
                body = page(f"{kind} | {thing}", f"<article>{text}</article>", MENU)
                assert crawl.check(f"/{kind}/{thing}", body).verdict in (Verdict.NEW, Verdict.UNCHANGED)


def test_two_pages_with_the_same_site_name_on_two_hosts_are_both_kept(crawl: Crawl) -> None:
    text = f"<article>{paragraphs(words('maker', 80))}</article>"
    assert crawl.check("/widget", page("Widget | Acme", text)).verdict is Verdict.NEW
    other_host = Crawl(crawl.deduplicator, "http://other")
    assert other_host.check("/gadget", page("Gadget | Acme", text)).verdict is Verdict.NEW


def test_a_long_text_after_a_copyright_notice_is_compared(crawl: Crawl) -> None:
    for name in ("a", "b"):
        text = f"<pre>Copyright © 2020 Somebody\n{' '.join(words(name, 400))}</pre><a href='/source'>source</a>"
        assert crawl.check(f"/{name}", page("Source", text)).verdict is Verdict.NEW


def test_a_text_whose_relative_link_leads_ever_deeper_is_dropped(crawl: Crawl) -> None:
    trap = page(f"Trap | {SITE}", f"<article>{paragraphs(words('trap', 100))}</article><a href='x/'>deeper</a>")
    assert [crawl.check("/" + "x/" * depth, trap).passes for depth in range(3)] == [True, False, False]


# What the rules for texts compare beside the words


def film(day: str, count: int = 120, *, title: str = "Faust") -> str:
    text = f"<p>Shown on the {day} in the great hall.</p>{paragraphs(words('film', count))}"
    return page(f"{title} | {SITE}", f"<article><h1>{title}</h1>{text}</article>", MENU)


@knowing
@pytest.mark.parametrize("count", [120, 500])
def test_two_showings_of_one_film_are_two_pages(crawl: Crawl, count: int) -> None:
    for day in ("7. of May", "8. of May", "9. of June at 20:30"):
        assert crawl.kind(film(day, count)) is PageKind.TEXT
        assert crawl.check(f"/film/{day}", film(day, count)).verdict is Verdict.NEW
    assert is_duplicate(
        crawl.check("/again", film("7. of May", count) + "<!-- -->"), "http://h/film/7. of May", "alike"
    )


def test_on_another_host_another_date_does_not_make_another_page(crawl: Crawl) -> None:
    assert crawl.check("/1", film("7. of May")).verdict is Verdict.NEW
    mirror = Crawl(crawl.deduplicator, "http://mirror")
    assert is_duplicate(mirror.check("/1", film("8. of May")), "http://h/1", "alike")


@knowing
def test_a_version_is_one_number_whatever_its_parts_are(crawl: Crawl) -> None:

    def release(version: str) -> str:
        text = f"<p>Release {version}: 10 repairs, 11 new parts.</p>{paragraphs(words('release', 60))}"
        return page(f"Pump | {SITE}", f"<article><h1>Pump</h1>{text}</article>", MENU)

    assert crawl.check("/1", release("8.11.10")).verdict is Verdict.NEW
    assert crawl.check("/2", release("8.10.11")).verdict is Verdict.NEW


def function(name: str) -> str:
    """Return a page of a reference, which describes each function with the same words."""
    text = f"<p>{' '.join(words('reference', 30))}</p>"
    lines = (f"<p>Returns a pointer to the {place}, as {name} does.</p>" for place in words("place", 6))
    return page("Function cast", f"<h1>Function cast</h1><pre>#include cast {name}</pre>{text}{''.join(lines)}", MENU)


def test_short_texts_under_one_title_with_different_lines_are_two_pages_of_a_known_site(crawl: Crawl) -> None:
    crawl.get_known()
    for name in ("first", "second", "third"):
        assert crawl.kind(function(name)) is PageKind.TEXT
        assert crawl.check(f"/{name}", function(name)).verdict is Verdict.NEW
    copy = function("first").replace("<pre>", "<p>3 views</p><pre>")
    assert is_duplicate(crawl.check("/first?printed", copy), "http://h/first", "alike")


@knowing
def test_source_files_under_one_title_are_distinguished_by_a_number(crawl: Crawl) -> None:
    """The lines of a program are one block, in which another word is an edit."""

    def source(kind: str) -> str:
        code = "\n".join([f"def test(value) -> {kind}:", *words("code", 120), f"return {kind}(value)"])
        return page("Source code", f"<pre>{code}</pre>", MENU)

    for kind in ("int32", "int64"):
        assert crawl.kind(source(kind)) is PageKind.TEXT
        assert crawl.check(f"/source/{kind}", source(kind)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/again", source("int32") + "<!-- -->"), "http://h/source/int32", "alike")


@knowing
@pytest.mark.parametrize(("kept", "new"), [("12a", "12b"), ("7s2p", "7s4p")])
def test_letters_after_a_number_belong_to_it(crawl: Crawl, kept: str, new: str) -> None:
    assert crawl.check("/1", film(f"stage {kept}")).verdict is Verdict.NEW
    assert crawl.check("/2", film(f"stage {new}")).verdict is Verdict.NEW


@knowing
def test_every_dash_between_two_years_is_equal(crawl: Crawl) -> None:
    assert crawl.check("/1", film("days of 2019-2023")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/2", film("days of 2019–2023")), "http://h/1", "alike")


def lamp(name: str) -> str:
    return page(f"Product | {SITE}", f"<h1>{name}</h1><article>{paragraphs(words('lamp', 120))}</article>", MENU)


@knowing
def test_two_sizes_under_one_generic_title_are_distinguished_by_their_headings(crawl: Crawl) -> None:
    for name in ("Lamp, 40 cm", "Lamp, 60 cm"):
        assert crawl.check(f"/{name}", lamp(name)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/again", lamp("LAMP 40&nbsp;cm")), "http://h/Lamp, 40 cm", "alike")


def test_headings_in_traditional_and_simplified_chinese_are_equal(crawl: Crawl) -> None:
    assert crawl.check("/1", lamp("銅燈四十釐米")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/2", lamp("铜灯四十厘米")), "http://h/1", "alike")


def service(name: str, headings: int, other_words: int) -> str:
    """Return a page about one of a firm's services: sections, of which *headings* and *other* words are its own."""
    sections = [
        f"<h3>{' '.join(words(f'{name if number < headings else SITE} {number}', 4))}</h3>"
        f"<p>{' '.join(words(f'section {number}', 60))}</p>"
        for number in range(10)
    ]
    text = f"<article>{''.join(sections)}<p>{' '.join(words(f'own {name}', other_words))}</p></article>"
    return page(f"What we make for you | {SITE}", text, MENU)


def test_on_another_host_other_headings_may_be_those_of_the_copy(crawl: Crawl) -> None:
    assert crawl.check("/boxes", service("boxes", 3, 0)).verdict is Verdict.NEW
    mirror = Crawl(crawl.deduplicator, "http://mirror")
    assert is_duplicate(mirror.check("/boxes", service("bottles", 3, 0)), "http://h/boxes", "alike")
    assert mirror.check("/other", service("bottles", 3, 30)).verdict is Verdict.NEW


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


def test_a_short_article_above_one_long_consent_text_is_not_covered_by_another(crawl: Crawl) -> None:
    """Other pages of the site have shown which of the texts belongs to the site."""
    consent = f"<div><p>{' '.join(words('consent', 200))}</p></div>"
    for number in range(MIN_PAGES):
        crawl.check(f"/known/{number}", story(number, 300, below=consent))
    for number in range(3):
        body = f"<div><p>{' '.join(words(f'short {number}', 40))}</p></div>{consent}"
        assert crawl.check(f"/{number}", page(SITE, body, MENU)).verdict is Verdict.NEW
        assert crawl.check(f"/{number}/again", page(SITE, body + "<!-- -->", MENU)).verdict is Verdict.DUPLICATE


@knowing
def test_a_short_article_below_a_consent_text_is_not_covered_by_another_under_the_same_title(crawl: Crawl) -> None:
    """This holds for an unknown site too, because the main text does not stand above its heading."""
    consent = f"<div><p>{' '.join(words('consent', 100))}</p><p>{' '.join(words('privacy', 100))}</p></div>"

    def brief(name: str) -> str:
        return page(
            f"In brief | {SITE}", f"{consent}<div><h1>In brief</h1><p>{' '.join(words(name, 15))}</p></div>", MENU
        )

    assert crawl.check("/swans", brief("swans")).verdict is Verdict.NEW
    assert crawl.check("/clock", brief("clock")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/again", brief("swans") + "<!-- -->"), "http://h/swans", "alike")


NOTICE = f"<div><p>{' '.join(words('consent', 100))}</p><p>{' '.join(words('privacy', 100))}</p></div>"


def lamp_for_sale(name: str, *, count: int = 6, notice_first: bool = False, heading: str = "Lamps") -> str:
    """Return a page of a shop with short texts of its own, and a longer text that stands on all its pages."""
    parts = "".join(f"<div>{' '.join(words(f'{name} {part}', 6))}</div>" for part in range(count))
    content = f"<div><h2>{heading}</h2>{parts}</div>"
    return page(SITE, NOTICE + content if notice_first else content + NOTICE, MENU)


@knowing
@pytest.mark.parametrize("notice_first", [True, False], ids=["above", "below"])
def test_short_texts_beside_the_same_long_text_do_not_cover_each_other(crawl: Crawl, notice_first: bool) -> None:
    assert crawl.check("/swans", lamp_for_sale("swans", notice_first=notice_first)).verdict is Verdict.NEW
    assert crawl.check("/clock", lamp_for_sale("clock", notice_first=notice_first)).verdict is Verdict.NEW
    copy = lamp_for_sale("swans", notice_first=notice_first) + "<!-- -->"
    assert is_duplicate(crawl.check("/again", copy), "http://h/swans", "alike")


@pytest.mark.parametrize("notice_first", [True, False], ids=["above", "below"])
@pytest.mark.parametrize("path", ["http://h/clock", "http://mirror/clock"], ids=["other design", "other host"])
def test_many_short_texts_beside_one_that_is_taken_for_the_main_text_are_compared_line_by_line(
    crawl: Crawl, path: str, notice_first: bool
) -> None:
    """Nothing is known of the sites. The main text of both pages is the notice, and is a small part of them."""

    def shop(name: str) -> str:
        lamps = zip(*[iter(words(name, 270))] * 3, strict=True)
        offers = "".join(f"<div><h3>{lamp} {glass}</h3><span>{price}</span></div>" for lamp, glass, price in lamps)
        content = f"<div><h2>Lamps</h2>{offers}</div>"
        return page(f"Lamps | {SITE}", NOTICE + content if notice_first else content + NOTICE, MENU)

    signer = crawl.deduplicator
    assert signer.sign("http://h/x", shop("swans").encode()).feature_digest == (
        signer.sign("http://h/x", shop("clock").encode()).feature_digest
    )
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


def test_identical_titles_agree_even_if_one_site_writes_them_on_all_pages(crawl: Crawl) -> None:
    mirror = Crawl(crawl.deduplicator, "http://mirror")
    for number in range(8):
        text = paragraphs(words(f"mirror {number}", 120))
        mirror.check(f"/{number}", page("Story a | Tea House", f"<article>{text}</article>", MENU))
    crawl.get_known()
    assert crawl.check("/a", titled("Story a | Tea House")).verdict is Verdict.NEW
    assert is_duplicate(mirror.check("/a", titled("Story a | Tea House") + "<!-- -->"), "http://h/a")


def test_before_the_site_is_known_a_part_of_the_title_in_a_heading_of_the_page_is_its_own(crawl: Crawl) -> None:
    mirror = Crawl(crawl.deduplicator, "http://mirror")
    assert crawl.check("/ferry", titled("Ferry | Tea House", "Ferry")).verdict is Verdict.NEW
    assert crawl.check("/unnamed", titled("Ferry | River")).verdict is Verdict.NEW
    assert is_duplicate(mirror.check("/ferry", titled("Ferry - Mirror", "Ferry")), "http://h/ferry", "alike")
    assert mirror.check("/other", titled("Boats - Mirror", "Boats")).verdict is Verdict.NEW


def test_the_name_of_the_site_in_a_linked_heading_does_not_name_the_page(crawl: Crawl) -> None:
    for number, thing in enumerate(("Widget", "Gadget")):
        heading = "</h1><h1><a href=/>Acme</a>"
        other_shop = Crawl(crawl.deduplicator, f"http://shop{number}")
        assert other_shop.check("/", titled(f"{thing} | Acme", heading, 80)).verdict is Verdict.NEW
