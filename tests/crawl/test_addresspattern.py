"""The expression for addresses matches all of them, and as few others as what they have in common allows."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from crawler_dedup.crawl.suspicions import AddressPattern


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
