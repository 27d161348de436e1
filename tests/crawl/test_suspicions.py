"""What a crawl warns of: pages that represent too many others, and the expressions for addresses that it proposes."""

import pickle
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from crawler_dedup import Decision, Match, Verdict
from crawler_dedup.crawl import suspicions
from crawler_dedup.crawl.suspicions import MAX_DUPLICATES, MAX_WATCHED, AddressPattern, Suspicions
from tests.support.crawling import WALK, article, crawl_pages, html

MATCH = Match("alike", 0, 1.0, 1.0)


def duplicate(number: int, representative: str = "http://h/error", host: str = "http://h") -> Decision:
    url = f"{host}/{number}"
    return Decision(Verdict.DUPLICATE, url, url, "scope", duplicate_of=representative, match=MATCH)


def test_kept_pages_and_sites_are_counted_separately_and_other_decisions_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suspicions, "MAX_DUPLICATES", 1)
    watching = Suspicions()
    new = Decision(Verdict.NEW, "http://h/", "k", "scope")
    others = duplicate(1, representative="http://h/other"), duplicate(1, host="http://mirror")
    for decision in (new, new, new, duplicate(1), *others):
        assert watching.count_duplicate(decision) is None
    assert watching.count_duplicate(duplicate(2)) is not None


def test_only_the_most_recently_used_kept_pages_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspicions, "MAX_DUPLICATES", 1)
    watching = Suspicions()
    watching.count_duplicate(duplicate(0))
    for number in range(MAX_WATCHED):
        watching.count_duplicate(duplicate(0, representative=f"http://h/{number}"))
    assert watching.count_duplicate(duplicate(1)) is None
    assert watching.count_duplicate(duplicate(1, representative=f"http://h/{MAX_WATCHED - 1}")) is not None
    assert len(pickle.dumps(watching)) < MAX_WATCHED * 150


def test_memory_stays_small_however_long_the_addresses_are() -> None:
    watching = Suspicions()
    for number in range(1_000):
        for time in range(2):
            decision = duplicate(
                time, representative=f"http://h/{number}/{'x' * 2_000}", host=f"http://h/{'y' * 2_000}"
            )
            watching.count_duplicate(decision)
            watching.dropped_too_often(decision, f"{number} {'z' * 5_000}")
    assert len(pickle.dumps(watching)) < 1_000 * 200


def test_one_warning_names_shortened_examples() -> None:
    watching = Suspicions()
    seen = [watching.count_duplicate(duplicate(number, host=f"http://h/{'y' * 2_000}")) for number in range(60)]
    (warning,) = [overused for overused in seen if overused is not None]
    assert warning is seen[MAX_DUPLICATES]
    assert warning.count == len(seen)
    assert len(warning.examples) == 5
    assert all(len(example) <= 500 for example in warning.examples)


def test_a_crawl_reports_once_which_page_represents_too_many(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(12)]
    pages = {path: html(article("error", frame=f"<!-- {path} -->")) for path in paths}
    crawl = crawl_pages(
        tmp_path, pages, f"from crawler_dedup.crawl import suspicions\nsuspicions.MAX_DUPLICATES = 8\n{WALK}"
    )
    (line,) = crawl.lines("WARNING", "9 pages of one site are duplicates of ")
    url = crawl.items[0]["url"].removesuffix("/0")
    assert all(f"{url}{path}" in line for path in ["/0", *paths[-7:-2]])
    assert crawl.counts()["watchdog"] == 1
    assert crawl.counts()["dropped"] == len(paths) - 1
    assert crawl.paths() == ["/0"]


# The expression for addresses


def pattern_of(urls: Sequence[str]) -> str:
    pattern = AddressPattern(urls[0])
    for url in urls[1:]:
        pattern.add(url)
    return str(pattern)


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (["/wiki?title=A&action=edit", "/wiki?title=B&action=edit"], r"wiki\?title=.*[?&]action=edit(?:&|$)"),
        (["/c/books?view=grid", "/c/games_2?view=list&page=2"], r"c/.*[?&]view="),
        (["/v2/2025/12", "/v2/2026/1"], r"v2/\d+/\d+$"),
        (["/a/1", "/a/1/b"], r"a/1"),
        (["/tag/tea", "/author/tea"], ""),
        (["/", "/?page=2"], ""),
        (['/a"b/1', '/a"b/2'], r"a\x22b/\d+$"),
        (["/2025/a.html", "/2026/b.html"], r"\d+/"),
    ],
)
def test_an_expression_has_what_the_addresses_have_in_common(paths: list[str], pattern: str) -> None:
    expected = f"^https?://site/{pattern}" if pattern else ""
    assert pattern_of([f"http://site{path}" for path in paths]) == expected


def test_a_link_extractor_refuses_the_addresses_and_follows_others() -> None:
    pattern = pattern_of(
        [f"http://site/events/{year}/{month}?view=month" for year in (2025, 2026) for month in (1, 12)]
    )
    links = [
        "/events/1999/7?view=month",
        "/events/1999/7",
        "/events/summer",
        "/news?next=http://site/events/1/2?view=month",
    ]
    response = HtmlResponse("http://site/", body="".join(f"<a href='{link}'>x</a>" for link in links).encode())
    found = LinkExtractor(deny=[pattern]).extract_links(response)
    assert [link.url.removeprefix("http://site") for link in found] == links[1:]


@given(st.lists(st.text("a1/?&=.-", max_size=20), min_size=1, max_size=6))
def test_an_expression_matches_all_of_its_addresses(paths: list[str]) -> None:
    urls = [f"http://site/{path}" for path in paths]
    assert all(re.match(pattern_of(urls), url) for url in urls)
