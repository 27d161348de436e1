from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from lxml import etree
from scrapy.http import HtmlResponse

from crawler_dedup import main_text
from crawler_dedup.crawl import text
from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing import extractors
from crawler_dedup.signing.extractors import extract_with_trafilatura, load_trafilatura
from crawler_dedup.signing.parsing import MAX_NODES, check_attributes, check_body, check_depth, check_nodes, parse
from tests.support.crawling import article
from tests.support.versions import DETECTS_CHARSETS

TEXT = "<html><head>{}<title>茶馆</title></head><body><p>河边的老茶馆又开门了</p></body></html>"


def tree_bytes(root: etree._Element) -> bytes:
    return etree.tostring(root, encoding="utf-8")


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (TEXT.format("").encode(), ""),
        (TEXT.format("").encode(), "; charset=utf-8"),
        (TEXT.format("<meta charset=gbk>").encode("gbk"), ""),
        (TEXT.format("<meta charset=gb2312>").encode("gb18030"), ""),
        (TEXT.format("").encode("big5", "replace"), "; charset=big5"),
        (TEXT.format("").encode("utf-16"), ""),
        (("\ufeff" + TEXT.format("<meta charset=gbk>")).encode(), ""),
        (TEXT.format("<meta charset=utf-8>").encode("gbk"), ""),
        pytest.param(
            TEXT.format("").encode("gbk") * 20,
            "",
            marks=pytest.mark.skipif(not DETECTS_CHARSETS, reason="this Scrapy takes such a page for Windows-1252"),
        ),
        (b"", ""),
        (b"\x00\x01\x02 <p>a\x00b", ""),
        (b"no markup at all", ""),
        (b"\xff\xfe\xfa" * 50, ""),
    ],
)
def test_the_tree_is_the_one_that_scrapy_gives_to_spiders(body: bytes, header: str) -> None:
    response = HtmlResponse("http://example.com/", body=body, headers={"Content-Type": f"text/html{header}"})
    encoding = response.encoding if header else None
    assert tree_bytes(parse(body, encoding)) == tree_bytes(response.selector.root)


def test_extraction_does_not_change_the_tree() -> None:
    tree = parse(article("x").encode())
    before = tree_bytes(tree)
    assert len(extract_with_trafilatura(tree)) > 500
    assert tree_bytes(tree) == before


def test_a_page_without_text_has_an_empty_main_text() -> None:
    assert extract_with_trafilatura(parse(b"<html><body><script>1</script></body></html>")) == ""


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: check_body(b"x" * 1001, 1000), "too many bytes"),
        (lambda: check_nodes(parse(b"<p>" * (MAX_NODES + 1)), 3 * (MAX_NODES + 1)), "too many nodes"),
        (lambda: check_depth(parse(b"<div>" * 300)), "nested too deep"),
    ],
)
def test_an_exceeded_limit_is_named(make: Callable[[], None], reason: str) -> None:
    with pytest.raises(BeyondLimits, match=reason):
        make()


def test_a_page_within_the_limits_passes() -> None:
    check_body(b"x" * 1000, 1000)
    check_nodes(parse(b"<p>" * (MAX_NODES - 10)), 3 * MAX_NODES)
    check_depth(parse(b"<div>" * 90))


# Attributes


def attributes(count: int, value: str = "") -> str:
    return "".join(f" a{number}{value}" for number in range(count))


@pytest.mark.parametrize(
    "text",
    [
        f"<p{attributes(20_000)}>",
        f"<p{attributes(20_000, chr(61) + chr(34) + '>' + chr(34))}>",
        f"<p{attributes(20_000)}>".replace(" ", "/"),
        f"<p{attributes(20_000)}>".replace(" ", "\0 "),
        f"<p{attributes(2_000)}>" * 50,
        f"<script>if (a<b c='</script><p{attributes(20_000)}>",
        f"<textarea><script></textarea><p{attributes(20_000)}>",
        f"<!--><p{attributes(20_000)}>",
        f"<p ='><p{attributes(20_000)}>",
    ],
)
def test_attributes_that_take_long_to_parse_are_counted_wherever_they_stand(text: str) -> None:
    with pytest.raises(BeyondLimits, match="too many attributes"):
        check_attributes(text)


@pytest.mark.parametrize(
    "text",
    [
        f"<script>for (i = 0; i<n.length; i++) {{{'f(a, b / c); ' * 20_000}}}</script><p>text",
        f"<!-- <p{attributes(20_000)}> --><p>text",
        f"<p title='<p{attributes(20_000)}>'>text",
        "<p>" + "many words, " * 20_000,
        f"<p{attributes(100)}>" * 5_000,
        "<p" + " a=1" * 50_000 + ">",
        " " * 50_000,
    ],
)
def test_text_that_only_looks_like_attributes_is_not_counted(text: str) -> None:
    check_attributes(text)


def test_main_text_of_a_page_with_too_many_attributes_is_empty() -> None:
    response = HtmlResponse("http://example.com/", body=f"<p{attributes(20_000)}>text".encode())
    assert asyncio.run(main_text(response)) == ""


@pytest.mark.parametrize("charset", ["punycode", "hex", "idna", "unicode_escape"])
def test_main_text_is_read_from_a_page_in_an_encoding_that_is_not_a_charset(charset: str) -> None:
    response = HtmlResponse("http://example.com/", body=f"<meta charset={charset}><p>text".encode())
    assert asyncio.run(main_text(response)).strip() == "text"


def test_main_text_for_callbacks_is_extracted_once() -> None:
    response = HtmlResponse("http://example.com/", body=article("x").encode())

    async def twice() -> tuple[str, str]:
        return await main_text(response), await main_text(response)

    first, second = asyncio.run(twice())
    assert first is second
    assert first == extract_with_trafilatura(response.selector.root)


def test_the_main_text_of_a_page_that_takes_too_long_is_its_visible_text(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging, done = threading.Event(), threading.Event()
    load_trafilatura()
    monkeypatch.setattr(text, "TIMEOUT", 0.5)
    monkeypatch.setattr(extractors, "extract_with_trafilatura", lambda _: _wait(hanging, done))
    response = HtmlResponse("http://example.com/", body=b"<p>visible words</p>")
    assert asyncio.run(main_text(response)) == "visible words"
    hanging.set()
    assert done.wait(10)


def test_the_main_text_of_a_page_beyond_the_limits_is_its_visible_text() -> None:
    response = HtmlResponse("http://example.com/", body=b"<div>" * 1000 + b"deep words" + b"</div>" * 1000)
    assert asyncio.run(main_text(response)) == "deep words"


def _wait(hanging: threading.Event, done: threading.Event) -> str:
    hanging.wait()
    done.set()
    return "late"
