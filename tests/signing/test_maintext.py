"""Trees and main texts: how a page is parsed, which function extracts its text, and what callbacks of a spider get."""

import asyncio
import threading
from itertools import product
from pathlib import Path

import pytest
from lxml import etree
from lxml.html import HtmlElement
from scrapy.http import HtmlResponse

from crawler_dedup import Config, Deduplicator, IndexMismatch, Verdict, main_text
from crawler_dedup.crawl import text
from crawler_dedup.errors import BeyondLimits, ConfigError
from crawler_dedup.signing import extractors
from crawler_dedup.signing.extractors import extract_with_trafilatura, find_extractor, load_trafilatura
from crawler_dedup.signing.maintext import find_main_blocks
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import check_attributes, parse
from tests.support.crawling import article, crawl_pages, html
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
        (TEXT.format("<meta charset=utf-16>").encode(), ""),
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
        (b"<Form><label>a<input><select><textarea></textarea><!-- x --><?x y?></form>", ""),
        (b"\xff\xfe\xfa" * 50, ""),
    ],
)
def test_the_tree_is_the_one_that_scrapy_gives_to_spiders(body: bytes, header: str) -> None:
    response = HtmlResponse("http://example.com/", body=body, headers={"Content-Type": f"text/html{header}"})
    encoding = response.encoding if header else None
    tree = parse(body, encoding)
    assert tree_bytes(tree) == tree_bytes(response.selector.root)
    assert [*map(type, tree.iter())] == [*map(type, response.selector.root.iter())]


def test_extraction_does_not_change_the_tree() -> None:
    tree = parse(article("x").encode())
    before = tree_bytes(tree)
    assert len(extract_with_trafilatura(tree)) > 500
    assert tree_bytes(tree) == before


# Attributes


def attributes(count: int, value: str = "") -> str:
    return "".join(f" a{number}{value}" for number in range(count))


def test_attributes_that_take_long_to_parse_are_counted_wherever_they_stand() -> None:
    for markup in [
        f"<p{attributes(40_000)}>",
        f"<p{attributes(40_000, chr(61) + chr(34) + '>' + chr(34))}>",
        f"<p{attributes(40_000)}>".replace(" ", "/"),
        f"<p{attributes(40_000)}>".replace(" ", "\0 "),
        f"<p{attributes(4_000)}>" * 100,
        f'<p x="\'>"{attributes(40_000)}>',
        f"<p x = '<b>' y=z=' z=\"<b>\"{attributes(40_000)}>",
        f"<p ='><p x=\"'>\"{attributes(40_000)}>",
        f"<p x={' ' * 20}'<b>'{attributes(40_000, chr(61) + ' ' * 20 + chr(34) + '>' + chr(34))}>",
        f"<script>if (a<b c='</script><p{attributes(40_000)}>",
        f"<textarea><script></textarea><p{attributes(40_000)}>",
        f"<!--><p{attributes(40_000)}>",
        f"<p ='><p{attributes(40_000)}>",
        "<p " + " ".join(map("".join, product("\"'", repeat=15))) + ">",
    ]:
        with pytest.raises(BeyondLimits, match="too many attributes"):
            parse(markup.encode())


def test_text_that_only_looks_like_attributes_is_not_counted() -> None:
    for markup in [
        f"<script>for (i = 0; i<n.length; i++) {{{'f(a, b / c); ' * 20_000}}}</script><p>text",
        f"<!-- <p{attributes(40_000)}> --><p>text",
        f"<p title='<p{attributes(40_000)}>'>text",
        "<p>" + "many words, " * 20_000,
        f"<p{attributes(100)}>" * 5_000,
        "<p" + " a=1" * 50_000 + ">",
        " " * 50_000,
        "\0" * 50_000,
        "<" + "€" * 5_500_000,
    ]:
        check_attributes(markup.encode())


# Extractors

BODY = article("x").encode()


def headings(tree: HtmlElement) -> str:
    """Return an extractor of one's own: the headings, twenty times."""
    return " ".join(str(heading.text_content()) for heading in tree.iter("h1")) * 20


def fails(tree: HtmlElement) -> str:
    raise LookupError("no table of contents")


def extract_bytes(tree: HtmlElement) -> bytes:
    return b"raw " * 100


def extract_too_much(tree: HtmlElement) -> str:
    return "x" * 200_001


class Of:
    """Where one may be kept."""

    @staticmethod
    def paragraphs(tree: HtmlElement) -> str:
        return " ".join(str(paragraph.text_content()) for paragraph in tree.iter("p"))


not_callable = "text"


def extracted(name: str, body: bytes = BODY) -> str:
    tree = parse(body)
    return find_extractor(name).extract(tree, find_main_blocks(read_outline(tree)))


def test_trafilatura_is_selected_by_its_name() -> None:
    assert extracted("trafilatura") == extract_with_trafilatura(parse(BODY)) != ""


