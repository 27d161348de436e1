from __future__ import annotations

import numpy as np
import pytest

from crawler_dedup.links import comparable, links
from crawler_dedup.maintext import parse

PAGE = "http://example.com/a/b.html"


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("c.html", "/a/c.html"),
        ("/c.html#part", "/c.html"),
        ("http://EXAMPLE.com", "/"),
        ("https://example.com/c", "/c"),
        ("//other.org/x?b=2&a=1", "other.org/x?a=1&b=2"),
        ("?utm_source=x&page=2&fbclid=y", "/a/b.html?page=2"),
        ("/c;jsessionid=A1B2?sid=9&PHPSESSID=8&session_id=7", "/c"),
        ("/c?id=1&side=2", "/c?id=1&side=2"),
        (" \n/c ", "/c"),
        ("mailto:a@b.c", None),
        ("javascript:void(0)", None),
        ("JavaScript:void(0)", None),
        ("#top", None),
        ("ftp://example.com/x", None),
        ("http://[broken", None),
    ],
)
def test_what_names_the_visit_is_no_part_of_a_link(href: str, target: str | None) -> None:
    assert comparable(href, PAGE, "example.com") == target


def collect(body: str, url: str = PAGE) -> set[int]:
    return set(links(parse(body.encode()), url).hashes.tolist())


def test_a_mirror_has_the_same_links() -> None:
    body = '<a href="/x">x</a><a href="y?sid={}">y</a><a href="http://{}/z">z</a>'
    assert collect(body.format(1, "example.com")) == collect(
        body.format(2, "mirror.net"), "https://mirror.net/a/b.html"
    )


def test_the_same_relative_link_at_another_path_is_another_link() -> None:
    assert collect('<a href="y">y</a>') != collect('<a href="y">y</a>', "http://example.com/other/b.html")


def test_a_base_element_is_heeded() -> None:
    assert collect('<base href="/r/"><a href="y">y</a>') == collect('<a href="/r/y">y</a>')


def test_links_are_a_set_and_their_text_is_counted_without_what_follows() -> None:
    found = links(parse(b'<a href="/x"> one <b>two</b></a> tail <a href="/x">three</a><a>none</a>'), PAGE)
    assert len(found) == 1
    assert found.chars == len("onetwothree")
    assert found.hashes.dtype == np.uint64
