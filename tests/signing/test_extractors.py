from __future__ import annotations

from pathlib import Path

import pytest
from lxml.html import HtmlElement

from crawler_dedup import Config, Deduplicator, IndexMismatch, Verdict
from crawler_dedup.errors import ConfigError
from crawler_dedup.signing.extractors import extract_with_trafilatura, find_extractor
from crawler_dedup.signing.maintext import find_main_blocks, join_text
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import parse
from tests.support.crawling import WALK, Crawl, Site, article, html, run_script

BODY = article("x").encode()


def headings(tree: HtmlElement) -> str:
    """Return an extractor of one's own: the headings, twenty times."""
    return " ".join(str(heading.text_content()) for heading in tree.iter("h1")) * 20


def whole(tree: HtmlElement) -> str:
    """Return all text of the page: another extractor."""
    return str(tree.text_content())


class Of:
    """Where one may be kept."""

    @staticmethod
    def paragraphs(tree: HtmlElement) -> str:
        return " ".join(str(paragraph.text_content()) for paragraph in tree.iter("p"))


not_callable = "text"


def extracted(name: str, body: bytes = BODY) -> str:
    tree = parse(body)
    return find_extractor(name).extract(tree, find_main_blocks(read_outline(tree)))


# Names


def test_the_filters_own_extractor_is_the_default() -> None:
    assert Config().extractor == "paragraphs"
    assert extracted("paragraphs") == join_text(find_main_blocks(read_outline(parse(BODY)))) != ""


def test_trafilatura_is_selected_by_its_name() -> None:
    assert extracted("trafilatura") == extract_with_trafilatura(parse(BODY)) != ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{__name__}.headings", "Article x" * 20),
        (f"{__name__}:headings", "Article x" * 20),
        (f"{__name__}:Of.paragraphs", Of.paragraphs(parse(BODY))),
        (f"{__name__}.Of.paragraphs", Of.paragraphs(parse(BODY))),
    ],
)
def test_a_function_is_selected_by_its_import_path(name: str, text: str) -> None:
    assert extracted(Config(extractor=name).extractor) == text


@pytest.mark.parametrize(
    "name",
    [
        "no_such_package.function",
        "crawler_dedup.no_such_module",
        "crawler_dedup.signing.extractors:no_such_function",
        "crawler_dedup.signing.extractors:extract_with_trafilatura:twice",
        "crawler_dedup..maintext",
        "..",
    ],
)
def test_an_import_path_that_does_not_exist_is_a_configuration_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"^DEDUP_EXTRACTOR = '.*' cannot be imported: .") as caught:
        Deduplicator.open(tmp_path / "index", Config(extractor=name))
    assert repr(name) in str(caught.value)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("name", ["crawler_dedup.signing.extractors", f"{__name__}.not_callable", f"{__name__}:"])
def test_an_import_path_of_something_that_is_not_a_function_is_a_configuration_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"^DEDUP_EXTRACTOR = '.*' is not callable\.$"):
        Deduplicator.open(tmp_path / "index", Config(extractor=name))


@pytest.mark.parametrize("name", ["", "jusText", "paragraph", "extract", 5, None, extract_with_trafilatura])
def test_an_invalid_name_is_a_configuration_error(name: object) -> None:
    with pytest.raises(ConfigError, match="DEDUP_EXTRACTOR"):
        Config(extractor=name)  # type: ignore[arg-type]


# The index


NAMES = ["paragraphs", "trafilatura", f"{__name__}.whole", f"{__name__}.Of.paragraphs"]


@pytest.mark.parametrize("opened_with", NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_an_index_is_opened_only_with_the_extractor_it_was_made_with(
    tmp_path: Path, name: str, opened_with: str
) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", extractor=name)) as deduplicator:
        assert deduplicator.check("http://a/1", BODY).verdict is Verdict.NEW
    config = Config(tokenizer="bigrams", extractor=opened_with)
    if name == opened_with:
        with Deduplicator.open(tmp_path, config) as deduplicator:
            assert deduplicator.check("http://a/2", BODY).verdict is Verdict.DUPLICATE
        return
    with pytest.raises(IndexMismatch, match="extractor: index has") as caught:
        Deduplicator.open(tmp_path, config)
    assert caught.value.differences == {"extractor": (find_extractor(name).spec, find_extractor(opened_with).spec)}


def test_every_extractor_has_a_spec_of_its_own() -> None:
    assert len({find_extractor(name).spec for name in NAMES}) == len(NAMES)


def test_pages_are_compared_by_the_text_that_the_extractor_returns(tmp_path: Path) -> None:
    config = Config(tokenizer="bigrams", extractor=f"{__name__}.Of.paragraphs", min_features=20)
    advertised = article(
        "x", frame="<p>" + " ".join(f"advertisement{number}" for number in range(200)) + "</p>"
    ).encode()
    for name, verdict in (("paragraphs", Verdict.DUPLICATE), (config.extractor, Verdict.NEW)):
        with Deduplicator.open(tmp_path / name, Config(tokenizer="bigrams", extractor=name)) as deduplicator:
            deduplicator.check("http://a/1", BODY)
            assert deduplicator.check("http://a/2", advertised).verdict is verdict


# Extractors that fail


FAILING = """
def raises(tree):
    raise LookupError("no table of contents")

def raw(tree):
    return b"raw " * 100

def too_long(tree):
    return "x" * 200_001
"""


def crawl_with(directory: Path, function: str, **settings: object) -> Crawl:
    directory.mkdir(exist_ok=True)
    (directory / "own_extractor.py").write_text(FAILING)
    with Site({"/1": html(article("x")), "/2": html(article("x"))}) as site:
        chosen = {"DEDUP_EXTRACTOR": f"own_extractor.{function}", **settings}
        return run_script(directory, WALK, chosen, site=site.url, paths=["/1", "/2"])


@pytest.mark.parametrize(("function", "error"), [("raises", "LookupError"), ("raw", "TypeError")])
def test_no_page_is_lost_to_an_extractor_that_fails(tmp_path: Path, function: str, error: str) -> None:
    crawl = crawl_with(tmp_path, function)
    assert crawl.paths() == ["/1", "/2"]
    assert crawl.counts() == {"checked": 2, "unchecked": 2, "unchecked/error": 2, f"error/{error}": 2}
    assert len(crawl.lines("WARNING", "passes unchecked")) == 1


def test_a_page_whose_text_exceeds_the_limit_is_unchecked(tmp_path: Path) -> None:
    crawl = crawl_with(tmp_path, "too_long")
    assert crawl.counts() == {"checked": 2, "unchecked": 2, "unchecked/too_many_characters": 2}


def test_outside_of_a_crawl_an_extractors_error_is_raised(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", extractor=f"{__name__}.fails")) as deduplicator:
        with pytest.raises(LookupError, match="no table of contents"):
            deduplicator.check("http://a/1", BODY)
        assert len(deduplicator) == 0


def fails(tree: HtmlElement) -> str:
    raise LookupError("no table of contents")


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
    with Site({"/1": html(body)}) as site:
        crawl = run_script(tmp_path, MAIN_TEXT_SPIDER, site=site.url, paths=["/1"])
    assert crawl.item("/1")["text"] == extract_with_trafilatura(parse(body.encode()))
