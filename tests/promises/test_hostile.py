"""Broken and hostile pages: every input gets a decision in bounded time and memory."""

import codecs
import gc
from collections.abc import Iterable, Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.signing import text
from tests.support.crawling import Site, article, html
from tests.support.hostile import Checker
from tests.support.hostile_pages import ANY, EXTERNAL, PAGES, HostilePage, chinese, english, traditional

URL = "http://example.com/"


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker(tokenizer="bigrams") as started:
        yield started


# One verdict for each


# These take seconds.
SLOW = (
    *("199,000 ligatures of 18 letters", "8 MB of bytes above 160", "links below a long base"),
    *("1,600,000 Han in short blocks", "900 attributes, 2,000 times", "comments in an aside"),
)


def names(*groups: Iterable[HostilePage], without: str = "") -> list[Any]:
    """Return the names of the pages in *groups*, less those with a word of *without*."""
    selected = [page.name for group in groups for page in group if not set(without.split()) & set(page.name.split())]
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in selected]


def assert_verdict(checker: Checker, name: str) -> None:
    """Check that a page has its verdict, and is not a duplicate of itself."""
    first, second = checker.check(name)["answers"]
    assert PAGES[name].answer in (first, ANY)
    assert second == ("unchanged" if first == "new" else first)


@pytest.mark.parametrize("name", names(PAGES.values()))
def test_every_hostile_page_has_its_expected_verdict(checker: Checker, name: str) -> None:
    assert_verdict(checker, name)


@pytest.fixture(scope="module", params=["rjieba", pytest.param("jieba", marks=pytest.mark.slow)])
def segmenting(request: pytest.FixtureRequest) -> Iterator[Checker]:
    with Checker(tokenizer=request.param) as started:
        yield started


CHINESE = [page for name, page in PAGES.items() if {"Han", "GBK", "Big5"} & set(name.replace(",", "").split())]


@pytest.mark.parametrize("name", names(CHINESE, without="MB"))
def test_the_other_tokenizers_give_the_same_verdicts(segmenting: Checker, name: str) -> None:
    assert_verdict(segmenting, name)


# Limits are checked before the work


@pytest.mark.parametrize(
    "name", [name for name, page in PAGES.items() if page.answer == "more bytes than DEDUP_MAX_BYTES"]
)
def test_a_page_of_too_many_bytes_takes_no_memory(checker: Checker, name: str) -> None:
    assert checker.check(name)["megabytes"] < 8  # the body alone has 50


def test_only_caches_with_a_limit_grow_with_the_number_of_sites(deduplicator: Deduplicator) -> None:
    def check(*numbers: int) -> None:
        for number in numbers:
            deduplicator.check(f"http://host{number}.example/{number}", article(number).encode())

    check(0)  # some modules are imported, and some tables loaded, for the first page
    gc.unfreeze()  # what was there when the tests began
    objects = [cache for cache in gc.get_objects() if isinstance(cache, _lru_cache_wrapper)]
    caches = [cache for cache in objects if cache.__module__.startswith("crawler_dedup.")]
    for cache in caches:
        if cache.cache_info().maxsize is not None:
            cache.cache_clear()  # other tests may have filled it
    sizes = {cache: cache.cache_info().currsize for cache in caches}
    check(*range(1, 101))
    grown = [cache for cache, size in sizes.items() if cache.cache_info().currsize >= size + 50]
    assert grown
    assert [cache.__wrapped__.__qualname__ for cache in grown if cache.cache_info().maxsize is None] == []


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("config.Config.max_bytes", "more bytes than DEDUP_MAX_BYTES"),
        ("signing.parsing.MAX_NODES", "too many nodes"),
        ("signing.blockreader.MAX_DEPTH", "nested too deep"),
        ("signing.features.MAX_CHARS", "too many characters"),
    ],
)
@pytest.mark.parametrize("body", ["long", "short"])
def test_no_text_beyond_a_limit_is_tokenised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, reason: str, body: str
) -> None:
    # One is a text; of the other all that is visible is looked at, in blocks too small to be one.
    content = english() if body == "long" else "<a href=/>on</a>" + "<div>short and visible</div>" * 30
    content = "<div>" * 60 * (reason == "nested too deep") + content + "<i></i>" * 60 * (reason == "too many nodes")

    def refuse(text: str) -> str:
        assert len(text) <= 50
        return text

    monkeypatch.setattr(text, "normalise", refuse)
    monkeypatch.setattr(f"crawler_dedup.{limit}", 50)
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", max_bytes=Config.max_bytes)) as deduplicator:
        assert deduplicator.check(URL, content.encode()).reason == reason


# Charsets


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        *((chinese(), name) for name in ("gbk", "gb2312", "gb18030", "hz")),
        *((traditional(), name) for name in ("big5", "big5hkscs", "gb18030")),
        *((english(), name) for name in ("ascii", "latin-1", "cp1252", "utf-8-sig", "utf-16", "utf-32")),
    ],
)
def test_a_page_is_signed_alike_in_every_charset(deduplicator: Deduplicator, text: str, charset: str) -> None:
    right = deduplicator.sign(URL, text.encode())
    body, labelled = text.encode(charset), text.replace("<head>", f"<head><meta charset={charset}>").encode(charset)
    for signed in (deduplicator.sign(URL, body, encoding=charset), deduplicator.sign(URL, labelled)):
        assert not signed.unsigned
        assert (signed.signature, signed.title, signed.blocks) == (right.signature, right.title, right.blocks)


