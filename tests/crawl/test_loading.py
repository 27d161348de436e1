"""Dictionaries in a crawl: the signing process loads one when a page needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.crawling import Crawl, article, crawl_pages, html
from tests.support.prose import html as prose_page
from tests.support.prose import prose

JIEBA = {"DEDUP_TOKENIZER": "jieba", "CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
ENGLISH = {f"/en/{number}": html(article(number)) for number in range(5)}
CHINESE = {f"/zh/{number}": html(prose_page(prose(number, chinese=True)).decode()) for number in range(5)}


def verdicts(crawl: Crawl) -> list[tuple[str, str]]:
    return [(item["path"], item["verdict"]) for item in crawl.items]


def verdicts_of(verdict: str, *pages: dict[str, Any]) -> list[tuple[str, str]]:
    return [(path, verdict) for page in pages for path in page]


LOADED = """
import sys
from tests.support.walker import Walker

class Spider(Walker):
    def closed(self, reason):
        self.notes.append(sorted(sys.modules))
"""


def test_a_crawl_imports_no_dictionary_and_nothing_else_that_it_does_not_need(tmp_path: Path) -> None:
    pages = {**ENGLISH, **CHINESE}
    crawl = crawl_pages(tmp_path, pages, LOADED, {"DEDUP_TOKENIZER": "auto"}, fresh=True)
    assert verdicts(crawl) == verdicts_of("new", pages)
    (modules,) = crawl.notes
    assert "crawler_dedup.signing.signer" in modules
    unwanted = {"jieba", "rjieba", "trafilatura", "opencc", "pypinyin", "matplotlib", "jinja2", "click"}
    assert unwanted & set(modules) == set()


# The signing process imports the module of the extractor, and with it what the module replaces.
SLOW = """
import time
from crawler_dedup.signing import segmentation
from crawler_dedup.signing.extractors import extract_with_trafilatura as extract
from tests.support.walker import Walker

load = segmentation._jieba

def load_slowly():
    time.sleep(2.5)
    return load()

segmentation._jieba = load_slowly

class Spider(Walker):
    pass
"""
MISSING = """
from pathlib import Path
from crawler_dedup.signing import segmentation
from crawler_dedup.signing.extractors import extract_with_trafilatura as extract
from tests.support.walker import Walker

segmentation.jieba_file = lambda: Path("missing")

class Spider(Walker):
    pass
"""
EXTRACTOR = {**JIEBA, "DEDUP_EXTRACTOR": "script.extract"}


def test_the_time_of_loading_a_dictionary_is_not_that_of_a_page(tmp_path: Path) -> None:
    pages = {**CHINESE, **ENGLISH}
    crawl = crawl_pages(tmp_path, pages, SLOW, {**EXTRACTOR, "DEDUP_TIMEOUT": 2})
    assert sorted(verdicts(crawl)) == sorted(verdicts_of("new", pages))
    assert "signing/restarts" not in crawl.counts()
    assert not list((tmp_path / "index").glob("jieba*"))


def test_without_the_dictionary_chinese_pages_pass_unchecked(tmp_path: Path) -> None:
    crawl = crawl_pages(tmp_path, {**ENGLISH, **CHINESE}, MISSING, {**EXTRACTOR, "CONCURRENT_REQUESTS": 1})
    assert verdicts(crawl) == verdicts_of("new", ENGLISH) + verdicts_of("unchecked", CHINESE)
    assert crawl.counts("error/") == {"FileNotFoundError": len(CHINESE)}
    (line,) = crawl.lines("WARNING", "passes unchecked")
    assert "/zh/0> passes unchecked: FileNotFoundError:" in line