def test_a_function_is_selected_by_its_import_path() -> None:
    for name, expected in [
        *((f"{__name__}{dot}headings", "Article x" * 20) for dot in ".:"),
        *((f"{__name__}{dot}Of.paragraphs", Of.paragraphs(parse(BODY))) for dot in ".:"),
    ]:
        assert extracted(Config(extractor=name).extractor) == expected


def test_an_import_path_that_does_not_exist_is_a_configuration_error(tmp_path: Path) -> None:
    for name in [
        "no_such_package.function",
        "crawler_dedup.no_such_module",
        "crawler_dedup.signing.extractors:no_such_function",
        "crawler_dedup.signing.extractors:extract_with_trafilatura:twice",
        "crawler_dedup..maintext",
        "..",
    ]:
        with pytest.raises(ConfigError, match=r"^DEDUP_EXTRACTOR = '.*' cannot be imported: .") as caught:
            Deduplicator.open(tmp_path / "index", Config(extractor=name))
        assert repr(name) in str(caught.value)
        assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("name", ["crawler_dedup.signing.extractors", f"{__name__}.not_callable", f"{__name__}:"])
def test_an_import_path_of_something_that_is_not_a_function_is_a_configuration_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"^DEDUP_EXTRACTOR = '.*' is not callable\.$"):
        Deduplicator.open(tmp_path / "index", Config(extractor=name))


def test_an_invalid_name_is_a_configuration_error() -> None:
    for name in ["", "jusText", "paragraph", "extract", 5, None, extract_with_trafilatura]:
        with pytest.raises(ConfigError, match="DEDUP_EXTRACTOR"):
            Config(extractor=name)  # type: ignore[arg-type]


NAMES = ["paragraphs", "trafilatura", f"{__name__}.headings", f"{__name__}.Of.paragraphs"]


@pytest.mark.parametrize("name", NAMES)
def test_an_index_is_opened_only_with_the_extractor_it_was_made_with(tmp_path: Path, name: str) -> None:
    for number, opened_with in enumerate(NAMES):
        Deduplicator.open(tmp_path / str(number), Config(tokenizer="bigrams", extractor=name)).close()
        config = Config(tokenizer="bigrams", extractor=opened_with)
        if name == opened_with:
            Deduplicator.open(tmp_path / str(number), config).close()
            continue
        with pytest.raises(IndexMismatch, match="extractor: made with") as caught:
            Deduplicator.open(tmp_path / str(number), config)
        assert caught.value.differences == {"extractor": (find_extractor(name).spec, find_extractor(opened_with).spec)}


def test_pages_are_compared_by_the_text_that_the_extractor_returns(tmp_path: Path) -> None:
    config = Config(tokenizer="bigrams", extractor=f"{__name__}.Of.paragraphs", min_features=20)
    advertised = article(
        "x", frame="<p>" + " ".join(f"advertisement{number}" for number in range(200)) + "</p>"
    ).encode()
    for name, verdict in (("paragraphs", Verdict.DUPLICATE), (config.extractor, Verdict.NEW)):
        with Deduplicator.open(tmp_path / name, Config(tokenizer="bigrams", extractor=name)) as deduplicator:
            deduplicator.check("http://a/1", BODY)
            assert deduplicator.check("http://a/2", advertised).verdict is verdict


def test_outside_of_a_crawl_an_extractors_error_is_raised_and_too_long_a_text_is_unchecked(tmp_path: Path) -> None:
    def check(name: str) -> str:
        config = Config(tokenizer="bigrams", extractor=f"{__name__}.{name}")
        with Deduplicator.open(tmp_path / name, config) as opened:
            return opened.check("http://a/1", BODY).reason

    for name, error in (("fails", LookupError), ("extract_bytes", TypeError)):
        with pytest.raises(error):
            check(name)
    assert check("extract_too_much") == "too many characters"


# For callbacks

MAIN_TEXT_SPIDER = """
from tests.support.walker import Walker, seen
from crawler_dedup import main_text

class Spider(Walker):
    async def parse(self, response):
        yield {**seen(response), "text": await main_text(response)}
"""


def test_main_text_for_callbacks_comes_from_trafilatura_whichever_extractor_compares_pages(tmp_path: Path) -> None:
    # trafilatura leaves tables out, the filter does not.
    table = "".join(f"<tr><td>{cell}</td></tr>" for cell in article("table", count=40).split()[12:])
    body = article("x").replace("</article>", f"<table>{table}</table></article>")
    crawl = crawl_pages(tmp_path, {"/1": html(body)}, MAIN_TEXT_SPIDER)
    assert crawl.item("/1")["text"] == extract_with_trafilatura(parse(body.encode()))


def test_main_text_of_a_page_with_too_many_attributes_is_empty() -> None:
    response = HtmlResponse("http://example.com/", body=f"<p{attributes(40_000)}>text".encode())
    assert asyncio.run(main_text(response)) == ""


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