@pytest.mark.parametrize(
    ("text", "charset"), [(chinese(), "gbk"), (traditional(), "big5"), (english(), "utf-16"), (english(), "utf-32")]
)
@pytest.mark.parametrize("encoding", [None, "x-klingon", "", "\ud800", "hex", "undefined", "\0", "utf-7"])
def test_a_charset_is_detected(deduplicator: Deduplicator, text: str, charset: str, encoding: str | None) -> None:
    assert (
        deduplicator.sign(URL, text.encode(charset), encoding=encoding).signature
        == deduplicator.sign(URL, text.encode()).signature
    )


def test_no_charset_that_python_has_and_no_other_word_is_an_error(deduplicator: Deduplicator) -> None:
    words = {"__init__", "aliases", "encodings", "os", "x-user-defined", "unicode_internal"}
    for name in sorted({*codecs_of_python(), *words}):
        body = f"<meta charset={name}><p>\\ud800 \\q \\x00 xn--a +ADw-{english()}".encode() + bytes(range(256))
        for encoding in (None, name):
            assert deduplicator.sign(URL, body, encoding=encoding).url == URL, (name, encoding)


def codecs_of_python() -> Iterator[str]:
    import encodings.aliases

    for name in {*encodings.aliases.aliases, *encodings.aliases.aliases.values()}:
        try:
            codecs.lookup(name)
        except LookupError:
            continue
        yield name


# Arguments of a caller

STRANGE = {
    "a surrogate": "http://e.com/\ud800",
    "two surrogates": "\udcff\ud800",
    "NUL": "http://e.com/\0",
    "a megabyte": "http://e.com/" + "x" * (1 << 20),
    "an open bracket": "http://[",
    "a line break": "http://e.com/\r\n\u2028",
    "white space": "   ",
    "an impossible port": "http://e.com:99999/",
    "a strange host": "http://\u2100.com\ud800/",
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("argument", ["url", "key", "scope", "encoding"])
def test_any_string_is_accepted_as_an_argument(deduplicator: Deduplicator, argument: str, value: str) -> None:
    arguments = {"url": URL, argument: value}
    bodies = [body.encode() for body in (english(), english(), chinese())]
    decisions = [deduplicator.check(body=body, **arguments) for body in bodies]
    assert [decision.verdict for decision in decisions] == [Verdict.NEW, Verdict.UNCHANGED, Verdict.CHANGED]
    assert deduplicator.settle(decisions[-1])
    copy = deduplicator.check(body=bodies[-1], **{**arguments, "url": f"{arguments['url']}copy", "key": f"{value}copy"})
    assert copy.verdict is Verdict.DUPLICATE


@pytest.mark.parametrize("argument", ["url", "key", "scope"])
def test_names_with_other_lone_surrogates_are_other_names(deduplicator: Deduplicator, argument: str) -> None:
    other = Verdict.NEW if argument == "scope" else Verdict.DUPLICATE
    for name, verdict in (("\ud800", Verdict.NEW), ("\ud801", other), ("?", other)):
        arguments = {"url": URL, argument: f"http://e.com/{name}"}
        assert deduplicator.check(body=english().encode(), **arguments).verdict is verdict


# Entities


def test_no_file_is_read_and_no_address_is_requested_for_an_entity(deduplicator: Deduplicator, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the password")
    with Site({"/entity": html("the password")}) as site:
        for system in (secret.as_uri(), f"{site.url}/entity", "file:///etc/passwd", "php://filter/resource=x"):
            for before in ("", '<?xml version="1.0" encoding="utf-8"?>\n'):
                body = (before + EXTERNAL.format(system) + english()).encode()
                page, text = deduplicator.signer.sign(URL, body, encoding=None, key=None, scope="global")
                assert text is not None
                for extracted in (page.title, text):
                    assert "password" not in extracted
                    assert "root:" not in extracted
        assert site.asked == []


def test_entities_are_not_expanded(checker: Checker) -> None:
    assert checker.check("billion laughs")["megabytes"] < 8


# Broken parts do not hide sound parts


@pytest.mark.parametrize(
    "markup",
    [
        "<a href='http://['></a>",
        "<a href='http://e.com:99999999/'></a>",
        "<a href='javascript:\0'></a>",
        f"<a href='data:text/html,{'x' * 100_000}'></a>",
        "<base href='http://['>",
        "<![CDATA[ x ]]>",
        "<?php echo 1 ?>",
        "<!--[if IE]><p>Get a better browser than this one</p><![endif]-->",
        "<p a\0b='c'></p>",
        f"<p {' '.join(f'a{number}' for number in range(1000))}></p>",
        "&#xD800;",
    ],
)
def test_broken_markup_does_not_change_the_signature(deduplicator: Deduplicator, markup: str) -> None:
    whole, broken = (
        deduplicator.sign(URL, english().replace("<article>", f"<article>{piece}").encode()) for piece in ("", markup)
    )
    assert broken.signature == whole.signature
    assert broken.title == whole.title
