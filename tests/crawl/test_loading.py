"""Dictionaries in a crawl: the worker loads one when a page needs it."""

import re
from pathlib import Path

from tests.support.crawling import article, crawl_pages, html
from tests.support.prose import html as prose_page
from tests.support.prose import prose

ENGLISH = {f"/en/{number}": html(article(number)) for number in range(5)}
CHINESE = {f"/zh/{number}": html(prose_page(prose(number, chinese=True)).decode()) for number in range(5)}


LOADED = """
import sys
from tests.support.walker import Walker

class Spider(Walker):
    def closed(self, reason):
        self.notes.append({name: getattr(module, "__file__", None) for name, module in sys.modules.items()})
"""


def test_a_crawl_loads_no_parser_rules_or_index_and_few_lines(tmp_path: Path) -> None:
    pages = {**ENGLISH, **CHINESE}
    crawl = crawl_pages(tmp_path, pages, LOADED, {"DEDUP_TOKENIZER": "auto"}, fresh=True)
    assert crawl.verdicts() == dict.fromkeys(pages, "new")
    (line,) = crawl.lines("INFO", "Near-duplicate filter: index")
    assert ", tokenizer rjieba, " in line
    (modules,) = crawl.notes
    unwanted = "deduplicator|inspection|index|rules|signing|worker.(worker|main)|crawl.localworker|permutedtables"
    assert [name for name in modules if re.match(rf"crawler_dedup\.({unwanted})\b", name)] == []
    libraries = "lmdb redis numpy jieba rjieba trafilatura opencc pypinyin matplotlib jinja2 click"
    assert {*libraries.split()} & modules.keys() == set()
    ours = [Path(file) for name, file in modules.items() if name.startswith("crawler_dedup") and file]
    lines = sum(bool(line.strip()) for file in ours for line in file.read_text(encoding="utf-8").splitlines())
    assert lines < 7_000  # with docstrings and comments


# The worker imports the module of the extractor, and with it what the module replaces.
MISSING = """
from pathlib import Path
from crawler_dedup.signing import segmentation
from crawler_dedup.signing.extractors import extract_with_trafilatura as extract
from tests.support.walker import Walker

segmentation.jieba_file = lambda: Path("missing")

class Spider(Walker):
    pass
"""


def test_without_the_dictionary_chinese_pages_pass_unchecked(tmp_path: Path) -> None:
    crawl = crawl_pages(
        tmp_path, {**ENGLISH, **CHINESE}, MISSING, {"DEDUP_TOKENIZER": "jieba", "DEDUP_EXTRACTOR": "script.extract"}
    )
    assert crawl.verdicts() == dict.fromkeys(ENGLISH, "new") | dict.fromkeys(CHINESE, "unchecked")
    assert crawl.counts("error/") == {"FileNotFoundError": len(CHINESE)}
    (line,) = crawl.lines("WARNING", "passes unchecked")
    assert "/zh/0> passes unchecked: FileNotFoundError:" in line
