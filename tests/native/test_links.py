"""The native core finds the same links, titles and fields as Python."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml.html import HtmlElement

from crawler_dedup.signing.outlinks import find_links
from crawler_dedup.signing.parsing import asks_for_password, find_title, parse
from tests.support.examples import examples
from tests.support.native import assert_equal
from tests.support.soup import pages

PIECES = (
    "/ // . .. ../ ./ /. a b.html index.php A-Z_0 ; ;jsessionid=1 ? ?a=b &utm_source=x &sid=3 # #top : @ : http:// https:// HTTP://"
    " e.com E.com:80 user@e.com [::1] javascript: mailto:x tel:1 data: % %20 é 漢 \u00a0 \x01 \x1f ~ + , \\"
).split(" ")
hrefs = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.lists(st.sampled_from([*PIECES, " ", "\n", "\u3000"]), max_size=4).map("".join),
    st.sampled_from(["/a" * 60, "/a" * 150, "a/" * 101, "../" * 8 + "x", "x" * 199, "x" * 200, "x" * 201, "x" * 2084]),
)
urls = st.one_of(
    st.sampled_from(
        [
            "http://e.com/",
            "https://E.com/a/b/c.html?x#y",
            "http://e.com",
            "http://e.com/a//b/",
            "http://e.com/a/../b/",
            "http://e.com/a;b/c",
            "http://u@e.com/a/",
            "ftp://e.com/a/",
            "e.com/a",
            "",
            "http://[",
        ]
    ),
    hrefs.map("http://e.com/{}".format),
)


def assert_same(markup: str, url: str) -> None:
    tree = parse(markup.encode("utf-8", "surrogatepass"), "utf-8")
    assert_equal(packed_links, tree, url)
    assert_equal(find_title, tree)
    assert_equal(asks_for_password, tree)


def packed_links(tree: HtmlElement, url: str) -> bytes:
    return find_links(tree, url).hashes.tobytes()


@settings(max_examples=examples(4000), suppress_health_check=list(HealthCheck))
@given(st.lists(hrefs, max_size=8), urls, st.none() | hrefs)
@example(["?", "", "#", "/", "a?", "a?#", "/?b", "//e.com", "http://e.com?", "http://e.com#a"], "http://e.com/x/", None)
def test_core_and_python_find_the_same_links(targets: list[str], url: str, base: str | None) -> None:
    head = "" if base is None else f'<base href="{base}"><base href="/no">'
    assert_same(f"{head}<title>a\n b</title>" + "".join(f'<p><a href="{href}">x</a>' for href in targets), url)


@settings(max_examples=examples(1000), suppress_health_check=list(HealthCheck))
@given(pages, urls)
def test_core_and_python_find_the_same_links_in_any_bytes(body: bytes, url: str) -> None:
    try:
        tree = parse(body)
    except ValueError:
        return
    assert_equal(packed_links, tree, url)
    assert_equal(find_title, tree)
    assert_equal(asks_for_password, tree)


def test_core_and_python_find_the_same_links_in_odd_documents() -> None:
    for markup in (
        "<title></title>",
        "<svg><title>a</title></svg><title>b <!-- c --> d</title>",
        "<title>a</title><title>b</title>",
        "<title>" + "漢 " * 300,
        "<a>x</a><a href>y</a></html><a href=z>z</a><base href=/b/>",
        "<base><base href=/b/><a href=c>",
        "<input type=password>",
        "<input type=PASSWORD><input>",
        "</html><input type=password>",
        "<!-- a --><html><p>a</html><!-- <a href=b> --><?c d?>",
    ):
        assert_same(markup, "http://e.com/x/y")


def test_core_and_python_find_the_same_links_in_a_part_of_a_tree() -> None:
    tree = parse(b"<p><a href=b>c</a><title>d</title></p><a href=e>f</a>").find("body")
    assert_equal(packed_links, tree, "http://e.com/")
    assert_equal(find_title, tree)
    assert_equal(asks_for_password, tree)


def test_core_and_python_find_the_same_among_many_links() -> None:
    assert_same("".join(f"<a href={number}/{number % 7}>" for number in range(50_000)), "http://e.com/a/")
