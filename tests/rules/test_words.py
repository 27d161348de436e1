"""A page is dropped only if every block that is its own is on the kept page, in the same words."""

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

import pytest

from crawler_dedup import Decision, Deduplicator, Verdict
from tests.support.cases import read_cases
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, Crawl, page

TEMPLATES = read_cases(__file__, "words")
BESIDE_MAIN_TEXT = ("<p><a", "<p>Paris", "<p>{}: May 12, 2026</p><p>")
"""Beginnings of templates that are not compared on two hosts as long as neither site is known."""


def fillings(template: str, values: str) -> list[str]:
    blanks = template.count("{}")
    return [template.format(*filling) for filling in permutations(values.split("|"), blanks)]


def text(name: object, *parts: str) -> str:
    """Return a page with *parts* between two long paragraphs."""
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    around = [paragraphs(words(f"{name} {half}", 60)) for half in ("above", "below")]
    return page(
        f"Notes on {name} | {SITE}", f"<article><h1>Notes on {name}</h1>{around[0]}{body}{around[1]}</article>", MENU
    )


def note(name: object, *parts: str) -> str:
    """Return a page with too little text to be signed by it."""
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    line = " ".join(words(f"note {name}", 6)).capitalize()
    return page(
        f"Notes on {name} | {SITE}", f"<h1>Notes on {name}</h1><p>{line}</p>{body}<p><a href='/on'>on</a></p>", MENU
    )


CONTEXTS = ["one site unknown", "one site known", "two sites unknown", "two sites known"]


@pytest.fixture(params=CONTEXTS)
def hosts(request: pytest.FixtureRequest, deduplicator: Deduplicator) -> list[tuple[Crawl, Crawl]]:
    """Return pairs of crawls: of the kept page's site, and of the new page's. Of unknown sites, each pair has its own."""
    first, second = ("a", "b") if "two" in request.param else ("a", "a")
    if "unknown" in request.param:
        names = [str(number) for number in range(len(TEMPLATES["other"]))]
        return [
            (Crawl(deduplicator, f"http://{name}.{first}"), Crawl(deduplicator, f"http://{name}.{second}"))
            for name in names
        ]
    crawls = {host: Crawl(deduplicator, f"http://{host}").get_known() for host in {first, second}}
    return len(TEMPLATES["other"]) * [(crawls[first], crawls[second])]


def check_all(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str], templates: Mapping[str, str]
) -> Iterator[tuple[str, str, Decision]]:
    """Yield each template, each filling of it but the first, and the decision about its page after that of the first."""
    for number, (template, values) in enumerate(templates.items()):
        kept_site, new_site = hosts[number]
        first, *others = fillings(template, values)
        assert kept_site.check(f"/{number}", make(number, first)).verdict is Verdict.NEW
        for at, other in enumerate(others):
            yield template, other, new_site.check(f"/{number}/{at}", make(number, other))


@pytest.mark.parametrize("make", [text, note])
def test_any_other_word_number_or_symbol_keeps_a_page(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str], request: pytest.FixtureRequest
) -> None:
    only_main = make is text and "two sites unknown" in request.node.name
    assert [
        (filling, str(decision))
        for template, filling, decision in check_all(hosts, make, TEMPLATES["other"])
        if decision.verdict is not Verdict.NEW and not (only_main and template.startswith(BESIDE_MAIN_TEXT))
    ] == []


@pytest.mark.parametrize("make", [text, note])
def test_another_notation_and_what_counts_visits_or_lines_make_no_other_page(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str]
) -> None:
    assert [
        (filling, str(decision))
        for _, filling, decision in check_all(hosts, make, TEMPLATES["same"])
        if decision.verdict is not Verdict.DUPLICATE
    ] == []


# Visits


@pytest.mark.parametrize("hosts", CONTEXTS[:2], indirect=True)
@pytest.mark.parametrize("make", [text, note])
def test_a_page_is_unchanged_at_its_next_visit_only_if_it_shows_nothing_new(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str]
) -> None:
    verdicts = {}
    visits = read_cases(__file__)["visits"]
    for number, (template, before, after, _) in enumerate(visits):
        crawl, _ = hosts[number]
        first, second = (make(number, template.replace("{}", value)) for value in (before, after))
        assert crawl.check(f"/{number}", first).verdict is Verdict.NEW
        verdicts[template] = crawl.check(f"/{number}", second).verdict
    assert verdicts == {template: verdict for template, *_, verdict in visits}


# Titles


def test_two_texts_that_share_their_name_and_a_licence_are_two_pages(crawl: Crawl, mirror: Crawl) -> None:
    licence = paragraphs(words("licence", 24))
    for site in (crawl, mirror):
        lines = "".join(f"<p>{' '.join(words(f'{site.host} {number}', 4))}</p>" for number in range(30))
        html = page(f"Home | {site.host}", f"<h1>Home</h1><article>{lines}{licence}</article>", MENU)
        assert site.check("/home", html).verdict is Verdict.NEW
