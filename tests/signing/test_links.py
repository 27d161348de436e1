import tracemalloc
from urllib.parse import urljoin, urlsplit

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.limits import MAX_LINKS
from crawler_dedup.signing.links import Links, make_comparable, unpack_links
from crawler_dedup.signing.outlinks import find_links
from crawler_dedup.signing.parsing import parse
from tests.support.cases import read_cases

CASES = read_cases(__file__)["links"]

PAGE = "http://example.com/a/b.html"


def test_session_parameters_are_not_part_of_a_link() -> None:
    for href, target in CASES["targets"]:
        assert make_comparable(href, PAGE, "example.com") == (target or None)


def collect(body: str, url: str = PAGE) -> set[int]:
    return set(find_links(parse(body.encode()), url).hashes.tolist())


def test_a_base_element_is_respected() -> None:
    assert collect('<base href="/r/"><a href="y">y</a>') == collect('<a href="/r/y">y</a>')


def test_links_are_a_set_regardless_of_their_texts() -> None:
    links = find_links(parse(b'<a href="/x"> one <b>two</b></a> tail <a href="/x">three</a><a>none</a>'), PAGE)
    assert len(links) == 1
    assert links.hashes.dtype == np.uint64
    assert links.hashes.tolist() == [xxh3_64_intdigest(b"/x")]


HREFS = st.sampled_from(
    "c.html ./c.html ../c.html /c /../c //other.org //other.org/c ?page=2 # #top c?b=2&a=1 c#part ;v=1 "
    "HTTP://EXAMPLE.COM/c https://other.org http:c.html c//d /c/./d/ .. . mailto:a c:d http://[broken \x0b/c".split(" ")
)
ADDRESSES = st.sampled_from(
    [
        *("http://example.com", "http://example.com/", "http://example.com/a/b.html", "http://example.com/a/b/?c=/d/e"),
        *("http://example.com/a/../b", "http://user:x@example.com:8080/a;p/b;q", "https://EXAMPLE.com/a//b", "/a/b"),
        *("", "ftp://example.com/a/b", "http://[broken/a", "file:///a/b.html"),
    ]
)


@given(st.lists(HREFS), ADDRESSES)
def test_the_links_of_a_page_are_those_of_each_anchor_alone(hrefs: list[str], url: str) -> None:
    body = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    try:
        host = urlsplit(url).netloc.lower()
    except ValueError:
        host = ""
    targets = {make_comparable(href, url, host) for href in hrefs} - {None}
    assert collect(body, url) == {xxh3_64_intdigest(str(target).encode()) for target in targets}


def of_numbers(count: int) -> Links:
    return find_links(parse("".join(f'<a href="/{number}">x</a>' for number in range(count)).encode()), PAGE)


def test_packed_links_are_the_upper_half_of_each_hash_and_none_if_there_are_too_many() -> None:
    few, most, too_many = of_numbers(3), of_numbers(MAX_LINKS), of_numbers(MAX_LINKS + 1)
    assert unpack_links(few.packed) == [hash_value >> 32 for hash_value in few.hashes.tolist()]
    assert len(unpack_links(most.packed)) == MAX_LINKS
    assert too_many.packed == of_numbers(0).packed == b""
    assert len({links.digest for links in (few, most, too_many, of_numbers(0))}) == 4


BASES = [PAGE, "http://h", "http://h/", "http://h.com//a/b", "http://h.com//[x/y", "https://h:8000/a/b/?q=/x/y#f", ""]
BASES += ["http://h/a;p/b;q", "http://h/a/../b/c"]


PIECES = [*"abB/.?#&=:;@%\\ \t[é", *"// ../ ./ .. http://h https://h.com:80/ b=2 sid=1 \xa0 //o/c".split(" ")]
PIECED = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


@given(PIECED, st.one_of(st.sampled_from(BASES), PIECED.map("http://h/{}".format)))
def test_links_are_resolved_as_by_urllib(href: str, base: str) -> None:
    try:
        parts = urlsplit(urljoin(base, href.strip()))
    except ValueError:
        parts = urlsplit("")
    resolved = make_comparable(href, base, "h")
    if parts.scheme not in ("http", "https") or href.strip().startswith("#"):
        assert resolved is None
    else:
        query = "&".join(sorted(part for part in parts.query.split("&") if part and part.partition("=")[0] != "sid"))
        host = "" if parts.netloc.lower() == "h" else parts.netloc.lower()
        assert resolved == host + (parts.path or "/") + (f"?{query}" if query else "")


def test_an_invalid_base_raises_no_error() -> None:
    for base in ("http://h.com//[/", "http://[", "\x00", "//[x"):
        assert len(find_links(parse(f'<base href="{base}"><a href="q">q</a>'.encode()), PAGE)) <= 1


def test_links_that_no_crawler_follows_are_ignored() -> None:
    long = "a/" * 2000
    assert len(find_links(parse(f'<a href="{long}">q</a><a href="/b">b</a>'.encode()), PAGE)) == 1
    assert len(find_links(parse(f'<base href="/{long}"><a href="b">b</a>'.encode()), PAGE)) == 1


def test_long_links_are_not_cached_but_are_counted() -> None:
    hrefs = [f"/{number}{'x' * 1_500}" for number in range(2_000)]
    tree = parse("".join(f'<a href="{href}">x</a>' for href in hrefs).encode())
    tracemalloc.start()
    try:
        numbers = set(find_links(tree, PAGE).hashes.tolist())
        remembered, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert remembered < sum(map(len, hrefs)) / 2  # urllib remembers 128 addresses
    assert numbers == {xxh3_64_intdigest(href.encode()) for href in hrefs}


def test_a_link_of_many_parts_counts_as_it_is_written() -> None:
    hrefs = [f"/{'a/' * 300}{number}" for number in range(2)]
    one_link, both = (
        find_links(parse("".join(f"<a href={href}>x</a>" for href in hrefs[:count]).encode()), PAGE) for count in (1, 2)
    )
    assert len(one_link) == 1
    assert len(both) == 2
